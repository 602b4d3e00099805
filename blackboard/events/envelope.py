"""The envelope: how a body becomes a row of the log, and how a row becomes an event again.

`Draft` is what a decision produces, `Event` what folds see, `Row` what the store keeps. `seal` is the
only way from draft to row, `unseal` the only way back; both are pure (salt and time are arguments).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from blackboard import canonical
from blackboard.events.downcast import lowered
from blackboard.events.kinds import FORMAT, BoardRead, EntryWritten, EventBody, Opaque
from blackboard.events.upcast import decode_body
from blackboard.events.vocabulary import OLDER

SALT_BYTES = 16


class Draft(Struct, frozen=True, gc=False):
    """One event that a decision wants to record. `key` and `revision` on `entry.written` only."""

    body: EventBody
    key: str | None = None
    revision: int | None = None


class Command(Struct, frozen=True, gc=False):
    """Who and what stands behind consecutive drafts: shared by all events of one command.

    `canonical` are the command's canonical bytes (`seen` excluded), from which the first event's
    request digest is made.
    """

    actor: str
    command_id: str
    canonical: bytes
    turn: int | None = None


class Event(Struct, frozen=True, gc=False):
    """A decoded event. `first` is true for the first event of its command."""

    seq: int
    actor: str
    command_id: str
    first: bool
    body: EventBody | Opaque
    turn: int | None = None
    key: str | None = None
    revision: int | None = None
    recorded_at: int = 0


class Row(NamedTuple):
    """One row of the table `events`, in column order.

    Digests are 32 raw bytes, `salt` 16, `recorded_at` microseconds UTC, `body` canonical JSON text.
    `body` and `salt` are None once redacted.
    """

    board: str
    seq: int
    kind: str
    version: int
    actor: str
    turn: int | None
    command_id: str
    request_digest: bytes | None
    key: str | None
    revision: int | None
    recorded_at: int
    body: str | None
    salt: bytes | None
    body_digest: bytes
    hash: bytes


def number(
    command: Command, drafts: Sequence[Draft], head: int, *, first: bool = True, recorded_at: int = 0
) -> list[Event]:
    """The events that `drafts` become after `head`: what folds see before anything is sealed."""
    return [
        Event(
            head + place,
            command.actor,
            command.command_id,
            first and place == 1,
            draft.body,
            command.turn,
            draft.key,
            draft.revision,
            recorded_at,
        )
        for place, draft in enumerate(drafts, 1)
    ]


class Tip(NamedTuple):
    """The end of a board's log: what the next row is chained to."""

    seq: int
    hash: bytes
    recorded_at: int


GENESIS = Tip(0, canonical.GENESIS, 0)
"""The tip of a board that has no events."""


def encode_body(body: EventBody) -> bytes:
    """The canonical JSON bytes of a body.

    The two kinds that make up nearly every log are put together by hand; the rest go the general way.
    A property test holds both ways equal.
    """
    if (
        type(body) is EntryWritten
        and body.confidence is None
        and body.basis is None
        and body.asserted is None
    ):
        deleted = b'"deleted":true,' if body.deleted else b""
        return b'{%b"payload_hash":"%b","value":%b}' % (
            deleted,
            body.payload_hash.encode(),
            bytes(body.value),
        )
    if type(body) is BoardRead:
        return _FAST.encode(body) if _plain_keys(body) else canonical.encode(body)
    return canonical.encode(body)


_FAST = msgspec.json.Encoder(order="sorted")


def _plain_keys(body: BoardRead) -> bool:
    # Only key names can make the fast encoder differ: RFC 8785 orders by UTF-16 code units.
    return (
        all(key.isascii() and key.isprintable() for key in body.keys)
        and not body.proposals
        and not body.records
        and body.range is None
    )


def seal(
    board: str,
    tip: Tip,
    command: Command,
    drafts: Sequence[Draft],
    *,
    salts: Sequence[bytes],
    now: int,
    board_format: int = FORMAT,
) -> tuple[list[Row], Tip]:
    """Turn one command's drafts (at least one) into rows that continue `tip`; return them and the new tip.

    `salts` holds 16 fresh random bytes for each draft; `now` is the clock in microseconds, which is
    raised to the tip's where it lags (`recorded_at` never decreases). `board_format` is the board's when the
    command was decided: bodies are written in the versions that it knows.
    """
    older = OLDER[board_format]
    recorded_at = max(now, tip.recorded_at)
    seq, previous = tip.seq, tip.hash
    board_frame = canonical.framed(board.encode())
    rows: list[Row] = []
    request: bytes | None = canonical.request_digest(salts[0], command.canonical)
    shared: tuple[str, bytes] = ("", b"")
    for draft, salt in zip(drafts, salts, strict=True):
        seq += 1
        body = draft.body
        kind = body.KIND
        version = body.VERSION
        if older and kind in older:
            version = older[kind]
            text = lowered(body, version)
        else:
            text = encode_body(body)
        digest = canonical.body_digest(salt, text)
        if shared[0] != kind:
            shared = (kind, _shared_frame(command, kind, version, request))
        previous = canonical.link(
            previous, board_frame, seq, shared[1], draft.key, draft.revision, recorded_at, digest
        )
        rows.append(
            Row(
                board,
                seq,
                kind,
                version,
                command.actor,
                command.turn,
                command.command_id,
                request,
                draft.key,
                draft.revision,
                recorded_at,
                text.decode(),
                salt,
                digest,
                previous,
            )
        )
        if request is not None:
            request, shared = None, ("", b"")
    return rows, Tip(seq, previous, recorded_at)


def _shared_frame(command: Command, kind: str, version: int, request: bytes | None) -> bytes:
    return canonical.framed_command(kind, version, command.actor, command.turn, command.command_id, request)


def unseal(row: Row) -> Event:
    """Decode one row. An unknown kind or a redacted body becomes `Opaque`; verification is separate."""
    return Event(
        row.seq,
        row.actor,
        row.command_id,
        row.request_digest is not None,
        decode_body(row.kind, row.version, row.body),
        row.turn,
        row.key,
        row.revision,
        row.recorded_at,
    )


def verify_row(row: Row, previous: bytes) -> bool:
    """Whether the row's digests hold and it continues `previous`.

    A redacted body is not checked: body and salt are gone together. One without the other does not hold.
    """
    return _body_holds(row) and row.hash == canonical.chain(previous, *row[:11], row.body_digest)


def _body_holds(row: Row) -> bool:
    if row.body is None or row.salt is None:
        return row.body is None and row.salt is None
    return canonical.body_digest(row.salt, row.body.encode()) == row.body_digest


def tip_of(row: Row) -> Tip:
    """The tip of a log whose last row is `row`."""
    return Tip(row.seq, row.hash, row.recorded_at)
