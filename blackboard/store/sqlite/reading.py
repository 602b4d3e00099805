"""What is read: functions that run in a reading connection's thread, each a few short statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from blackboard.events.envelope import Row, Tip
from blackboard.messages.limits import MAX_INTEGER
from blackboard.store.contract import BoardRow
from blackboard.store.folding import Saved, Span, Trusted, Whole
from blackboard.store.sqlite.dialect import SQL
from blackboard.store.statements import Statement

WINDOW = 10_000
"""A statement looks at so many rows at most, so that none holds back the write-ahead log for long."""

NEAR = 32
"""How many revisions are looked at one by one before searching by halves."""

AT_ONCE = (1, 8, 64, 512)
"""Sizes of the statement that fetches single rows."""

COMMAND_ROWS = 64


def fetch(connection: sqlite3.Connection, statement: Statement, **values: Any) -> list[Any]:
    """Everything that a statement finds, as plain tuples."""
    return connection.execute(statement.sql, statement.bind(**values)).fetchall()


def tip(connection: sqlite3.Connection, board: str) -> Tip | None:
    """The end of the log."""
    found = fetch(connection, SQL.tip, board=board)
    return Tip._make(found[0]) if found else None


def tip_at(connection: sqlite3.Connection, board: str, seq: int) -> Tip | None:
    """What the log was chained to after `seq`."""
    found = fetch(connection, SQL.tip_at, board=board, seq=seq)
    return Tip._make(found[0]) if found else None


def boards(connection: sqlite3.Connection) -> list[BoardRow]:
    """Every board with its head."""
    return [BoardRow(name, opened_at, head or 0) for name, opened_at, head in fetch(connection, SQL.boards)]


def rows(connection: sqlite3.Connection, span: Span, equal: dict[str, Any]) -> list[Row]:
    """The rows of a span, oldest first, that have the values in `equal` in these columns."""
    if not equal and span.limit <= WINDOW:
        return list(map(Row._make, fetch(connection, SQL.rows, **span._asdict())))
    if "key" in equal:
        return _of_key(connection, span, equal)
    board, after, through, limit = span
    head = tip(connection, board)
    through = min(through, head.seq if head is not None else 0)
    statement = SQL.filtered(*equal)
    kept: list[Row] = []
    while after < through and len(kept) < limit:
        window = min(after + WINDOW, through)
        wanted = limit - len(kept)
        found = fetch(connection, statement, board=board, after=after, through=window, limit=wanted, **equal)
        kept += map(Row._make, found)
        after = window
    return kept


def _of_key(connection: sqlite3.Connection, span: Span, equal: dict[str, Any]) -> list[Row]:
    others = [name for name in equal if name != "key"]
    statement, given = SQL.of_key(*others), span._asdict() | equal
    revision = revision_as_of(connection, span.board, equal["key"], span.after) or 0
    kept: list[Row] = []
    while len(kept) < span.limit:
        given |= {"revision": revision, "limit": min(span.limit - len(kept), WINDOW)}
        found = list(map(Row._make, fetch(connection, statement, **given)))
        kept += found
        if len(found) < given["limit"]:
            break
        revision = found[-1].revision or 0
    return kept


def entry(connection: sqlite3.Connection, board: str, key: str, revision: int) -> Row | None:
    """The entry of exactly this revision."""
    found = fetch(connection, SQL.entry, board=board, key=key, revision=revision)
    return Row._make(found[0]) if found else None


def entry_as_of(connection: sqlite3.Connection, board: str, key: str, seq: int) -> Row | None:
    """The newest entry of the key at or before `seq`."""
    revision = revision_as_of(connection, board, key, seq)
    return None if revision is None else entry(connection, board, key, revision)


def revision_as_of(connection: sqlite3.Connection, board: str, key: str, seq: int) -> int | None:
    """The key's newest revision written at or before `seq`; None before its first.

    Revisions and seqs of a key rise together, so the one is searched by the other: near the newest one
    by one, further back by halves (at most 53 look-ups, however often the key was written).
    """

    def newest(revision: int, limit: int) -> list[tuple[int, int]]:
        return fetch(connection, SQL.revisions, board=board, key=key, revision=revision, limit=limit)

    near = newest(MAX_INTEGER, NEAR)
    for revision, at in near:
        if at <= seq:
            return revision
    found, low, high = None, 0, near[-1][0] if near else 0
    while high - low > 1:
        middle = (low + high) // 2
        candidate = newest(middle, 1)
        if candidate and candidate[0][1] > seq:
            high = candidate[0][0]
        else:
            found = candidate[0][0] if candidate else found
            low = middle
    return found


def at(connection: sqlite3.Connection, board: str, seqs: Sequence[int]) -> list[Row]:
    """The rows that exist at these seqs."""
    found: list[Row] = []
    for start in range(0, len(seqs), AT_ONCE[-1]):
        chunk = seqs[start : start + AT_ONCE[-1]]
        size = next(size for size in AT_ONCE if size >= len(chunk))
        padded = [*chunk, *[chunk[-1]] * (size - len(chunk))]
        values = {f"s{index}": seq for index, seq in enumerate(padded)}
        found += map(Row._make, fetch(connection, SQL.at(size), board=board, **values))
    return found


def command(connection: sqlite3.Connection, board: str, actor: str, command_id: str) -> list[Row]:
    """The consecutive rows of one command."""
    first = fetch(connection, SQL.first_of_command, board=board, actor=actor, command_id=command_id)
    if not first:
        return []
    after = first[0][0] - 1
    found: list[Row] = []
    while True:
        page = rows(connection, Span(board, after, MAX_INTEGER, COMMAND_ROWS), {})
        for row in page:
            if found and (row.request_digest is not None or row[4:7:2] != (actor, command_id)):
                return found
            found.append(row)
        if len(page) < COMMAND_ROWS:
            return found
        after = page[-1].seq


def existing(
    connection: sqlite3.Connection, board: str, pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Which of these (actor, command id) the board's log holds."""
    statement = SQL.first_of_command
    return [
        (actor, command_id)
        for actor, command_id in pairs
        if fetch(connection, statement, board=board, actor=actor, command_id=command_id)
    ]


