"""Storage trouble: an honest error, nothing half done, and writing goes on when the cause has gone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from blackboard.config import Settings
from blackboard.errors import IntegrityFailure, Malformed, OutcomeUnknown, StoreBusy, Unavailable
from blackboard.messages.limits import MAX_INTEGER
from blackboard.store import open_store
from blackboard.store.contract import SeqTaken
from blackboard.store.sqlite import connecting
from blackboard.store.sqlite.store import SqliteStore
from tests.store.support import BOARD, Log, everything, filled, loaded


def pragma(connection: sqlite3.Connection, text: str) -> int:
    found: int = connection.execute(f"PRAGMA {text}").fetchone()[0]
    return found


async def limit_pages(store: SqliteStore, pages: int) -> None:
    """Let the file grow to so many pages and no further, as a full disk would."""
    await store._writing.run(pragma, f"max_page_count={pages}")


async def pages_of(store: SqliteStore) -> int:
    return await store._writing.run(pragma, "page_count")


@pytest.mark.parametrize("number", [1, 64, 2_000])
async def test_a_full_disk_refuses_what_does_not_fit_and_takes_it_later(
    store: SqliteStore, number: int
) -> None:
    log, rows = await filled(store, 10)
    await limit_pages(store, await pages_of(store))
    before = log.tip
    text = "x" * 60_000
    batch = [
        row for n in range(number) for row in log.write(f"big/{n}", text if number == 1 else text[:2_000])
    ]
    for _ in range(3):
        with pytest.raises(Unavailable, match="no space is left") as error:
            await store.append(batch)
        assert not isinstance(error.value, OutcomeUnknown)
    assert await everything(store) == rows
    assert (await loaded(store)).tip == before
    await limit_pages(store, 2**30)
    await store.append(batch)
    assert await everything(store) == rows + batch
    assert (await loaded(store, verify=True)).tip == log.tip


async def test_a_snapshot_that_does_not_fit_does_no_harm(store: SqliteStore) -> None:
    log, rows = await filled(store, 1)
    for n in range(40):
        rows += (batch := log.write(f"task/{n}", "x" * 60_000))
        await store.append(batch)
    found = await loaded(store)
    await limit_pages(store, await pages_of(store) + 300)
    with pytest.raises(Unavailable, match="no space is left"):
        await store.snapshot(found.board, found.tip)
    again = await loaded(store)
    assert (again.snapshot_seq, again.tip) == (0, log.tip)
    await limit_pages(store, 2**30)
    await store.snapshot(found.board, found.tip)
    assert (await loaded(store)).snapshot_seq == log.tip.seq


DISK_FAILS = """
import asyncio, json, resource, sys
from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.store import open_store
from tests.store.support import everything, filled

async def main():
    store = await open_store(sys.argv[1], Settings())
    log, rows = await filled(store, 10)
    told, failed = [], []
    size = 600_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    for n in range(40):
        batch = log.write(f"task/{n}", "x" * 50_000)
        try:
            await store.append(batch)
        except BlackboardError as error:
            told.append(error.code)
            break
    reads = len(await everything(store))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.append(batch)
    await store.append(log.write("task/after"))
    found = await store.load("release", verify=True)
    await store.close()
    print(json.dumps([told, reads, n, found.tip == log.tip, found.board.head]))

