"""Holding a board against everybody else: its row is locked from before it is read until the commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from blackboard.events.envelope import Row
from blackboard.store.contract import SeqTaken
from blackboard.store.postgresql.append import append
from blackboard.store.postgresql.connecting import Connection, Pool
from blackboard.store.postgresql.dialect import SQL
from blackboard.store.postgresql.faults import DRIVER_ERRORS

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Whatever the level of everything else: a stricter one sees the log as it was before the wait for the
lock, and never finds the row before its own."""

Commit = Callable[[Callable[[], Awaitable[None]], Sequence[Row]], Awaitable[None]]
"""Carries out an append, and says what its errors mean."""


class Held:
    """A board's lock, and the connection and transaction that hold it."""

    def __init__(self, pool: Pool, connection: Connection, commit: Commit) -> None:
        self._pool = pool
        self._connection = connection
        self._commit = commit
        self._committing: asyncio.Task[None] | None = None

    async def append(self, rows: Sequence[Row]) -> None:
        """See `contract.Locked.append`."""
        await self._commit(lambda: self._append(rows), rows)

    async def _append(self, rows: Sequence[Row]) -> None:
        if self._connection.is_closed():
            raise SeqTaken  # the lock went with it: somebody else may have been faster
        self._committing = self._pool.spawn(self._insert(rows))
        await asyncio.shield(self._committing)

    async def _insert(self, rows: Sequence[Row]) -> None:
        await append(self._connection, rows)
        await self._connection.execute("COMMIT")

    async def end(self) -> None:
        """Let go of the lock: after the commit, if one is under way, else by rolling back."""
        connection = self._connection
        try:
            if self._committing is not None:
                await asyncio.wait([self._committing])
            if connection.is_in_transaction():
                await connection.execute("ROLLBACK")
        except DRIVER_ERRORS as error:
            self._pool.judge(connection, error)
            connection.terminate()  # which ends the transaction as well
        finally:
            self._pool.give_back(connection)


async def hold(pool: Pool, board: str, commit: Commit) -> Held | None:
    """Lock a board, waiting for its lock; None where there is no such board. Raises the driver's errors."""
    connection = await pool.borrow()
    try:
        await connection.execute(BEGIN)
        if await connection.fetch(SQL.hold.sql, *SQL.hold.bind(board=board)):
            return Held(pool, connection, commit)
        await connection.execute("ROLLBACK")
    except BaseException as error:
        pool.judge(connection, error)
        connection.terminate()  # it may be in the middle of something
        pool.give_back(connection)
        raise
    pool.give_back(connection)
    return None
