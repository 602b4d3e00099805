"""What is written besides the log: snapshots and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from asyncpg.exceptions import UniqueViolationError

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


async def save(
    connection: Connection,
    board: str,
    fingerprint: str,
    seq: int,
    *,
    digest: bytes,
    parts: Sequence[bytes],
) -> None:
    """Store a snapshot, and drop those that it replaces, or do nothing.

    Servers that follow the same board may save it at the same seq: of two who do, the later one finds that
    it is done. Snapshots of other fingerprints belong to other releases, which may still run or come back:
    they go once this release has outlived them by a snapshot of its own.
    """
    with suppress(UniqueViolationError):
        async with connection.transaction(isolation="read_committed"):
            previous = await run(connection, saved(SQL, board, fingerprint, seq - 1))
            for statement in (*SQL.drop_saved, *SQL.drop_older):
                await execute(connection, statement, board=board, fingerprint=fingerprint, seq=seq)
            for statement in SQL.drop_foreign if previous else ():
                await execute(connection, statement, board=board, fingerprint=fingerprint, seq=previous[0])
            for number, part in enumerate(parts):
                await connection.execute(SQL.save_part.sql, board, fingerprint, seq, number, part)
            whole = (board, fingerprint, seq, digest, len(parts), sum(map(len, parts)))
            await connection.execute(SQL.save_board.sql, *whole)
