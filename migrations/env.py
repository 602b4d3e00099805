"""Run migrations over a connection that is handed in, or over the database that `-x db=` names.

Everything is one transaction, on SQLite too: half an upgrade would be worse than none. Whoever finds
another one migrating waits for it, and then finds it done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from alembic import context
from sqlalchemy import Connection

from blackboard.store.citus import distribute
from blackboard.store.engines import connected, is_postgresql
from blackboard.store.tables import METADATA

OPTIONS: dict[str, Any] = {
    "target_metadata": METADATA,
    "render_as_batch": True,  # SQLite alters a table by copying it
    "transactional_ddl": True,
    "transaction_per_migration": False,
}

VERSION_TABLE = (
    "CREATE TABLE IF NOT EXISTS alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
"""As Alembic makes it. Two at once: the second waits for the first, then fails, and is started again."""


def run(
    connection: Connection, locked: Callable[[Connection], None] = lambda _: None, *, citus: bool = False
) -> None:
    context.configure(connection=connection, **OPTIONS)
    with context.begin_transaction():
        lock(connection)
        locked(connection)
        context.run_migrations()
        if citus:
            distribute(connection)


def lock(connection: Connection) -> None:
    """One at a time: on SQLite the transaction itself does it, elsewhere the row of the revision."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(VERSION_TABLE)
        connection.exec_driver_sql("SELECT version_num FROM alembic_version FOR UPDATE")
        # A table that is in use by others for long is left to them, and everything else with it.
        connection.exec_driver_sql("SET LOCAL lock_timeout = '10s'")


def show(url: str) -> None:
    dialect = "postgresql" if is_postgresql(url) else "sqlite"
    context.configure(dialect_name=dialect, literal_binds=True, **OPTIONS)
    with context.begin_transaction():
        context.run_migrations()


def main() -> None:
    given = context.config.attributes.get("connection")
    words = context.get_x_argument(as_dictionary=True)
    named = words.get("db", "")
    if given is not None:
        attributes = context.config.attributes
        run(given, attributes["locked"], citus=attributes["citus"])
    elif context.is_offline_mode():
        show(named)
    elif named:
        connected(named, partial(run, citus=words.get("citus") == "yes"))
    else:
        raise SystemExit("name the database: alembic -x db=sqlite:///board.db ...")


main()