asyncio.run(main())
"""


def test_a_failing_disk_leaves_the_outcome_open_and_the_log_whole(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DISK_FAILS, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    told, reads, failed_at, whole, head = json.loads(done.stdout)
    assert told == ["outcome-unknown"]
    assert reads == 11 + failed_at
    assert whole
    assert head == 11 + failed_at + 2


async def test_a_lock_that_stays_is_named_and_writing_goes_on_after_it(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, rows = await filled(store, 3)
    await store._writing.run(pragma, "busy_timeout=50")
    batch = log.writes(2)
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    for _ in range(2):
        with pytest.raises(StoreBusy, match="close what else writes"):
            await store.append(batch)
    assert await everything(store) == rows
    intruder.execute("ROLLBACK")
    intruder.close()
    await store.append(batch)
    assert await everything(store) == rows + batch


@pytest.mark.parametrize("number", [1, 100])
async def test_a_commit_survives_the_callers_cancellation(
    store: SqliteStore, path: Path, number: int
) -> None:
    log, rows = await filled(store, 3)
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    batch = log.writes(number)
    task = asyncio.create_task(store.append(batch))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await everything(store) == rows
    intruder.execute("ROLLBACK")
    intruder.close()
    await store.append(log.writes(1))
    assert len(await everything(store)) == 5 + number


async def test_a_commit_in_the_loop_never_comes_between_what_the_thread_does(store: SqliteStore) -> None:
    log, _ = await filled(store, 3)
    store.commits_in_loop = True

    def change_nothing(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(0.05)
        connection.execute("ROLLBACK")

    under_way = asyncio.create_task(store._writing.run(change_nothing))
    await asyncio.sleep(0.01)
    await store.append(log.writes(1))
    assert under_way.done()
    assert len(await everything(store)) == 5


async def test_reads_do_not_wait_for_the_commit_in_flight(store: SqliteStore, path: Path) -> None:
    log, rows = await filled(store, 3)
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    task = asyncio.create_task(store.append(log.writes(1)))
    await asyncio.sleep(0)
    started = time.perf_counter()
    assert await everything(store) == rows
    assert (await loaded(store)).board.head == 4
    assert not task.done()
    assert time.perf_counter() - started < connecting.BUSY_SECONDS
    intruder.execute("ROLLBACK")
    intruder.close()
    await task


async def test_closing_waits_for_the_commit_in_flight(store: SqliteStore, path: Path) -> None:
    log, _ = await filled(store, 3)
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    task = asyncio.create_task(store.append(log.writes(1)))
    await asyncio.sleep(0.05)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    closing.cancel()
    intruder.execute("ROLLBACK")
    intruder.close()
    await task
    await store.close()
    again = await open_store(str(path), Settings())
    assert (await loaded(again)).tip == log.tip
    await again.close()


async def test_a_connection_that_broke_is_opened_anew(store: SqliteStore) -> None:
    log, rows = await filled(store, 3)
    for lane in (store._writing, store._reading, store._scanning):
        await lane.run(sqlite3.Connection.close)
        with pytest.raises(Unavailable):
            await lane.run(pragma, "page_count")
    batch = log.writes(3)
    await store.append(batch)
    assert await everything(store) == rows + batch
    assert await store.tip(BOARD) == log.tip


async def test_a_transaction_left_open_does_not_swallow_the_next_commit(
    store: SqliteStore, path: Path
) -> None:
    log, rows = await filled(store, 3)

    def leave_open(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        raise sqlite3.OperationalError("left open")

    with pytest.raises(Unavailable):
        await store._writing.run(leave_open)
    batch = log.writes(3)
    await store.append(batch)
    with sqlite3.connect(path) as outside:
        assert outside.execute("SELECT count(*) FROM events").fetchone()[0] == len(rows + batch)
    outside.close()


async def test_a_store_that_failed_to_roll_back_is_opened_anew(store: SqliteStore) -> None:
    log, rows = await filled(store, 3)
    for _ in range(3):
        rival = Log(tip=log.tip, by="rival")
        rival.write("lost")
        with pytest.raises(SeqTaken):
            await store.append(rival.writes(100))
    batch = log.writes(100)
    await store.append(batch)
    assert await everything(store) == rows + batch


def damage(path: Path) -> None:
    """Overwrite a page in the middle of the file."""
    with path.open("r+b") as file:
        size = path.stat().st_size
        file.seek(size // 2)
        file.write(b"\xff" * 20_000)


async def test_a_damaged_file_is_an_integrity_failure(path: Path) -> None:
    store = await open_store(str(path), Settings())
    await filled(store, 2_000)
    await store.close()
    damage(path)
    store = await open_store(str(path), Settings())
    with pytest.raises(IntegrityFailure, match="restore a backup"):
        await everything(store)
    await store.close()


@pytest.mark.parametrize(
    "content", [b"GIF89a" + b"\0" * 2_000, b"SQLite format 3\0" + b"\xff" * 2_000], ids=["gif", "header"]
)
async def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(IntegrityFailure):
        await open_store(str(path), Settings())
    assert path.read_bytes() == content


@pytest.mark.parametrize("key", ["\ud800", "task/\udfff"])
async def test_a_lone_surrogate_is_malformed_not_a_fault(store: SqliteStore, key: str) -> None:
    await filled(store, 1)
    calls: list[Callable] = [
        lambda: store.rows(BOARD, key=key),
        lambda: store.entry(BOARD, key, 1),
        lambda: store.tip(key),
        lambda: store.load(key),
        lambda: store.command(BOARD, key, key),
    ]
    for call in calls:
        with pytest.raises(Malformed, match="surrogate"):
            await call()
    assert await store.tip(BOARD) is not None


async def test_an_integer_beyond_64_bits_is_malformed_not_a_fault(store: SqliteStore) -> None:
    await filled(store, 1)
    for call in (store.entry(BOARD, "task/0", 2**70), store.events(BOARD, [2**70]), store.rows(BOARD, 2**70)):
        with pytest.raises(Malformed, match="64 bits"):
            await call
    assert await store.events(BOARD, [MAX_INTEGER]) == {}


async def test_a_scan_between_two_slices_holds_no_transaction(store: SqliteStore, path: Path) -> None:
    log, _ = await filled(store, 12_000)
    scan = store.scan(BOARD)
    await anext(scan)
    await store.append(log.write("task/A"))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        # A reader that held on to an older state would keep the write-ahead log from being emptied.
        busy, *_ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert busy == 0
    assert sum([len(some) async for some in scan]) > 0


async def test_what_was_begun_before_a_close_is_in_the_file(store: SqliteStore, path: Path) -> None:
    log, rows = await filled(store, 1)
    batch = log.writes(100)
    task = asyncio.create_task(store.append(batch))
    await asyncio.sleep(0)
    await store.close()
    await task
    again = await open_store(str(path), Settings())
    try:
        assert await everything(again) == rows + batch
    finally:
        await again.close()
