"""What is written besides the log: snapshots and tokens. Runs in the writing connection's thread."""

from __future__ import annotations

import sqlite3
from typing import Any

from blackboard.store.reading import saved
from blackboard.store.sqlite.append import roll_back
from blackboard.store.sqlite.dialect import SQL
from blackboard.store.sqlite.reading import run as read
from blackboard.store.statements import Statement


def run(connection: sqlite3.Connection, statement: Statement, **values: Any) -> None:
    """Carry out one statement."""
    connection.execute(statement.sql, statement.bind(**values))


def put_token(connection: sqlite3.Connection, columns: tuple[Any, ...]) -> None:
    """Store a token in place of the one with the same id."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        run(connection, SQL.drop_token, id=columns[0])
        connection.execute(SQL.add_token.sql, columns)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def drop_snapshot(connection: sqlite3.Connection, board: str, fingerprint: str, seq: int) -> None:
    """Make room for a snapshot at `seq`: an earlier attempt may have left some parts."""
    for statement in SQL.drop_saved:
        run(connection, statement, board=board, fingerprint=fingerprint, seq=seq)


def save_part(connection: sqlite3.Connection, *columns: Any) -> None:
    """Store one part: board, fingerprint, seq, number of the part, bytes."""
    connection.execute(SQL.save_part.sql, columns)


def save_board(connection: sqlite3.Connection, *columns: Any) -> None:
    """Say that all parts are there: board, fingerprint, seq, digest of the whole, parts, bytes."""
    connection.execute(SQL.save_board.sql, columns)


def drop_older_snapshots(connection: sqlite3.Connection, board: str, fingerprint: str, seq: int) -> None:
    """Drop the snapshots that the complete one at `seq` replaces.

    Those of other fingerprints belong to other releases, which may still run or come back: they go once
    this release has outlived them by a snapshot of its own.
    """
    previous = read(connection, saved, board, fingerprint, seq - 1)
    for statement in SQL.drop_older:
        run(connection, statement, board=board, fingerprint=fingerprint, seq=seq)
    for statement in SQL.drop_foreign if previous else ():
        run(connection, statement, board=board, fingerprint=fingerprint, seq=previous[0])
