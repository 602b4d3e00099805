"""A SQLAlchemy connection for what is done once: looking at the schema, and migrating it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from blackboard.errors import BlackboardError, OutcomeUnknown, StoreBusy, Unavailable
from blackboard.store.postgresql.address import Address, parse
from blackboard.store.postgresql.faults import RETRIED, UNIQUE, state_of, translated
from blackboard.store.postgresql.reaching import reach

T = TypeVar("T")

SESSION = {
    "application_name": "blackboard db",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",  # copying a table takes as long as it takes
    "idle_in_transaction_session_timeout": "0",
}
CONNECT_SECONDS = 10.0

DUPLICATE_TABLE = "42P07"
RACES = RETRIED | {UNIQUE, DUPLICATE_TABLE}
"""Another one made the same table, or changed the same rows: who begins again finds that done."""

ATTEMPTS = 10
PAUSE_SECONDS = 0.05


def connected_once(url: str, work: Callable[[Connection], T], *, read_only: bool) -> T:
    """See `engines.connected`."""
    address = parse(url)
    for _ in range(ATTEMPTS - 1):
        try:
            return asyncio.run(_connected(address, work, read_only=read_only))
        except DBAPIError as error:
            if state_of(_cause(error)) not in RACES:
                raise _told(_cause(error), address, read_only=read_only) from error
            time.sleep(PAUSE_SECONDS)
    try:
        return asyncio.run(_connected(address, work, read_only=read_only))
    except DBAPIError as error:
        raise _told(_cause(error), address, read_only=read_only) from error


async def _connected(address: Address, work: Callable[[Connection], T], *, read_only: bool) -> T:
    async def connect() -> Any:
        mode = {"default_transaction_read_only": "on" if read_only else "off"}
        return await reach(address, timeout=CONNECT_SECONDS, server_settings=SESSION | mode)

    engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()


def _cause(error: DBAPIError) -> BaseException:
    """What the driver raised, behind SQLAlchemy's and its adapter's errors."""
    adapted = error.orig or error
    return adapted.__cause__ or adapted


def _told(error: BaseException, address: Address, *, read_only: bool) -> BlackboardError:
    """What to do about it, where that is not what a server's operator would do."""
    state, where = state_of(error), address.shown
    if state == "42501":
        return Unavailable(
            f"this user of {where} may not change its tables: it must own them, and have CREATE on their "
            f"schema; nothing was changed (PostgreSQL says 42501: {error})"
        )
    if state == "55P03":
        return StoreBusy(
            f"somebody has used a table of {where} for too long; nothing was changed: try again when it is "
            f"free (PostgreSQL says 55P03: {error})"
        )
    told = translated(error, where, "read" if read_only else "write")
    if isinstance(told, OutcomeUnknown):
        return Unavailable(
            f"the connection to {where} was lost: all of it was done, or nothing; "
            "`blackboard db current` tells"
        )
    return told
