"""From the log to a board: the one path that every reader of a board's state takes.

A store provides what `Log` asks for; `load` folds the newest usable snapshot and the tail. Rows are folded
where they are read: in a thread of the store, if it has one, and then in no event loop's time.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from blackboard import canonical
from blackboard.errors import BeyondHead, BlackboardError, BoardTooNew, IntegrityFailure
from blackboard.events.envelope import GENESIS, Event, Tip
from blackboard.events.kinds import FORMAT, MessagePosted
from blackboard.events.upcast import decode_body
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store.contract import Loaded

SLICE = 500
"""Rows read and folded at once, in about 3 ms: when they are folded, they are still in the core's cache."""

INLINE_BYTES = 256 * 1024
"""A snapshot up to this size is decoded at once, a larger one in a thread of its own."""

Trusted = tuple[int, str, int, str, int | None, str, int, str | None, int | None, int, str | None]
"""A row as a fold needs it that trusts the digests: `Event` with the body's kind, version and text."""


Whole = tuple[
    str,
    int,
    str,
    int,
    str,
    int | None,
    str,
    bytes | None,
    str | None,
    int | None,
    int,
    str | None,
    bytes | None,
    bytes,
    bytes,
]
"""A row with its members in the order of `Row`, which is one."""


class Span(NamedTuple):
    """Rows of a board with `after < seq <= through`, at most `limit` of them."""

    board: str
    after: int
    through: int
    limit: int


class Saved(NamedTuple):
    """A stored snapshot: the digest it was stored with, and its bytes."""

    digest: bytes
    state: bytes


class Log(Protocol):
    """What loading needs of a store."""

    async def tip(self, board: str) -> Tip | None:
        """The end of the log."""

    async def tip_at(self, board: str, seq: int) -> Tip | None:
        """What the log was chained to after `seq`."""

    async def trusted(self, span: Span, fold: Callable[[Sequence[Trusted]], None]) -> None:
        """Give `fold` the rows in order, without what only verification needs, where they are read."""

    async def whole(self, span: Span, fold: Callable[[Sequence[Whole]], None]) -> None:
        """The same with everything that verification needs."""

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        """Seqs of the snapshots at or before `seq`, newest first."""

    async def saved_at(self, board: str, fingerprint: str, seq: int) -> Saved | None:
        """The snapshot at `seq`."""

    async def release_of(self, board_format: int) -> str | None:
        """The release that reads this board format, where the database knows one."""


def snapshot_digest(tip: Tip, state: Iterable[bytes]) -> bytes:
    """What makes a snapshot usable: it binds the bytes to the log up to `tip`."""
    digest = hashlib.sha256(tip.hash)
    for part in state:
        digest.update(part)
    return digest.digest()


async def load(log: Log, name: str, at: int | None, *, verify: bool) -> Loaded | None:
    """See `contract.Store.load`."""
    head = await log.tip(name)
    if head is None:
        return None
    if at is not None and not 0 <= at <= head.seq:
        raise BeyondHead(
            f"board {name!r} has events 1 to {head.seq}; there is no seq {at}",
            members={"at": at, "head": head.seq},
        )
    through = head.seq if at is None else at
    tip = head if through == head.seq else await _tip_at(log, name, through)
    board = None if verify else await _from_snapshot(log, name, through)
    fold = Fold(name, board or Board())
    start = fold.board.head
    await _advance(log, fold, through, verify=verify)
    return Loaded(fold.board, tip, start, through - start)


async def _advance(log: Log, fold: Fold, through: int, *, verify: bool) -> None:
    await check_format(log, fold)
    while fold.board.head < through:
        span = Span(fold.name, fold.board.head, through, SLICE)
        if verify:
            await log.whole(span, fold.verify)
        else:
            await log.trusted(span, fold.trust)
        if fold.board.head == span.after:
            raise fold.missing()
        await check_format(log, fold)


async def check_format(log: Log, fold: Fold) -> None:
    """Raise `BoardTooNew` where the board's format is above what this release folds."""
    if fold.board.format <= FORMAT:
        return
    release = await log.release_of(fold.board.format)
    needed = f"release {release} or later" if release is not None else "a later release"
    raise BoardTooNew(
        f"board {fold.name!r} has format {fold.board.format}; this release reads up to {FORMAT}. "
        f"It takes {needed}; other boards are served as before",
        members={"format": fold.board.format, "release": release},
    )


