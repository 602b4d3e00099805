"""SQLAlchemy connections for what is not hot: the schema and its migrations, one way for every engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from blackboard.store.revision import Stored, answered, stored
from blackboard.store.sqlite.connecting import BUSY_SECONDS
from blackboard.store.sqlite.faults import DRIVER_ERRORS, Doing, translated
from blackboard.store.urls import SCHEME, identity, sqlite_path

T = TypeVar("T")


def is_postgresql(url: str) -> bool:
    """Whether `url` names a PostgreSQL database; any other kind that has a schema is an SQLite file."""
    scheme, separator, _ = url.partition(SCHEME)
    return bool(separator) and scheme in {"postgresql", "postgres"}


def shown(url: str) -> str:
    """How messages name the database: without a password."""
    return identity(url) if is_postgresql(url) else str(sqlite_path(url))


def connected(url: str, work: Callable[[Connection], T], *, read_only: bool = False) -> T:
    """What `work` makes of a connection to the database at `url`; a file is made where it is missing, unless
    `read_only`. Blocks, and must not run where an event loop does: a coroutine calls it in a thread. On
    PostgreSQL `work` is one transaction, and called again where it met another one.

    Raises `Malformed`, `Unavailable` and what `work` raises, driver errors translated.
    """
    if is_postgresql(url):
        from blackboard.store.postgresql.once import connected_once  # noqa: PLC0415 - with its driver

        return connected_once(url, work, read_only=read_only)
    path = sqlite_path(url)
    doing: Doing = "read" if read_only else "write"
    engine = sync_engine(url, read_only=read_only)
    try:
        with engine.connect() as connection:
            return work(connection)
    except DBAPIError as error:
        raise translated(error.orig or error, path, doing) from error
    except DRIVER_ERRORS as error:
        raise translated(error, path, doing) from error
    finally:
        engine.dispose()


def look(connection: Connection) -> Stored:
    """See `revision.stored`."""
    asking = stored(connection.dialect.name)
    return answered(asking, lambda sql: connection.exec_driver_sql(sql).fetchall())


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
