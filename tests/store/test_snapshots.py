"""Snapshots are caches: whatever happens to one, the log is replayed instead."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from blackboard.errors import IntegrityFailure
from blackboard.projections import snapshot
from blackboard.store import folding, snapshots
from blackboard.store.sqlite.store import SqliteStore
from tests.store.support import BOARD, Log, filled, loaded


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "PART_BYTES", 1_000)


async def saved(store: SqliteStore, number: int = 50) -> Log:
    log, _ = await filled(store, number, keys=50)
    found = await loaded(store)
    await store.snapshot(found.board, found.tip)
    assert (await loaded(store)).replayed == 0
    return log


def execute(path: Path, text: str, *values: object) -> list:
    connection = sqlite3.connect(path)
    found = connection.execute(text, values).fetchall()
    connection.commit()
    connection.close()
    return found


def put(path: Path, digest: bytes, state: bytes) -> None:
    """In place of the board's snapshots, one at 51."""
    for table in ("saved_boards", "saved_parts"):
        execute(path, f"DELETE FROM {table} WHERE board = ?", BOARD)
    key = (BOARD, snapshot.FINGERPRINT, 51)
    execute(path, "INSERT INTO saved_boards VALUES (?, ?, ?, ?, 1, ?)", *key, digest, len(state))
    execute(path, "INSERT INTO saved_parts VALUES (?, ?, ?, 0, ?)", *key, state)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE saved_parts SET state = zeroblob(1000) WHERE part = 2",
        "UPDATE saved_boards SET digest = zeroblob(32)",
        "DELETE FROM saved_parts WHERE part = 1",
        "DELETE FROM saved_parts WHERE part = (SELECT max(part) FROM saved_parts)",
        "DELETE FROM saved_parts WHERE part = 0",
        "DELETE FROM saved_parts",
        "DELETE FROM saved_boards",
        "UPDATE saved_boards SET seq = 50",
        "UPDATE saved_boards SET seq = 9000",
        "UPDATE saved_parts SET seq = 50",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 51",
    ],
)
async def test_a_snapshot_that_does_not_fit_its_digest_or_the_log_is_not_used(
    store: SqliteStore, path: Path, damage: str
) -> None:
    log = await saved(store)
    assert execute(path, "SELECT count(*) FROM saved_parts") > [(3,)]
    execute(path, damage)
    found = await loaded(store)
    assert (found.snapshot_seq, found.board.head) == (0, 51)
    await store.append(log.write("task/after"))
    found = await loaded(store)
    await store.snapshot(found.board, found.tip)
    assert (await loaded(store)).snapshot_seq == 52


async def test_bytes_that_are_no_board_are_not_used(store: SqliteStore, path: Path) -> None:
    log = await saved(store)
    digest = folding.snapshot_digest(log.tip, [b"\x00\x00\x00\x01x"])
    put(path, digest, b"\x00\x00\x00\x01x")
    assert (await loaded(store)).snapshot_seq == 0


async def test_the_board_of_another_log_is_not_used(store: SqliteStore, path: Path) -> None:
    log = await saved(store)
    other, _ = await filled(store, 50, "other", keys=50)
    found = await loaded(store, "other")
    await store.snapshot(found.board, found.tip)
    parts = execute(path, "SELECT state FROM saved_parts WHERE board = 'other' ORDER BY part")
    state = b"".join(part for (part,) in parts)
    put(path, folding.snapshot_digest(log.tip, [state]), state)
    assert (await loaded(store)).snapshot_seq == 0
    assert other.tip.seq == 51


async def test_an_older_snapshot_serves_where_the_newest_does_not(store: SqliteStore, path: Path) -> None:
    log = await saved(store)
    whole, parts = execute(path, "SELECT * FROM saved_boards"), execute(path, "SELECT * FROM saved_parts")
    await store.append(log.writes(9))
    found = await loaded(store)
    await store.snapshot(found.board, found.tip)
    execute(path, "UPDATE saved_boards SET digest = zeroblob(32)")
    execute(path, "INSERT INTO saved_boards VALUES (?, ?, ?, ?, ?, ?)", *whole[0])
    for columns in parts:
        execute(path, "INSERT INTO saved_parts VALUES (?, ?, ?, ?, ?)", *columns)
    found = await loaded(store)
    assert (found.snapshot_seq, found.replayed) == (51, 9)


async def test_snapshots_of_other_releases_go_after_two_of_this_one(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def save(log: Log) -> set[tuple[str, int]]:
        await store.append(log.writes(5))
        found = await loaded(store)
        await store.snapshot(found.board, found.tip)
        return set(execute(path, "SELECT DISTINCT fingerprint, seq FROM saved_parts"))

    log = await saved(store)
    old = (snapshot.FINGERPRINT, 51)
    monkeypatch.setattr(snapshot, "FINGERPRINT", "next")
    assert await save(log) == {old, ("next", 56)}
    assert await save(log) == {("next", 61)}


async def test_a_large_snapshot_is_decoded_beside_the_loop(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "INLINE_BYTES", 0)
    await saved(store)
    assert (await loaded(store)).snapshot_seq == 51


async def test_a_row_missing_before_a_tail_is_found_out(store: SqliteStore, path: Path) -> None:
    log = await saved(store)
    await store.append(log.writes(5))
    execute(path, "DELETE FROM events WHERE seq = 53")
    with pytest.raises(IntegrityFailure, match="event 53 of board"):
        await store.load(BOARD)
    with pytest.raises(IntegrityFailure, match="event 53 of board"):
        await store.load(BOARD, 53)
