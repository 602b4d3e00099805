"""How a connection to the file is made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from blackboard.config import Durability
from blackboard.store.sqlite.faults import DRIVER_ERRORS, translated

T = TypeVar("T")

BUSY_SECONDS = 5.0
"""How long SQLite waits for a lock that somebody holds who should not be there (a shell, a backup)."""

CACHED_STATEMENTS = 256
"""Prepared statements kept: an append has one for each number of rows."""

CHECKPOINT_PAGES = 1000
"""The log is folded into the file after so many pages. 200, 500 and 1000 measure alike here."""

JOURNAL_BYTES = 64 * 2**20
"""A write-ahead log that a snapshot blew up is cut back to this."""


def connect(path: Path, durability: Durability, *, read_only: bool) -> sqlite3.Connection:
    """Open a file that exists; each statement is a transaction of its own. Raises `sqlite3.Error`."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        cached_statements=CACHED_STATEMENTS,
        check_same_thread=False,  # one thread at a time uses it: see `driver.Lane.run_here`
    )
    try:
        if not read_only:
            for name, value in _pragmas(durability):
                connection.execute(f"PRAGMA {name}={value}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _pragmas(durability: Durability) -> list[tuple[str, str | int]]:
    return [
        ("journal_mode", "WAL"),
        ("synchronous", "FULL" if durability == "full" else "NORMAL"),
        ("fullfsync", int(durability == "full")),  # Apple's fsync alone does not reach the platter
        ("wal_autocheckpoint", CHECKPOINT_PAGES),
        ("journal_size_limit", JOURNAL_BYTES),
    ]


def peek(path: Path, function: Callable[[sqlite3.Connection], T]) -> T:
    """Read something from a file by a connection of its own. Raises what `faults.translated` makes."""
    try:
        connection = connect(path, "full", read_only=True)
        try:
            return function(connection)
        finally:
            connection.close()
    except DRIVER_ERRORS as error:
        raise translated(error, path, "read") from error
