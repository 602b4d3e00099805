"""Every statement of the stores in SQL, built with SQLAlchemy Core and compiled once a dialect.

The drivers are called directly: on SQLite, SQLAlchemy's own execution costs an append two more thread
hops (measured: 0.35 of raw `sqlite3`, where the driver reaches 0.65).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Dialect,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.selectable import ScalarSelect

from blackboard.store.tables import (
    IS_ENTRY,
    IS_FIRST,
    boards,
    events,
    formats,
    saved_boards,
    saved_parts,
    tokens,
)

ROW = tuple(events.c)
"""The columns of `events.envelope.Row`, in its order."""

FOLDED = (
    events.c.seq,
    events.c.kind,
    events.c.version,
    events.c.actor,
    events.c.turn,
    events.c.command_id,
    events.c.request_digest.is_not(None).label("first"),
    events.c.key,
    events.c.revision,
    events.c.recorded_at,
    events.c.body,
)
"""What a fold needs of a row that it trusts: `folding.Trusted`."""

TIP = (events.c.seq, events.c.hash, events.c.recorded_at)


class Statement:
    """One statement in one dialect, and its parameters in the order that the driver wants them."""

    def __init__(self, element: ClauseElement, dialect: Dialect) -> None:
        compiled: Any = element.compile(dialect=dialect)
        self.sql = str(compiled)
        self._names: list[str] = list(compiled.positiontup)
        self._constants: dict[str, Any] = compiled.params

    def bind(self, **values: Any) -> tuple[Any, ...]:
        """The parameters: `values` by name, and the constants of the statement."""
        constants = self._constants
        return tuple([values[name] if name in values else constants[name] for name in self._names])


class Statements:
    """All statements in one dialect. Parameters are named as the columns, or as the store's arguments."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._made: dict[tuple[str, ...] | int, Statement] = {}
        made = self._make
        self.append = made(insert(events))
        self.add_board = made(insert(boards))
        self.boards = made(select(boards.c.id, boards.c.opened_at, _head()).order_by(boards.c.id))
        self.tip = made(_of_board(*TIP).order_by(events.c.seq.desc()).limit(1))
        self.tip_at = made(_of_board(*TIP).where(events.c.seq == bindparam("seq")))
        self.stands = made(_of_board(literal_column("1")).where(events.c.seq == bindparam("seq")))
        self.rows = made(_slice(*ROW))
        self.folded = made(_slice(*FOLDED))
        self.entry = made(_entries(*ROW).where(events.c.revision == bindparam("revision")))
        self.revisions = made(_revisions())
        self.first_of_command = made(_first_of_command())
        self.release = made(select(formats.c.release).where(formats.c.format == bindparam("format")))
        self._snapshots(made)
        self._tokens(made)

    def _snapshots(self, made: Callable[[ClauseElement], Statement]) -> None:
        table = saved_boards.c
        self.saved = made(
            select(table.seq)
            .where(*_saved(saved_boards), table.seq <= bindparam("seq"))
            .order_by(table.seq.desc())
        )
        self.parts = made(
            select(table.digest, saved_parts.c.state)
            .join_from(saved_boards, saved_parts, _same_snapshot())
            .where(*_saved(saved_boards), table.seq == bindparam("seq"))
            .order_by(saved_parts.c.part)
        )
        self.save_part = made(insert(saved_parts))
        self.save_board = made(insert(saved_boards))
        # What says that a snapshot is whole goes first.
        of = (saved_boards, saved_parts)
        self.drop_saved = [made(delete(t).where(*_saved(t), t.c.seq == bindparam("seq"))) for t in of]
        self.drop_older = [made(delete(t).where(*_saved(t), t.c.seq < bindparam("seq"))) for t in of]
        self.drop_foreign = [made(delete(t).where(*_foreign(t), t.c.seq < bindparam("seq"))) for t in of]

    def _tokens(self, made: Callable[[ClauseElement], Statement]) -> None:
        table = tokens.c
        self.token = made(select(*table).where(table.digest == bindparam("digest")))
        self.tokens = made(select(*table).order_by(table.created_at, table.id))
        self.drop_token = made(delete(tokens).where(table.id == bindparam("id")))
        self.add_token = made(insert(tokens))

    def filtered(self, *columns: str) -> Statement:
        """`rows`, with each of these columns equal to the parameter of its name."""
        return self._kept(columns, lambda: _slice(*ROW).where(*_equal(columns)))

    def of_key(self, *columns: str) -> Statement:
        """The entries of a key above `revision`, oldest first, filtered likewise."""
        return self._kept(("of key", *columns), lambda: _history().where(*_equal(columns)))

    def at(self, count: int) -> Statement:
        """The rows at `count` seqs, whose parameters are s0, s1, ..."""
        wanted: list[Any] = [bindparam(f"s{index}") for index in range(count)]
        return self._kept(count, lambda: _of_board(*ROW).where(events.c.seq.in_(wanted)))

    def _kept(self, name: tuple[str, ...] | int, element: Callable[[], ClauseElement]) -> Statement:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self._make(element())
        return found

    def _make(self, element: ClauseElement) -> Statement:
        return Statement(element, self._dialect)


def _of_board(*columns: Any) -> Select[Any]:
    return select(*columns).where(events.c.board == bindparam("board"))


def _slice(*columns: Any) -> Select[Any]:
    return (
        _of_board(*columns)
        .where(events.c.seq > bindparam("after"), events.c.seq <= bindparam("through"))
        .order_by(events.c.seq)
        .limit(bindparam("limit"))
    )


def _entries(*columns: Any) -> Select[Any]:
    # The kind stands in the text: behind a parameter SQLite would not see that the partial index serves.
    return _of_board(*columns).where(events.c.key == bindparam("key"), IS_ENTRY)


def _revisions() -> Select[Any]:
    return (
        _entries(events.c.revision, events.c.seq)
        .where(events.c.revision <= bindparam("revision"))
        .order_by(events.c.revision.desc())
        .limit(bindparam("limit"))
    )


def _history() -> Select[Any]:
    return (
        _entries(*ROW)
        .where(events.c.revision > bindparam("revision"), events.c.seq <= bindparam("through"))
        .order_by(events.c.revision)
        .limit(bindparam("limit"))
    )


def _first_of_command() -> Select[Any]:
    return _of_board(events.c.seq).where(
        events.c.actor == bindparam("actor"),
        events.c.command_id == bindparam("command_id"),
        IS_FIRST,
    )


def _saved(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.board == bindparam("board"), table.c.fingerprint == bindparam("fingerprint")


def _foreign(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.board == bindparam("board"), table.c.fingerprint != bindparam("fingerprint")


def _same_snapshot() -> ColumnElement[bool]:
    whole, part = saved_boards.c, saved_parts.c
    return and_(part.board == whole.board, part.fingerprint == whole.fingerprint, part.seq == whole.seq)


def _head() -> ScalarSelect[Any]:
    return select(func.max(events.c.seq)).where(events.c.board == boards.c.id).scalar_subquery()


def _equal(columns: tuple[str, ...]) -> list[Any]:
    return [events.c[name] == bindparam(name) for name in columns]
