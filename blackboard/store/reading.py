"""What is read, in every engine alike: a few short statements each, one after another.

Each function is a conversation: it yields a statement with its parameters, and is sent the rows that it
found. The engine drives it (`sqlite.reading.run`, `postgresql.reading.run`), so that a search that takes
several statements is written once, whether its driver waits in a thread or in a loop.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from blackboard.events.envelope import Row, Tip
from blackboard.messages.limits import MAX_INTEGER
from blackboard.store.contract import BoardRow
from blackboard.store.folding import Saved, Span
from blackboard.store.statements import Statement, Statements

T = TypeVar("T")

WINDOW = 10_000
"""A statement looks at so many rows at most, so that none holds back the write-ahead log for long."""

NEAR = 32
"""How many revisions are looked at one by one before searching by halves."""

AT_ONCE = (1, 8, 64, 512)
"""Sizes of the statement that fetches single rows."""

COMMAND_ROWS = 64


class Asked(NamedTuple):
    """A statement and its parameters, in the driver's order."""

    sql: str
    parameters: tuple[Any, ...]


Reading = Generator[Asked, Sequence[Any], T]
"""Yields what to ask, is sent every row that it found (tuples, or what unpacks alike), returns a `T`."""


def ask(statement: Statement, **values: Any) -> Asked:
    """What to yield."""
    return Asked(statement.sql, statement.bind(**values))


def tip(sql: Statements, board: str) -> Reading[Tip | None]:
    """The end of the log."""
    found = yield ask(sql.tip, board=board)
    return Tip._make(found[0]) if found else None


def tip_at(sql: Statements, board: str, seq: int) -> Reading[Tip | None]:
    """What the log was chained to after `seq`."""
    found = yield ask(sql.tip_at, board=board, seq=seq)
    return Tip._make(found[0]) if found else None


def boards(sql: Statements) -> Reading[list[BoardRow]]:
    """Every board with its head."""
    found = yield ask(sql.boards)
    return [BoardRow(name, opened_at, head or 0) for name, opened_at, head in found]


def rows(sql: Statements, span: Span, equal: dict[str, Any]) -> Reading[list[Row]]:
    """The rows of a span, oldest first, that have the values in `equal` in these columns."""
    if not equal and span.limit <= WINDOW:
        found = yield ask(sql.rows, **span._asdict())
        return list(map(Row._make, found))
    if "key" in equal:
        return (yield from _of_key(sql, span, equal))
    board, after, through, limit = span
    head = yield from tip(sql, board)
    through = min(through, head.seq if head is not None else 0)
    statement = sql.filtered(*equal)
    kept: list[Row] = []
    while after < through and len(kept) < limit:
        window = min(after + WINDOW, through)
        wanted = limit - len(kept)
        found = yield ask(statement, board=board, after=after, through=window, limit=wanted, **equal)
        kept += map(Row._make, found)
        after = window
    return kept


def _of_key(sql: Statements, span: Span, equal: dict[str, Any]) -> Reading[list[Row]]:
    others = [name for name in equal if name != "key"]
    statement, given = sql.of_key(*others), span._asdict() | equal
    del given["after"]
    revision = (yield from revision_as_of(sql, span.board, equal["key"], span.after)) or 0
    kept: list[Row] = []
    while len(kept) < span.limit:
        given |= {"revision": revision, "limit": min(span.limit - len(kept), WINDOW)}
        found = yield ask(statement, **given)
        kept += map(Row._make, found)
        if len(found) < given["limit"]:
            break
        revision = kept[-1].revision or 0
    return kept


def entry(sql: Statements, board: str, key: str, revision: int) -> Reading[Row | None]:
    """The entry of exactly this revision."""
    found = yield ask(sql.entry, board=board, key=key, revision=revision)
    return Row._make(found[0]) if found else None


def entry_as_of(sql: Statements, board: str, key: str, seq: int) -> Reading[Row | None]:
    """The newest entry of the key at or before `seq`."""
    revision = yield from revision_as_of(sql, board, key, seq)
    if revision is None:
        return None
    return (yield from entry(sql, board, key, revision))


