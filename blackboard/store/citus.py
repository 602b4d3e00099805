"""Spreading the tables over the nodes of a Citus cluster, by board.

What belongs to one board lies on one node, so that every statement of the store goes to one node; what has
no board is copied to all. https://docs.citusdata.com/en/stable/develop/api_udf.html
"""

from __future__ import annotations

from sqlalchemy import Connection

from blackboard.errors import Conflict, Malformed

BY_BOARD = {
    "boards": "id",
    "events": "board",
    "saved_boards": "board",
    "saved_parts": "board",
    "snapshots": "board",
}
"""Table -> its column that says the board. `boards` is first: the others are placed beside it."""

EVERYWHERE = ("tokens", "formats", "revisions", "alembic_version")


def distribute(connection: Connection) -> None:
    """Distribute those of the tables that there are and that are not yet distributed.

    Raises `Conflict` where the database has no Citus, `Malformed` for an SQLite file.
    """
    if connection.dialect.name != "postgresql":
        raise Malformed("Citus is an extension of PostgreSQL: an SQLite file has no nodes", member="citus")
    if not _knows(connection, "to_regproc", "create_distributed_table"):
        raise Conflict(
            "this database has no function create_distributed_table: run CREATE EXTENSION citus in it, or "
            "leave --citus out"
        )
    done = _distributed(connection)
    for table, column in BY_BOARD.items():
        if table not in done and _knows(connection, "to_regclass", table):
            beside = "" if table == "boards" else ", colocate_with => 'boards'"
            connection.exec_driver_sql(f"SELECT create_distributed_table('{table}', '{column}'{beside})")
    for table in EVERYWHERE:
        if table not in done and _knows(connection, "to_regclass", table):
            connection.exec_driver_sql(f"SELECT create_reference_table('{table}')")


def _knows(connection: Connection, function: str, name: str) -> bool:
    return bool(connection.exec_driver_sql(f"SELECT {function}('{name}') IS NOT NULL").scalar())


def _distributed(connection: Connection) -> set[str]:
    """The tables that Citus has placed already, as its own catalog lists them."""
    if not _knows(connection, "to_regclass", "pg_dist_partition"):
        return set()
    found = connection.exec_driver_sql("SELECT logicalrelid::regclass::text FROM pg_dist_partition")
    return {str(name) for (name,) in found}
