"""SQLAlchemy connections for what is not hot: the schema and its migrations, one way for every engine."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from blackboard.errors import BlackboardError
from blackboard.store.sqlite.connecting import BUSY_SECONDS
from blackboard.store.sqlite.faults import DRIVER_ERRORS, translated
from blackboard.store.urls import SCHEME, sqlite_path

T = TypeVar("T")

SERVER_SETTINGS = {
    "application_name": "blackboard db",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",  # copying a table takes as long as it takes
    "idle_in_transaction_session_timeout": "0",
}


def is_postgresql(url: str) -> bool:
    """Whether `url` names a PostgreSQL database; any other kind that has a schema is an SQLite file."""
    scheme, separator, _ = url.partition(SCHEME)
    return bool(separator) and scheme in {"postgresql", "postgres"}


def shown(url: str) -> str:
    """How messages name the database: without a password."""
    if not is_postgresql(url):
        return str(sqlite_path(url))
    return make_url(url).set(password=None, query={}).render_as_string()


def connected(url: str, work: Callable[[Connection], T], *, read_only: bool = False) -> T:
    """What `work` makes of a connection to the database at `url`; a file is made where it is missing, unless
    `read_only`. Blocks, and must not run where an event loop does: a coroutine calls it in a thread.

    Raises `Malformed`, `Unavailable` and what `work` raises, driver errors translated.
    """
    if is_postgresql(url):
        return asyncio.run(_connected_postgresql(url, work))
    path = sqlite_path(url)
    try:
        engine = sync_engine(url, read_only=read_only)
        try:
            with engine.connect() as connection:
                return work(connection)
        finally:
            engine.dispose()
    except DBAPIError as error:
        raise translated(error.orig or error, path, "read" if read_only else "write") from error
    except BlackboardError:
        raise
    except DRIVER_ERRORS as error:
        raise translated(error, path, "read" if read_only else "write") from error


async def _connected_postgresql(url: str, work: Callable[[Connection], T]) -> T:
    import asyncpg  # noqa: PLC0415 - only where it is asked for
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415

    async def connect() -> Any:
        return await asyncpg.connect(url, server_settings=SERVER_SETTINGS)

    engine = create_async_engine("postgresql+asyncpg://", async_creator=connect, poolclass=NullPool)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(work)
    finally:
        await engine.dispose()


def sync_engine(url: str, *, read_only: bool = False) -> Engine:
    """An engine over the SQLite file at `url`, made where it is missing. It begins with `BEGIN IMMEDIATE`."""
    path = sqlite_path(url)

    def connect() -> sqlite3.Connection:
        # The driver's own transactions leave data definition out; these do not.
        return sqlite3.connect(
            _uri(path, read_only=read_only), uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _uri(path: Path, *, read_only: bool) -> str:
    return f"{path.as_uri()}?mode={'ro' if read_only else 'rwc'}"
