"""A log that was built in an SQLite file, copied into a PostgreSQL database as it stands."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg

from benchmarks.logs import BOARD
from benchmarks.stores import settings
from blackboard.store import open_store
from blackboard.store.tables import boards, events

SLICE = 20_000


async def copy_log(path: Path, url: str) -> int:
    """Copy boards and events into an empty database, whose tables the store makes; the number of events."""
    await (await open_store(url, settings(url))).close()
    connection = await asyncpg.connect(url)
    try:
        with closing(sqlite3.connect(path)) as file:
            copied = 0
            for table in (boards, events):
                names = [column.name for column in table.columns]
                cursor = file.execute(f"SELECT {', '.join(names)} FROM {table.name}")
                while rows := cursor.fetchmany(SLICE):
                    await connection.copy_records_to_table(table.name, records=rows, columns=names)
                    copied += len(rows) if table is events else 0
        # As the server does by itself some time after so many rows.
        await connection.execute("VACUUM ANALYZE events")
    finally:
        await connection.close()
    return copied


async def take_snapshot(url: str, at: int) -> None:
    """Keep a snapshot of the board as it was at this seq."""
    store = await open_store(url, settings(url))
    try:
        loaded = await store.load(BOARD, at)
        assert loaded is not None
        await store.snapshot(loaded.board, loaded.tip)
    finally:
        await store.close()


async def table_mib(url: str) -> int:
    """What the events take on the disk, with their indexes."""
    connection = await asyncpg.connect(url)
    try:
        size: int = await connection.fetchval("SELECT pg_total_relation_size('events')")
        return size >> 20
    finally:
        await connection.close()
