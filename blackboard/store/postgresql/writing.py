"""What is written besides the log: snapshots and tokens."""

from __future__ import annotations

from typing import Any

from blackboard.store.postgresql.connecting import Connection
from blackboard.store.postgresql.dialect import SQL
from blackboard.store.postgresql.reading import run
from blackboard.store.reading import saved
from blackboard.store.statements import Statement


async def execute(connection: Connection, statement: Statement, **values: Any) -> None:
    """Carry out one statement."""
    await connection.execute(statement.sql, *statement.bind(**values))


async def put_token(connection: Connection, columns: tuple[Any, ...]) -> None:
    """Store a token in place of the one with the same id."""
    async with connection.transaction():
        await execute(connection, SQL.drop_token, id=columns[0])
        await connection.execute(SQL.add_token.sql, *columns)


async def drop_snapshot(connection: Connection, board: str, fingerprint: str, seq: int) -> None:
    """Make room for a snapshot at `seq`: an earlier attempt may have left some parts."""
    for statement in SQL.drop_saved:
        await execute(connection, statement, board=board, fingerprint=fingerprint, seq=seq)


async def save_part(connection: Connection, *columns: Any) -> None:
    """Store one part: board, fingerprint, seq, number of the part, bytes."""
    await connection.execute(SQL.save_part.sql, *columns)


async def save_board(connection: Connection, *columns: Any) -> None:
    """Say that all parts are there: board, fingerprint, seq, digest of the whole, parts, bytes."""
    await connection.execute(SQL.save_board.sql, *columns)


async def drop_older_snapshots(connection: Connection, board: str, fingerprint: str, seq: int) -> None:
    """Drop the snapshots that the complete one at `seq` replaces.

    Those of other fingerprints belong to other releases, which may still run or come back: they go once
    this release has outlived them by a snapshot of its own.
    """
    previous = await run(connection, saved(SQL, board, fingerprint, seq - 1))
    for statement in SQL.drop_older:
        await execute(connection, statement, board=board, fingerprint=fingerprint, seq=seq)
    for statement in SQL.drop_foreign if previous else ():
        await execute(connection, statement, board=board, fingerprint=fingerprint, seq=previous[0])
