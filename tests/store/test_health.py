"""What `doctor` and `/readyz` are told, and that every read goes by a key."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.store import open_store, reading
from blackboard.store.reading import Reading
from blackboard.store.sqlite import store as sqlite_store
from blackboard.store.sqlite.dialect import SQL
from blackboard.store.sqlite.health import require_wal, wal_reset_fixed
from blackboard.store.sqlite.store import SqliteStore
from blackboard.store.statements import Statement
from tests.store.support import BOARD, everything, filled


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 9), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_an_sqlite_with_the_wal_reset_fault_is_told_apart(version: tuple[int, int, int], fixed: bool) -> None:
    assert wal_reset_fixed(version) is fixed


async def test_the_check_shows_what_durability_rests_on(store: SqliteStore, path: Path) -> None:
    await filled(store, 100)
    found = await store.check()
    assert found["engine"] == "sqlite"
    assert found["version"] == sqlite3.sqlite_version
    assert found["journal_mode"] == "wal"
    assert found["synchronous"] == "full"
    assert found["path"] == str(path)
    assert found["in_place"] is True
    assert found["owner"] is True
    for figure in ("pages", "page_size", "bytes", "wal_bytes", "disk_free", "wal_autocheckpoint"):
        assert isinstance(found[figure], int)
        assert found[figure]


async def test_normal_durability_is_what_was_asked_for(path: Path) -> None:
    store = await open_store(str(path), Settings(durability="normal"))
    assert (await store.check())["synchronous"] == "normal"
    await store.close()


async def test_nothing_is_acknowledged_into_a_file_that_was_moved_away(
    store: SqliteStore, path: Path
) -> None:
    log, rows = await filled(store, 3)
    path.rename(path.with_name("elsewhere.db"))
    assert (await store.check())["in_place"] is False
    path.touch()
    assert (await store.check())["in_place"] is False
    batch = log.writes(1)
    for _ in range(2):
        with pytest.raises(Unavailable, match="moved, replaced or deleted"):
            await store.append(batch)
    path.with_name("elsewhere.db").replace(path)
    assert (await store.check())["in_place"] is True
    await store.append(batch)
    assert await everything(store) == rows + batch


def test_a_place_without_a_write_ahead_log_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    with pytest.raises(Unavailable, match="local file system"):
        require_wal(connection, path)
    connection.close()


def hot_statements() -> dict[str, Statement]:
    named = {name: found for name, found in vars(SQL).items() if isinstance(found, Statement)}
    reads = {name: found for name, found in named.items() if found.sql.startswith("SELECT")}
    return reads | {"at": SQL.at(8), "of_key": SQL.of_key("actor"), "filtered": SQL.filtered("kind", "actor")}


@pytest.mark.parametrize("name", sorted(set(hot_statements()) - {"boards", "tokens"}))
async def test_every_read_of_the_log_goes_by_a_key(store: SqliteStore, path: Path, name: str) -> None:
    statement = hot_statements()[name]
    connection = sqlite3.connect(path)
    values = ["1"] * statement.sql.count("?")
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", values)]
    connection.close()
    assert all(step.startswith("SEARCH") for step in plan), plan
    assert not any(re.search("TEMP B-TREE", step) for step in plan), plan


@pytest.mark.parametrize("equal", [{}, {"agent": "executor"}, {"key": "task/0"}, {"kind": "entry.written"}])
async def test_a_long_read_is_many_short_ones(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, equal: dict[str, Any]
) -> None:
    _, rows = await filled(store, 100, keys=2)
    longest = 0

    def run(connection: sqlite3.Connection, function: Callable[..., Reading], *args: object) -> object:
        nonlocal longest
        going = function(SQL, *args)
        try:
            sql, parameters = next(going)
            while True:
                found = connection.execute(sql, parameters).fetchall()
                longest = max(longest, len(found))
                sql, parameters = going.send(found)
        except StopIteration as done:
            return done.value

    monkeypatch.setattr(reading, "WINDOW", 8)
    monkeypatch.setattr(reading, "NEAR", 8)
    monkeypatch.setattr(sqlite_store, "run", run)
    found = await store.rows(BOARD, limit=1_000, **equal)
    assert found == [
        row for row in rows if not equal or (row.key == "task/0" or ("key" not in equal and row.key))
    ]
    assert 0 < longest <= 8
