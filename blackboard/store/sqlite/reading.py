"""How the shared readings (`store.reading`) are carried out. Runs in a reading connection's thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from blackboard.store.folding import Span, Trusted, Whole
from blackboard.store.reading import Reading
from blackboard.store.sqlite.dialect import SQL
from blackboard.store.statements import Statement, Statements

P = ParamSpec("P")
T = TypeVar("T")


def fetch(connection: sqlite3.Connection, statement: Statement, **values: Any) -> list[Any]:
    """Everything that a statement finds, as plain tuples."""
    return connection.execute(statement.sql, statement.bind(**values)).fetchall()


def run(
    connection: sqlite3.Connection,
    function: Callable[Concatenate[Statements, P], Reading[T]],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Carry a reading out to its end."""
    reading = function(SQL, *args, **kwargs)
    try:
        sql, parameters = next(reading)
        while True:
            sql, parameters = reading.send(connection.execute(sql, parameters).fetchall())
    except StopIteration as done:
        result: T = done.value
        return result


def trusted(connection: sqlite3.Connection, span: Span, fold: Callable[[Sequence[Trusted]], None]) -> None:
    """Fold the rows of a span, here, as a fold needs them that trusts them."""
    fold(fetch(connection, SQL.folded, **span._asdict()))


def whole(connection: sqlite3.Connection, span: Span, fold: Callable[[Sequence[Whole]], None]) -> None:
    """Fold the rows of a span, here, as verification needs them."""
    fold(fetch(connection, SQL.rows, **span._asdict()))
