"""Run migrations over a connection that is handed in, or over the database that `-x db=` names."""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection

from blackboard.store.engines import sync_engine
from blackboard.store.tables import METADATA

OPTIONS: dict[str, Any] = {
    "target_metadata": METADATA,
    "render_as_batch": True,  # SQLite alters a table by copying it
    "transactional_ddl": True,  # also on SQLite: half a migration would be worse than none
    "transaction_per_migration": True,
}


def run(connection: Connection) -> None:
    context.configure(connection=connection, **OPTIONS)
    with context.begin_transaction():
        context.run_migrations()


def url() -> str:
    named = context.get_x_argument(as_dictionary=True).get("db")
    if not named:
        raise SystemExit("name the database: alembic -x db=sqlite:///board.db ...")
    return named


def main() -> None:
    given = context.config.attributes.get("connection")
    if given is not None:
        run(given)
    elif context.is_offline_mode():
        context.configure(dialect_name="sqlite", literal_binds=True, **OPTIONS)
        with context.begin_transaction():
            context.run_migrations()
    else:
        engine = sync_engine(url())
        with engine.connect() as connection:
            run(connection)
        engine.dispose()


main()
