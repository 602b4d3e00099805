"""How the shared readings (`store.reading`) are carried out on a connection to PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from blackboard.store.folding import Span, Trusted, Whole
from blackboard.store.postgresql.connecting import Connection
from blackboard.store.postgresql.dialect import SQL, PostgresqlStatements
from blackboard.store.reading import Reading, ask

T = TypeVar("T")


async def run(connection: Connection, reading: Reading[T]) -> T:
    """Carry a reading out, a round trip for each of its statements."""
    try:
        asked = next(reading)
        while True:
            asked = reading.send(await connection.fetch(asked.sql, *asked.parameters))
    except StopIteration as done:
        result: T = done.value
        return result


def commands_taken(
    sql: PostgresqlStatements, board: str, pairs: Sequence[tuple[str, str]]
) -> Reading[list[tuple[str, str]]]:
    """Which of these (actor, command id) the board's log holds, in one round trip."""
    actors, command_ids = [actor for actor, _ in pairs], [command_id for _, command_id in pairs]
    found = yield ask(sql.commands_taken, board=board, actors=actors, command_ids=command_ids)
    return [(actor, command_id) for actor, command_id in found]


async def trusted(connection: Connection, span: Span) -> Sequence[Trusted]:
    """The rows of a span as a fold needs them that trusts them."""
    found: Sequence[Trusted] = await connection.fetch(SQL.folded.sql, *SQL.folded.bind(**span._asdict()))
    return found


async def whole(connection: Connection, span: Span) -> Sequence[Whole]:
    """The rows of a span as verification needs them."""
    found: Sequence[Whole] = await connection.fetch(SQL.rows.sql, *SQL.rows.bind(**span._asdict()))
    return found