def revision_as_of(sql: Statements, board: str, key: str, seq: int) -> Reading[int | None]:
    """The key's newest revision written at or before `seq`; None before its first.

    Revisions and seqs of a key rise together, so the one is searched by the other: near the newest one
    by one, further back by halves (at most 53 look-ups, however often the key was written).
    """
    near = yield _revisions(sql, board, key, MAX_INTEGER, NEAR)
    for revision, at_seq in near:
        if at_seq <= seq:
            return int(revision)
    found, low, high = None, 0, near[-1][0] if near else 0
    while high - low > 1:
        middle = (low + high) // 2
        candidate = yield _revisions(sql, board, key, middle, 1)
        if candidate and candidate[0][1] > seq:
            high = candidate[0][0]
        else:
            found = candidate[0][0] if candidate else found
            low = middle
    return found


def _revisions(sql: Statements, board: str, key: str, newest: int, limit: int) -> Asked:
    return ask(sql.revisions, board=board, key=key, revision=newest, limit=limit)


def at(sql: Statements, board: str, seqs: Sequence[int]) -> Reading[list[Row]]:
    """The rows that exist at these seqs."""
    kept: list[Row] = []
    for start in range(0, len(seqs), AT_ONCE[-1]):
        chunk = seqs[start : start + AT_ONCE[-1]]
        size = next(size for size in AT_ONCE if size >= len(chunk))
        padded = [*chunk, *[chunk[-1]] * (size - len(chunk))]
        values = {f"s{index}": seq for index, seq in enumerate(padded)}
        found = yield ask(sql.at(size), board=board, **values)
        kept += map(Row._make, found)
    return kept


def command(sql: Statements, board: str, actor: str, command_id: str) -> Reading[list[Row]]:
    """The consecutive rows of one command."""
    first = yield ask(sql.first_of_command, board=board, actor=actor, command_id=command_id)
    if not first:
        return []
    after = first[0][0] - 1
    kept: list[Row] = []
    while True:
        page = yield from rows(sql, Span(board, after, MAX_INTEGER, COMMAND_ROWS), {})
        for row in page:
            if kept and (row.request_digest is not None or row[4:7:2] != (actor, command_id)):
                return kept
            kept.append(row)
        if len(page) < COMMAND_ROWS:
            return kept
        after = page[-1].seq


def existing(sql: Statements, board: str, pairs: Sequence[tuple[str, str]]) -> Reading[list[tuple[str, str]]]:
    """Which of these (actor, command id) the board's log holds."""
    kept = []
    for actor, command_id in pairs:
        found = yield ask(sql.first_of_command, board=board, actor=actor, command_id=command_id)
        if found:
            kept.append((actor, command_id))
    return kept


def saved(sql: Statements, board: str, fingerprint: str, seq: int) -> Reading[list[int]]:
    """Seqs at or before `seq` at which snapshots of this fingerprint stand, newest first."""
    found = yield ask(sql.saved, board=board, fingerprint=fingerprint, seq=seq)
    return [stands_at for (stands_at,) in found]


def snapshot(sql: Statements, board: str, fingerprint: str, seq: int) -> Reading[Saved | None]:
    """The snapshot at `seq`, its parts joined."""
    parts = yield ask(sql.parts, board=board, fingerprint=fingerprint, seq=seq)
    return Saved(parts[0][0], b"".join(state for _, state in parts)) if parts else None


def release_of(sql: Statements, board_format: int) -> Reading[str | None]:
    """The first release that reads this board format."""
    found = yield ask(sql.release, format=board_format)
    return found[0][0] if found else None


def token(sql: Statements, digest: bytes) -> Reading[tuple[Any, ...] | None]:
    """The columns of the token with this digest."""
    found = yield ask(sql.token, digest=digest)
    return tuple(found[0]) if found else None


def tokens(sql: Statements) -> Reading[list[tuple[Any, ...]]]:
    """The columns of every token, oldest first."""
    found = yield ask(sql.tokens)
    return list(map(tuple, found))
