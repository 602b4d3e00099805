"""SQLAlchemy engines for what is not hot: the schema and its migrations."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from blackboard.store.sqlite.connecting import BUSY_SECONDS
from blackboard.store.urls import sqlite_path


def sync_engine(url: str, *, read_only: bool = False) -> Engine:
    """An engine over the database at `url`, made where it is missing; transactions are `BEGIN IMMEDIATE`."""
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
