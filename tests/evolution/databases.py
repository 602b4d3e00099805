"""Databases of the tests of the schema, on either engine: frozen ones thawed, and what stands in them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import Connection, inspect

from blackboard.store import migrating
from blackboard.store.engines import connected, is_postgresql
from blackboard.store.revision import NEWEST
from blackboard.store.urls import sqlite_path
from tests.evolution.freeze import FROZEN

BOARDS: dict[str, dict[str, dict[str, Any]]] = json.loads(
    (FROZEN / "boards.json").read_text(encoding="utf-8")
)
"""Revision -> board -> its head, its hash, and the digest of what it folded to when it was frozen."""


T = TypeVar("T")


def beside(work: Callable[[], T]) -> T:
    """Carry it out in a thread, where no event loop runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def look(url: str, work: Callable[[Connection], T]) -> T:
    """What `work` finds by a connection of its own."""
    return beside(lambda: connected(url, work, read_only=True))


def migrate(url: str, revision: str = NEWEST) -> None:
    """See `migrating.migrate`."""
    beside(lambda: migrating.migrate(url, revision))


def take_down(url: str, revision: str) -> None:
    """See `migrating.take_down`."""
    beside(lambda: migrating.take_down(url, revision))


def thaw(revision: str, url: str) -> None:
    """Make the frozen database of `revision` in an empty one."""
    engine = "postgresql" if is_postgresql(url) else "sqlite"
    run(url, (FROZEN / f"{revision}.{engine}.sql").read_text(encoding="utf-8"))


def run(url: str, script: str) -> None:
    """Carry out some statements, each committed."""
    if is_postgresql(url):
        beside(lambda: asyncio.run(_run(url, script)))
        return
    with closing(sqlite3.connect(sqlite_path(url))) as connection:
        connection.executescript(script)


async def _run(url: str, script: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    """What a statement finds."""

    def found(connection: Connection) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]

    return look(url, found)


def rows(url: str, *tables: str) -> dict[str, Sequence[tuple[Any, ...]]]:
    """Every row of these tables, in one order on every engine."""
    return {table: sorted(ask(url, f"SELECT * FROM {table}"), key=repr) for table in tables}


def tables(url: str) -> set[str]:
    """The names of the tables."""
    return look(url, lambda connection: set(inspect(connection).get_table_names()))


def ddl(url: str) -> list[tuple[Any, ...]]:
    """Columns, keys and indexes, as the engine itself tells them."""
    if is_postgresql(url):
        return [row for sql in CATALOG for row in ask(url, sql)]
    return ask(url, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1, 2")


CATALOG = (
    """SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, is_identity,
    col_description((table_schema || '.' || table_name)::regclass, ordinal_position)
    FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position""",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2""",
    "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
)
