"""The other side: `sqlite3` of the standard library, the same table, the same indexes, nothing else.

A connection in autocommit, WAL, synchronous=FULL: the least that a durable append can cost from Python.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from benchmarks.harness import Clock, Sample
from blackboard.events.envelope import Row
from blackboard.store.tables import events

INSERT = f"INSERT INTO events ({', '.join(Row._fields)}) VALUES ({', '.join('?' * len(Row._fields))})"
SCAN = f"SELECT {', '.join(Row._fields)} FROM events WHERE board = ? ORDER BY seq"


class RawLog:
    """A file with the table `events`, and one connection to it."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")
        for statement in schema():
            self.connection.execute(statement)

    def append(self, row: Row) -> None:
        """One row, one durable commit."""
        self.connection.execute(INSERT, row)

    def append_many(self, rows: Sequence[Row]) -> None:
        """These rows in one durable commit."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(INSERT, rows)
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()


def schema() -> Iterator[str]:
    """The statements that make the table and its indexes, as the store has them."""
    dialect = sqlite.dialect()
    yield str(CreateTable(events, if_not_exists=True).compile(dialect=dialect))
    for index in events.indexes:
        yield str(CreateIndex(index, if_not_exists=True).compile(dialect=dialect))


def singles(log: RawLog, rows: Sequence[Row]) -> Sample:
    """Append every row in a commit of its own."""
    with Clock() as clock:
        for row in rows:
            log.append(row)
    return clock.sample(len(rows))


def groups(log: RawLog, rows: Sequence[Row], size: int) -> Sample:
    """Append the rows, `size` in a commit."""
    batches = [rows[at : at + size] for at in range(0, len(rows), size)]
    with Clock() as clock:
        for batch in batches:
            log.append_many(batch)
    return clock.sample(len(rows))


def scan(path: Path, board: str) -> Sample:
    """Read the table from end to end, in order, and do nothing with it."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        with Clock() as clock:
            count = 0
            cursor = connection.execute(SCAN, (board,))
            while rows := cursor.fetchmany(10_000):
                count += len(rows)
        return clock.sample(count)
    finally:
        connection.close()