def saved(connection: sqlite3.Connection, board: str, fingerprint: str, seq: int) -> list[int]:
    """Seqs at or before `seq` at which snapshots of this fingerprint stand, newest first."""
    return [found for (found,) in fetch(connection, SQL.saved, board=board, fingerprint=fingerprint, seq=seq)]


def snapshot(connection: sqlite3.Connection, board: str, fingerprint: str, seq: int) -> Saved | None:
    """The snapshot at `seq`, its parts joined."""
    parts = fetch(connection, SQL.parts, board=board, fingerprint=fingerprint, seq=seq)
    return Saved(parts[0][0], b"".join(state for _, state in parts)) if parts else None


def trusted(connection: sqlite3.Connection, span: Span, fold: Callable[[Sequence[Trusted]], None]) -> None:
    """Fold the rows of a span, here, as a fold needs them that trusts them."""
    fold(fetch(connection, SQL.folded, **span._asdict()))


def whole(connection: sqlite3.Connection, span: Span, fold: Callable[[Sequence[Whole]], None]) -> None:
    """Fold the rows of a span, here, as verification needs them."""
    fold(fetch(connection, SQL.rows, **span._asdict()))


def release_of(connection: sqlite3.Connection, board_format: int) -> str | None:
    """The first release that reads this board format."""
    found = fetch(connection, SQL.release, format=board_format)
    return found[0][0] if found else None


def token(connection: sqlite3.Connection, digest: bytes) -> tuple[Any, ...] | None:
    """The columns of the token with this digest."""
    found = fetch(connection, SQL.token, digest=digest)
    return found[0] if found else None


def tokens(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """The columns of every token, oldest first."""
    return fetch(connection, SQL.tokens)
