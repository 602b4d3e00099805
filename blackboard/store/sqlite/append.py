"""The commit: rows go in whole or not at all. Runs in the writing connection's thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain

from blackboard.events.envelope import Row
from blackboard.store.sqlite.dialect import SQL
from blackboard.store.sqlite.faults import Gap, WrongCount
from blackboard.store.sqlite.place import Place

ONE_STATEMENT = 64
"""So many rows go in as one statement, prepared once for each number of rows; their members stay below 999
parameters, which every SQLite accepts. More rows are a transaction of such statements: each statement lets
other threads run once, and comes back only when they let it (row by row, that would be a wait a row)."""

REMEMBERED = 4096
"""Boards whose head is remembered at most."""

MEMBERS = len(Row._fields)
_MORE = ", (" + ", ".join("?" * MEMBERS) + ")"


class Appending:
    """Appends to the log of one file. Its calls run in the writing connection's thread, one after another.

    The key (board, seq) keeps two from appending at one seq; that the row before is there keeps gaps out
    as well. It is looked for once a board, and remembered while this store is the one that appends.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._heads: dict[str, int] = {}

    def append(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
        """Insert the rows of one board in one commit. Raises `sqlite3.Error`; nothing is stored then."""
        board = rows[0].board
        self._place.check()
        known = self._heads.pop(board, None)
        _check_continues(connection, rows, known)
        _insert(connection, rows)
        if len(self._heads) >= REMEMBERED:
            self._heads.clear()
        self._heads[board] = rows[-1].seq


def _insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    if rows[0].seq > 1 and len(rows) <= ONE_STATEMENT:
        _insert_together(connection, rows)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if rows[0].seq == 1:
            board = SQL.add_board.bind(id=rows[0].board, opened_at=rows[0].recorded_at)
            connection.execute(SQL.add_board.sql, board)
        for at in range(0, len(rows), ONE_STATEMENT):
            _insert_together(connection, rows[at : at + ONE_STATEMENT])
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _insert_together(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    parameters = tuple(chain.from_iterable(rows))
    inserted = connection.execute(SQL.append.sql + _MORE * (len(rows) - 1), parameters).rowcount
    if inserted != len(rows):
        raise WrongCount(f"{inserted} of {len(rows)} rows were inserted")


def roll_back(connection: sqlite3.Connection) -> None:
    """End a transaction that failed, where SQLite has not done so itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _check_continues(connection: sqlite3.Connection, rows: Sequence[Row], known: int | None) -> None:
    first, last = rows[0].seq, rows[-1].seq
    if last - first + 1 != len(rows):
        raise Gap(f"seqs {first} to {last} in {len(rows)} rows")
    if first in (1, (known or 0) + 1):
        return
    before = SQL.stands.bind(board=rows[0].board, seq=first - 1)
    if connection.execute(SQL.stands.sql, before).fetchone() is None:
        raise Gap(f"seq {first} on a log without seq {first - 1}")
