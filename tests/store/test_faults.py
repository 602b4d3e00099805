"""What callers are told of SQLite's errors: what is wrong, and what to do next."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from blackboard.errors import (
    BlackboardError,
    IntegrityFailure,
    Malformed,
    OutcomeUnknown,
    SchemaMismatch,
    StoreBusy,
    Unavailable,
)
from blackboard.store.sqlite.append import Appending
from blackboard.store.sqlite.faults import Doing, Gap, Moved, WrongCount, breaks, taken, translated
from blackboard.store.sqlite.place import Place
from blackboard.store.sqlite.store import SqliteStore
from tests.contract.test_store_reads import token
from tests.store.support import Log, everything, filled

PATH = Path("/boards/board.db")


def error(code: int, said: str = "something") -> sqlite3.Error:
    made = sqlite3.OperationalError(said)
    made.sqlite_errorcode = code
    return made


CASES: list[tuple[BaseException, Doing, type[BlackboardError], str]] = [
    (error(sqlite3.SQLITE_BUSY), "write", StoreBusy, "nothing was stored"),
    (error(sqlite3.SQLITE_BUSY_SNAPSHOT), "read", StoreBusy, "holds the lock"),
    (error(sqlite3.SQLITE_LOCKED), "write", StoreBusy, "holds the lock"),
    (error(sqlite3.SQLITE_FULL), "write", Unavailable, "no space is left"),
    (error(sqlite3.SQLITE_IOERR_FSYNC), "write", OutcomeUnknown, "same idempotency key"),
    (error(sqlite3.SQLITE_IOERR_READ), "read", Unavailable, "check the disk"),
    (error(sqlite3.SQLITE_CORRUPT), "read", IntegrityFailure, "restore a backup"),
    (error(sqlite3.SQLITE_NOTADB), "write", IntegrityFailure, "no SQLite database"),
    (error(sqlite3.SQLITE_READONLY), "write", Unavailable, "cannot be written"),
    (error(sqlite3.SQLITE_CANTOPEN), "read", Unavailable, "cannot be opened"),
    (error(sqlite3.SQLITE_ERROR, "no such table: events"), "read", SchemaMismatch, "db upgrade"),
    (error(sqlite3.SQLITE_ERROR, "near SELECT"), "read", Unavailable, "try again"),
    (error(sqlite3.SQLITE_NOMEM), "write", Unavailable, "nothing was stored"),
    (sqlite3.ProgrammingError("Cannot operate on a closed database."), "write", Unavailable, "try again"),
    (WrongCount("1 of 2 rows were inserted"), "write", OutcomeUnknown, "same idempotency key"),
    (Moved("not the file"), "write", Unavailable, "put it back"),
    (ValueError("no active connection"), "read", Unavailable, "is not open"),
    (OverflowError("too large"), "read", Malformed, "64 bits"),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), "read", Malformed, "surrogate"),
]


@pytest.mark.parametrize(("raised", "doing", "kind", "words"), CASES)
def test_each_error_of_the_driver_says_what_to_do(
    raised: BaseException, doing: Doing, kind: type[BlackboardError], words: str
) -> None:
    told = translated(raised, PATH, doing)
    assert type(told) is kind
    assert words in told.detail


@pytest.mark.parametrize(
    ("raised", "broken"),
    [
        (error(sqlite3.SQLITE_CONSTRAINT_UNIQUE), False),
        (error(sqlite3.SQLITE_BUSY), False),
        (error(sqlite3.SQLITE_FULL), False),
        (Gap("gap"), False),
        (Moved("moved"), False),
        (error(sqlite3.SQLITE_IOERR_WRITE), True),
        (error(sqlite3.SQLITE_CORRUPT), True),
        (sqlite3.ProgrammingError("closed"), True),
        (ValueError("no active connection"), False),
    ],
)
def test_a_connection_is_replaced_after_an_error_that_may_have_broken_it(
    raised: BaseException, broken: bool
) -> None:
    assert breaks(raised) is broken


async def test_a_constraint_that_is_no_key_is_an_honest_error(store: SqliteStore) -> None:
    log, rows = await filled(store, 1)
    row = log.write("task/A")[0]._replace(hash=None)  # type: ignore[arg-type]  # what the column refuses
    with pytest.raises(Unavailable, match="NOT NULL"):
        await store.append([row])
    assert await everything(store) == rows
    assert taken(sqlite3.IntegrityError("CHECK constraint failed: other")) is None


async def test_seqs_within_a_batch_are_consecutive(path: Path, store: SqliteStore) -> None:
    log, _ = await filled(store, 1)
    rows = log.writes(3)
    appending = Appending(Place(path, path.stat()))
    with pytest.raises(Gap, match="seqs 3 to 5 in 2 rows"):
        await store._writing.run(appending.append, [rows[0], rows[2]])


async def test_a_token_is_replaced_whole_or_not_at_all(store: SqliteStore) -> None:
    await store.put_token(token(1))
    await store.put_token(token(2))
    clash = token(1, id="id-2")  # the digest of one, the id of the other
    with pytest.raises(Unavailable):
        await store.put_token(clash)
    assert await store.tokens() == [token(2), token(1)]
    await store.append(Log().open())
