"""What names a database, and what is said of what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.errors import Malformed, Unavailable
from blackboard.store import identity, open_store
from tests.store.support import filled


async def test_a_database_is_named_by_url_or_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    real = tmp_path.resolve() / "board.db"
    for name in (
        "board.db",
        "./board.db",
        "sqlite:///board.db",
        f"sqlite:///{real}",
        str(real),
        "~/board.db",
    ):
        assert identity(name) == f"sqlite:///{real}"
        store = await open_store(name, Settings())
        assert store.url == identity(name)
        await store.close()
    assert {found.name for found in tmp_path.iterdir()} == {"board.db", "board.db.lock"}


@pytest.mark.parametrize("name", ["b%20c?.db", "ünï #1.db", "with space.db", "a'b\"c.db", "sqlite"])
async def test_a_file_name_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    store = await open_store(str(tmp_path / name), Settings())
    await filled(store, 3)
    await store.close()
    assert (tmp_path / name).is_file()


NOT_A_STORE = [
    "",
    "://x",
    ":memory:",
    "a\0b",
    "mysql://user:secret@host/db",
    "postgresql://user:secret@host:port/db",
    "sqlite:///",
    "sqlite:///:memory:",
    "sqlite://",
    "sqlite://board.db",
]


@pytest.mark.parametrize("url", NOT_A_STORE)
async def test_what_names_no_store_is_malformed(url: str) -> None:
    with pytest.raises(Malformed) as error:
        identity(url)
    assert error.value.member == "db"
    assert "secret" not in error.value.detail
    with pytest.raises(Malformed):
        await open_store(url, Settings())


async def test_a_directory_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="is a directory"):
        await open_store(str(tmp_path), Settings())


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="does not exist"):
        await open_store(str(tmp_path / "none" / "board.db"), Settings())


async def test_each_memory_store_is_its_own() -> None:
    one, two = await open_store("memory://", Settings()), await open_store("memory://", Settings())
    await filled(one, 1)
    assert await two.boards() == []
