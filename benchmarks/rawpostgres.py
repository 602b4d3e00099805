"""The other side on PostgreSQL: asyncpg by hand, the same table, the same indexes, nothing else.

`RawTable` inserts ready rows. `Hand` is what somebody writes who wants a shared board in PostgreSQL and no
more: an entry moves on where its revision is the one that was read, and a log row tells of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import asyncpg
import msgspec
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from benchmarks.harness import Clock, Sample
from benchmarks.logs import BOARD, agent_name, value
from blackboard.events.envelope import Row
from blackboard.store.tables import events

COLUMNS = ", ".join(Row._fields)
INSERT = (
    f"INSERT INTO events ({COLUMNS}) VALUES ({', '.join(f'${n}' for n in range(1, len(Row._fields) + 1))})"
)
SCAN = f"SELECT {COLUMNS} FROM events WHERE board = $1 ORDER BY seq"
TYPES = {str: "text", int: "bigint", bytes: "bytea"}
SLICE = 10_000

HAND = """
CREATE TABLE entries (
    board text NOT NULL, key text NOT NULL, revision bigint NOT NULL, value text NOT NULL,
    PRIMARY KEY (board, key)
);
CREATE TABLE log (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    board text NOT NULL, key text NOT NULL, revision bigint NOT NULL,
    agent text NOT NULL, value text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now()
);
"""
MOVE = (
    "UPDATE entries SET revision = revision + 1, value = $4 WHERE board = $1 AND key = $2 AND revision = $3"
)
TELL = "INSERT INTO log (board, key, revision, agent, value) VALUES ($1, $2, $3, $4, $5)"
BOTH = """
WITH moved AS (
    UPDATE entries SET revision = revision + 1, value = $5
    WHERE board = $1 AND key = $2 AND revision = $3 RETURNING board, key, revision, value
)
INSERT INTO log (board, key, revision, agent, value)
SELECT board, key, revision, $4, value FROM moved
"""


class RawTable:
    """The table `events` as the store has it, and one connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    async def make(cls, url: str) -> RawTable:
        """In an empty database."""
        connection = await asyncpg.connect(url)
        for statement in schema():
            await connection.execute(statement)
        return cls(connection)

    async def singles(self, rows: Sequence[Row]) -> Sample:
        """Every row in a commit of its own."""
        insert = await self._connection.prepare(INSERT)
        with Clock() as clock:
            for row in rows:
                await insert.fetch(*row)
        return clock.sample(len(rows))

    async def groups(self, rows: Sequence[Row], size: int) -> Sample:
        """`size` rows a commit, as one statement: faster than `executemany`, which sends each by itself."""
        insert = await self._connection.prepare(unnest())
        batches = [rows[at : at + size] for at in range(0, len(rows), size)]
        with Clock() as clock:
            for batch in batches:
                await insert.fetch(*zip(*batch, strict=True))
        return clock.sample(len(rows))

    async def close(self) -> None:
        await self._connection.close()


class Hand:
    """Connections of a hand-written board, each with a key of its own."""

    def __init__(self, url: str, connections: int, *, one_statement: bool) -> None:
        self._url = url
        self._count = connections
        self._one_statement = one_statement
        self._connections: list[Any] = []
        self._revisions = [0] * connections

    async def open(self) -> None:
        """Make the tables in an empty database, an entry a connection, and connect."""
        for _ in range(self._count):
            self._connections.append(await asyncpg.connect(self._url))
        first = self._connections[0]
        await first.execute(HAND)
        rows = [(BOARD, self._key(index), 0, "{}") for index in range(self._count)]
        await first.executemany("INSERT INTO entries VALUES ($1, $2, $3, $4)", rows)

    async def write(self, seconds: float) -> Sample:
        """Everybody writes, one commit after another, for so long. Raises where a write did not move on."""
        until = time.perf_counter() + seconds
        with Clock() as clock:
            done = await asyncio.gather(*(self._agent(index, until) for index in range(self._count)))
        return clock.sample(sum(done))

    async def _agent(self, index: int, until: float) -> int:
        connection, key, agent, done = self._connections[index], self._key(index), agent_name(index), 0
        step = self._together if self._one_statement else self._in_turn
        while time.perf_counter() < until:
            revision = self._revisions[index]
            told = msgspec.json.encode(value(revision)).decode()
            await step(connection, key, revision, agent, told)
            self._revisions[index] = revision + 1
            done += 1
        return done

    async def _in_turn(self, connection: Any, key: str, revision: int, agent: str, told: str) -> None:
        async with connection.transaction():
            _moved(await connection.execute(MOVE, BOARD, key, revision, told), "UPDATE 1")
            await connection.execute(TELL, BOARD, key, revision + 1, agent, told)

    async def _together(self, connection: Any, key: str, revision: int, agent: str, told: str) -> None:
        _moved(await connection.execute(BOTH, BOARD, key, revision, agent, told), "INSERT 0 1")

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()

    @staticmethod
    def _key(index: int) -> str:
        return f"task/{index:03d}/000"


def schema() -> list[str]:
    """The statements that make the table and its indexes, as the store has them."""
    dialect = postgresql.dialect()
    made = [str(CreateTable(events, if_not_exists=True).compile(dialect=dialect))]
    return made + [
        str(CreateIndex(one, if_not_exists=True).compile(dialect=dialect)) for one in events.indexes
    ]


def unnest() -> str:
    """The insert of any number of rows, a column an array."""
    types = [TYPES[events.c[name].type.python_type] for name in Row._fields]
    arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(types, 1))
    return f"INSERT INTO events ({COLUMNS}) SELECT * FROM unnest({arrays})"


async def scan(url: str, board: str) -> Sample:
    """Read the table from end to end, in order, and do nothing with it."""
    connection = await asyncpg.connect(url)
    try:
        with Clock() as clock:
            count = 0
            async with connection.transaction(readonly=True):
                cursor = await connection.cursor(SCAN, board)
                while rows := await cursor.fetch(SLICE):
                    count += len(rows)
        return clock.sample(count)
    finally:
        await connection.close()


async def copy(url: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Put these rows into a table, the fastest way."""
    connection = await asyncpg.connect(url)
    try:
        await connection.copy_records_to_table(table, records=rows, columns=list(columns))
    finally:
        await connection.close()


def _moved(status: str, wanted: str) -> None:
    if status != wanted:
        raise RuntimeError(f"a write did not move its entry on: {status}")
