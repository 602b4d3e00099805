"""Opening a PostgreSQL database: reach it, look at its tables, connect."""

from __future__ import annotations

import asyncio

from blackboard.config import Settings
from blackboard.store.postgresql.address import Address, parse
from blackboard.store.postgresql.connecting import connect, shut
from blackboard.store.postgresql.faults import DRIVER_ERRORS, translated
from blackboard.store.postgresql.store import PostgresqlStore
from blackboard.store.revision import Stored, answered_async, check_works, stored


async def open_postgresql(url: str, settings: Settings, *, read_only: bool) -> PostgresqlStore:
    """See `urls.open_store`. An empty database gets its tables; what other servers may be using is never
    migrated from here.
    """
    address = parse(url)
    found = await _stored(address, settings)
    if found.revision is None and not read_only:
        from blackboard.store.migrating import migrate  # noqa: PLC0415 - Alembic takes its time

        await asyncio.to_thread(migrate, address.dsn)
        found = await _stored(address, settings)
    check_works(*found, address.shown)
    return PostgresqlStore(address, settings, read_only=read_only)


async def _stored(address: Address, settings: Settings) -> Stored:
    connection = await connect(address, settings, "read")
    try:
        return await answered_async(stored("postgresql"), connection.fetch)
    except DRIVER_ERRORS as error:
        raise translated(error, address.shown, "read") from error
    finally:
        await shut(connection)