async def _tip_at(log: Log, name: str, seq: int) -> Tip:
    found = GENESIS if seq == 0 else await log.tip_at(name, seq)
    if found is None:
        raise _missing(name, seq)
    return found


async def _from_snapshot(log: Log, name: str, through: int) -> Board | None:
    fingerprint = snapshot.FINGERPRINT
    for seq in await log.saved(name, fingerprint, through):
        saved = await log.saved_at(name, fingerprint, seq)
        tip = await log.tip_at(name, seq)
        if saved is None or tip is None or snapshot_digest(tip, [saved.state]) != saved.digest:
            continue
        board = await _decoded(saved.state)
        if board is not None and (board.name, board.head) == (name, seq):
            return board
    return None


async def _decoded(state: bytes) -> Board | None:
    try:
        if len(state) <= INLINE_BYTES:
            return snapshot.decode(state)
        return await asyncio.to_thread(snapshot.decode, state)
    except IntegrityFailure:
        return None  # a cache: the log is replayed instead


class Fold:
    """A board being folded, checking that no seq is missing."""

    def __init__(self, name: str, board: Board) -> None:
        self.name = name
        self.board = board
        self.hash = GENESIS.hash

    def trust(self, rows: Sequence[Trusted]) -> None:
        """Fold rows whose digests are taken on trust."""
        board = self.board
        try:
            for seq, kind, version, actor, turn, command_id, first, key, revision, recorded_at, body in rows:
                if seq != board.head + 1:
                    raise self.missing()
                if body is None:
                    _check_dispensable(kind)
                decoded = decode_body(kind, version, body)
                evolve(
                    board,
                    Event(seq, actor, command_id, bool(first), decoded, turn, key, revision, recorded_at),
                )
        except Exception as error:
            raise self._failed(error) from error

    def verify(self, rows: Sequence[Whole]) -> None:
        """Fold rows, recomputing their digests and the chain from the first row of the log on.

        The test is `envelope.verify_row`'s, on bare tuples: an audit spends most of its time here.
        """
        board, previous = self.board, self.hash
        frame = canonical.framed(self.name.encode())
        try:
            for (
                _,
                seq,
                kind,
                version,
                actor,
                turn,
                command_id,
                request,
                key,
                revision,
                recorded_at,
                body,
                salt,
                digest,
                stored,
            ) in rows:
                if seq != board.head + 1:
                    raise self.missing()
                if body is None or salt is None:
                    _check_gone(kind, body, salt)
                elif canonical.body_digest(salt, body.encode()) != digest:
                    raise IntegrityFailure("its body is not the one that it was stored with")
                shared = canonical.framed_command(kind, version, actor, turn, command_id, request)
                linked = canonical.link(previous, frame, seq, shared, key, revision, recorded_at, digest)
                if linked != stored:
                    raise IntegrityFailure("its hash does not fit its envelope and the event before it")
                previous = stored
                decoded = decode_body(kind, version, body)
                first = request is not None
                evolve(board, Event(seq, actor, command_id, first, decoded, turn, key, revision, recorded_at))
        except Exception as error:
            raise self._failed(error) from error
        self.hash = previous

    def missing(self) -> IntegrityFailure:
        """The next event is not there."""
        return _missing(self.name, self.board.head + 1)

    def _failed(self, error: Exception) -> BlackboardError:
        """Say where: whatever a stored event raises, the log is at fault and nothing is served from it."""
        if isinstance(error, IntegrityFailure) and "seq" in error.members:
            return error
        seq = self.board.head + 1
        what = error.detail if isinstance(error, BlackboardError) else f"it cannot be folded ({error!r})"
        members: dict[str, Any] = {"board": self.name, "seq": seq}
        return IntegrityFailure(f"event {seq} of board {self.name!r}: {what}", members=members)


def _check_gone(kind: str, body: str | None, salt: bytes | None) -> None:
    """A redaction takes body and salt together: one without the other hides an edit."""
    if body is not None or salt is not None:
        left = "body" if salt is None else "salt"
        raise IntegrityFailure(f"it has a {left} only; body and salt are taken out together or not at all")
    _check_dispensable(kind)


def _check_dispensable(kind: str) -> None:
    """Nothing is true because of a message's words; without any other body the board would be another."""
    if kind != MessagePosted.KIND:
        raise IntegrityFailure(f"its body is gone, and what is true cannot be told without that of {kind}")


def _missing(name: str, seq: int) -> IntegrityFailure:
    return IntegrityFailure(
        f"event {seq} of board {name!r} is missing from the log", members={"board": name, "seq": seq}
    )
