"""Reading beside the owner: nothing is made, migrated, locked or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.errors import Malformed, NotAllowed, SchemaMismatch, Unavailable
from blackboard.store import open_store
from blackboard.store.contract import StoredToken
from blackboard.store.sqlite.store import SqliteStore
from tests.contract.test_store_reads import token
from tests.store.support import everything, filled, loaded


async def test_a_reader_follows_the_owner(store: SqliteStore, path: Path) -> None:
    log, rows = await filled(store, 20)
    reader = await open_store(str(path), Settings(), read_only=True)
    assert await everything(reader) == rows
    more = log.writes(5)
    await store.append(more)
    assert await everything(reader) == rows + more
    assert (await loaded(reader)).tip == log.tip
    await reader.close()
    await store.append(log.writes(1))


async def test_a_reader_refuses_to_write(store: SqliteStore, path: Path) -> None:
    log, _ = await filled(store, 2)
    reader = await open_store(str(path), Settings(), read_only=True)
    found = await loaded(reader)
    stored: StoredToken = token(1)
    for call in (
        reader.append(log.writes(1)),
        reader.put_token(stored),
        reader.snapshot(found.board, found.tip),
    ):
        with pytest.raises(NotAllowed, match="owner"):
            await call
    await reader.close()


async def test_a_file_without_an_owner_is_read_as_well(path: Path) -> None:
    store = await open_store(str(path), Settings())
    _, rows = await filled(store, 5)
    await store.close()
    reader = await open_store(str(path), Settings(), read_only=True)
    assert await everything(reader) == rows
    await reader.close()


async def test_a_reader_makes_no_file(path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be opened"):
        await open_store(str(path), Settings(), read_only=True)
    assert not list(path.parent.iterdir())


async def test_a_reader_does_not_migrate(path: Path) -> None:
    path.touch()
    with pytest.raises(SchemaMismatch, match="db upgrade"):
        await open_store(str(path), Settings(), read_only=True)
    assert path.stat().st_size == 0


async def test_memory_has_no_second_opening() -> None:
    with pytest.raises(Malformed):
        await open_store("memory://", Settings(), read_only=True)
