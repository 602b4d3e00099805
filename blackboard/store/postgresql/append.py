"""The commit: rows go in whole or not at all, by one statement."""

from __future__ import annotations

from collections.abc import Sequence

from blackboard.events.envelope import Row
from blackboard.store.contract import SeqTaken
from blackboard.store.postgresql.connecting import Connection
from blackboard.store.postgresql.dialect import OF_ROWS, SQL
from blackboard.store.postgresql.faults import WrongCount

_ARRAYS = tuple(f"{name}s" for name in OF_ROWS)


async def append(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert the rows of one board in one statement, which is a transaction where none is open.

    Raises `SeqTaken` where they do not continue the log, and the driver's errors; nothing is stored then,
    unless the connection is lost.
    """
    board, first = rows[0].board, rows[0].seq
    if rows[-1].seq - first + 1 != len(rows):
        raise SeqTaken
    arrays = dict(zip(_ARRAYS, list(zip(*rows, strict=True))[1:], strict=True))
    if first == 1:
        statement = SQL.begin
        values = statement.bind(board=board, opened_at=rows[0].recorded_at, **arrays)
    else:
        statement = SQL.go_on
        values = statement.bind(board=board, before=first - 1, **arrays)
    status = await connection.execute(statement.sql, *values)
    inserted = int(status.rpartition(" ")[2])
    if inserted == 0:
        raise SeqTaken
    if inserted != len(rows):
        raise WrongCount(f"{inserted} of {len(rows)} rows were inserted")
