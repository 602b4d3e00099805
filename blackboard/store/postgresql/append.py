"""The commit: rows go in whole or not at all, by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    if rows[-1].seq - rows[0].seq + 1 != len(rows):
        raise SeqTaken
    sql, values = _statement(rows)
    status = await connection.execute(sql, *values)
    inserted = int(status.rpartition(" ")[2])
    if inserted == 0:
        raise SeqTaken
    if inserted != len(rows):
        raise WrongCount(f"{inserted} of {len(rows)} rows were inserted")


def _statement(rows: Sequence[Row]) -> tuple[str, tuple[Any, ...]]:
    board, seq = rows[0].board, rows[0].seq
    if seq > 1 and len(rows) == 1:
        one = SQL.go_on_by_one
        return one.sql, one.bind(before=seq - 1, **rows[0]._asdict())
    columns = zip(*rows, strict=True)
    next(columns)  # the board, which is one
    arrays = dict(zip(_ARRAYS, columns, strict=True))
    if seq > 1:
        return SQL.go_on.sql, SQL.go_on.bind(board=board, before=seq - 1, **arrays)
    return SQL.begin.sql, SQL.begin.bind(board=board, opened_at=rows[0].recorded_at, **arrays)
