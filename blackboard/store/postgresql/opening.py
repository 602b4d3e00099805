"""Opening a PostgreSQL database: reach it, look at its tables, make them where there are none."""

from __future__ import annotations

import asyncio

from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.store.postgresql.address import Address, parse
from blackboard.store.postgresql.connecting import Connection
from blackboard.store.postgresql.store import PostgresqlStore
from blackboard.store.revision import Stored, answered_async, check_readable, check_works, stored

ENCODING = "UTF8"


async def open_postgresql(url: str, settings: Settings, *, read_only: bool) -> PostgresqlStore:
    """See `urls.open_store`. An empty database gets its tables; what other servers may be using is never
    migrated from here.
    """
    address = parse(url)
    store = PostgresqlStore(address, settings, read_only=read_only)
    try:
        await _bring_up(store, address, read_only=read_only)
    except BaseException:
        await store.close()
        raise
    return store


async def open_to_check(url: str, settings: Settings) -> PostgresqlStore:
    """Open a database read-only at any revision whose log this release reads."""
    address = parse(url)
    store = PostgresqlStore(address, settings, read_only=True)
    try:
        found, _ = await store.ask(_look)
        check_readable(*found, address.shown)
    except BaseException:
        await store.close()
        raise
    return store


async def _bring_up(store: PostgresqlStore, address: Address, *, read_only: bool) -> None:
    found, encoding = await store.ask(_look)
    if encoding != ENCODING:
        raise Unavailable(
            f"{address.shown} keeps its text as {encoding}, which has not all characters: make the database "
            f"with ENCODING '{ENCODING}'"
        )
    if found.revision is None and not read_only:
        from blackboard.store.migrating import migrate  # noqa: PLC0415 - Alembic takes its time

        await asyncio.to_thread(migrate, address.dsn)
        found, _ = await store.ask(_look)
    check_works(*found, address.shown)


async def _look(connection: Connection) -> tuple[Stored, str]:
    found = await answered_async(stored("postgresql"), connection.fetch)
    return found, await connection.fetchval("SELECT current_setting('server_encoding')")
