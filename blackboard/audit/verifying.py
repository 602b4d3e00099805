"""Whether the logs of a database are what they were: one pass over every event, on bytes before meaning.

Digests and chain, seqs, what every log's rows obey, that bodies decode and fold; every rejection, verdict and
certificate judged again on the board as it was then; snapshot and tail equal to the replay; and the root that
a checkpoint, kept elsewhere, says the log had. Works beside whoever appends: what comes meanwhile is not
looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Final, Protocol

import msgspec
from msgspec import Struct, field

from blackboard.audit.checkpoint import Checkpoint
from blackboard.audit.judging import DECIDED, Judgement, begin, judge_again, needs
from blackboard.audit.laws import REDACTED, Laws, unexplained
from blackboard.audit.merkle import Tree
from blackboard.audit.note import base64_text
from blackboard.errors import BlackboardError, IntegrityFailure, UnknownBoard
from blackboard.events.envelope import Event, Row, unseal, verify_row
from blackboard.events.kinds import FORMAT, KINDS
from blackboard.events.upcast import UPCASTERS
from blackboard.gate.case import Need
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.store.contract import Store
from blackboard.store.folding import Fold
from blackboard.store.schema import Flaw
from blackboard.store.schema.scanning import all_boards, walk

MOST_TOLD: Final = 100
"""Flaws of one board that are told one by one; the rest are counted."""


KNOWN: Final = KINDS.keys() | UPCASTERS.keys()
"""What this release can read, as (kind, version)."""


class VerifiedBoard(Struct, kw_only=True):
    """What verifying one board came to.

    `hash` is that of its last event, `root` the Merkle root over all of them, in Base64 as in a checkpoint.
    `judged` counts by kind what was judged again and is the same, `unjudged` lists what cannot be (the first
    100; `not_judged` counts them). `snapshot` is the seq of the snapshot that was compared, `checkpoints` are
    the sizes of those that hold. `flaws` are the first 100, `more` counts the others.
    """

    board: str
    head: int = 0
    hash: str = ""
    root: str = ""
    format: int = 0
    too_new: bool = False
    opaque: int = 0
    redacted: int = 0
    judged: dict[str, int] = field(default_factory=dict)
    not_judged: int = 0
    unjudged: list[Judgement] = field(default_factory=list)
    snapshot: int | None = None
    checkpoints: list[int] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)
    more: int = 0

    def add(self, flaws: Iterable[Flaw]) -> None:
        """Keep these flaws, or count them."""
        for flaw in flaws:
            if len(self.flaws) < MOST_TOLD:
                self.flaws.append(flaw)
            else:
                self.more += 1


class Verified(Struct, kw_only=True):
    """What verifying came to; `ok` where nothing is wrong."""

    ok: bool = True
    events: int = 0
    seconds: float = 0.0
    boards: list[VerifiedBoard] = field(default_factory=list)


class Entries(Protocol):
    """What judging again asks for: rows of earlier entries."""

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        """See `Store.entry`."""

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        """See `Store.entry_as_of`."""


async def verify(
    store: Store,
    url: str,
    *,
    board: str | None = None,
    checkpoints: Sequence[Checkpoint] = (),
    judge: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Verify a board, or every board of the database at `url`, which `store` is open on.

    `checkpoints` hold for the boards that they name; one that is gone is a flaw. `judge` False leaves out
    judging again. Raises `UnknownBoard`, and what the store raises where it cannot answer.
    """
    started = time.perf_counter()
    heads = await all_boards(store, url)
    kept = {one.board for one in checkpoints if one.size}
    names = sorted(heads.keys() | kept) if board is None else [board]
    if board is not None and board not in heads and board not in kept:
        raise UnknownBoard(f"there is no board {board!r} in this database: see `blackboard board list`")
    total, verified = sum(heads.get(name) or 0 for name in names), Verified()

    def advance(events: int) -> None:
        verified.events += events
        if progress is not None:
            progress(verified.events, total)

    for name in names:
        wanted = [one for one in checkpoints if one.board == name]
        verified.boards.append(
            await verify_board(store, name, heads.get(name, 0), wanted, judge=judge, advance=advance)
        )
    verified.ok = not any(one.flaws for one in verified.boards)
    verified.seconds = time.perf_counter() - started
    return verified


def _nobody(_events: int) -> None:
    """Who hears of progress where nobody asked."""


async def verify_board(
    store: Store,
    name: str,
    head: int | None,
    checkpoints: Sequence[Checkpoint] = (),
    *,
    judge: bool = True,
    advance: Callable[[int], None] = _nobody,
) -> VerifiedBoard:
    """Verify one board up to `head`; None: it is not listed, 0: there should be one.

    `advance` is told of every slice how many events it had. Raises what the store raises where it cannot
    answer; what is wrong with the log is a flaw.
    """
    replay = Replay(name, store, checkpoints, judge=judge, advance=advance)
    if head == 0 and await store.tip(name) is None:
        replay.found.add([Flaw(name, 0, f"there is no board {name!r} any more: its log was removed")])
        return replay.found
    fold, flaws = await walk(store, name, head, replay.take)
    found = replay.end(fold, flaws)
    if not flaws:
        found.add(await replay.laws.doubles(store.scan(name, through=head)))
        if not found.too_new:
            await _compare_live(store, fold.board, found)
    return found


class Replay:
    """The pass over one board's log, fed with whole commands. What it found stands in `found`."""

    def __init__(
        self,
        name: str,
        entries: Entries,
        checkpoints: Sequence[Checkpoint],
        *,
        judge: bool,
        advance: Callable[[int], None],
    ) -> None:
        self.found = VerifiedBoard(board=name)
        self.laws = Laws(name)
        self._entries = entries
        self._judging = judge
        self._advance = advance
        self._tree = Tree()
        self._checkpoints = sorted((one for one in checkpoints if one.size), key=lambda one: one.size)
        self._gone: list[int] = []
        self._redacted: set[int] = set()

    async def take(self, fold: Fold, rows: list[Row]) -> None:
        """Verify, judge and fold the next commands. Raises `IntegrityFailure` where they cannot be folded."""
        at = 0
        seen = {row[2:4] for row in rows}
        kinds = {kind for kind, _ in seen}
        if self._judging and not DECIDED.isdisjoint(kinds):
            for start, stop in _decisions(rows):
                if start > at:
                    fold.verify(rows[at:start])
                    at = start
                await self._judge(fold, rows[start:stop])
        fold.verify(rows[at:])
        self.found.add(self.laws.take(rows))
        self._gone += [row[1] for row in rows if row[11] is None]
        if not seen <= KNOWN:
            self.found.opaque += sum(row[2:4] not in KNOWN for row in rows)
        if REDACTED in kinds:
            self._redacted.update(*map(_named, rows))
        self._grow([row[14] for row in rows])
        self._advance(len(rows))

    async def _judge(self, fold: Fold, rows: Sequence[Row]) -> None:
        """Judge the last of these rows, which begin a command, on the board before them."""
        events = _decoded(rows, fold)
        if events is None:
            return
        begin(fold.board, events[0])
        wanted = needs(fold.board, events[-1])
        fetched = {need: await self._row(fold.name, need) for need in wanted}
        judgement = judge_again(fold.board, events[-1], fetched)
        self._note(judgement)

    def _note(self, judgement: Judgement) -> None:
        found, seq = self.found, judgement.seq
        if judgement.outcome == "same":
            found.judged[judgement.kind] = found.judged.get(judgement.kind, 0) + 1
        elif judgement.outcome == "different":
            what = f"event {seq} of board {found.board!r}: judged again, {judgement.detail}"
            found.add([Flaw(found.board, seq, what)])
        else:
            found.not_judged += 1
            if len(found.unjudged) < MOST_TOLD:
                found.unjudged.append(judgement)

    async def _row(self, board: str, need: Need) -> Event | None:
        if need.revision is not None:
            return await self._entries.entry(board, need.key, need.revision)
        assert need.as_of is not None
        return await self._entries.entry_as_of(board, need.key, need.as_of)

    def _grow(self, hashes: Sequence[bytes]) -> None:
        tree, waiting, at = self._tree, self._checkpoints, 0
        while waiting and waiting[0].size <= tree.size + len(hashes) - at:
            upto = at + waiting[0].size - tree.size
            tree.extend(hashes[at:upto])
            self._hold(waiting.pop(0))
            at = upto
        tree.extend(hashes[at:])

    def _hold(self, checkpoint: Checkpoint) -> None:
        """Compare a checkpoint with the log at its size."""
        found, size = self.found, checkpoint.size
        if self._tree.root() == checkpoint.root:
            found.checkpoints.append(size)
            return
        what = (
            f"events 1 to {size} of board {found.board!r} are not those of the checkpoint of size {size}: "
            "the log was changed since, and its hashes made anew"
        )
        found.add([Flaw(found.board, size, what)])

    def end(self, fold: Fold, flaws: Sequence[Flaw]) -> VerifiedBoard:
        """What was found, once every row was taken that there is, or up to the flaw that ended it."""
        found, board, head = self.found, fold.board, self._tree.size
        found.add(flaws)
        found.add(unexplained(found.board, self._gone, self._redacted))
        if not flaws:
            found.add(self._cut_off(head, checkpoint) for checkpoint in self._checkpoints)
        found.head, found.hash, found.root = head, fold.hash.hex(), base64_text(self._tree.root())
        found.format, found.too_new, found.redacted = board.format, board.format > FORMAT, len(self._gone)
        return found

    def _cut_off(self, head: int, checkpoint: Checkpoint) -> Flaw:
        what = (
            f"the checkpoint of board {self.found.board!r} has size {checkpoint.size}, and the log ends with "
            f"event {head}: it was cut off or put back"
        )
        return Flaw(self.found.board, head + 1, what)


def _decisions(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Where in these rows the gate's decisions stand: the place of their command, and that behind them."""
    start = 0
    for at, row in enumerate(rows):
        if row[7] is not None:
            start = at
        if row[2] in DECIDED:
            yield start, at + 1


def _decoded(rows: Sequence[Row], fold: Fold) -> list[Event] | None:
    """The events of rows that continue what is folded; None where they do not: folding them says why."""
    previous, seq = fold.hash, fold.board.head
    events: list[Event] = []
    with suppress(Exception):
        for row in rows:
            seq += 1
            if row.seq != seq or not verify_row(row, previous):
                return None
            previous = row.hash
            events.append(unseal(row))
        return events
    return None


def _named(row: Row) -> set[int]:
    """The seqs that a redaction names, which operators alone record; none for other events."""
    if row.kind != REDACTED or not row.actor.startswith("operator:"):
        return set()
    with suppress(msgspec.MsgspecError):
        named = msgspec.json.decode(row.body or "", type=_Redacted)
        return {seq for seq in named.seqs if seq < row.seq}
    return set()


class _Redacted(Struct):
    seqs: list[int]


async def _compare_live(store: Store, replayed: Board, found: VerifiedBoard) -> None:
    """Hold what readers get, a snapshot and the tail behind it, against what the log replays to."""
    if not await store.saved(found.board, snapshot.FINGERPRINT, found.head):
        return
    try:
        loaded = await store.load(found.board, found.head)
    except IntegrityFailure as error:
        found.add([Flaw(found.board, error.members.get("seq", found.head), error.detail)])
        return
    except BlackboardError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a stored snapshot raises, it is at fault
        what = f"the snapshot of board {found.board!r} makes no board: {error!r}"
        found.add([Flaw(found.board, found.head, what)])
        return
    assert loaded is not None
    if loaded.snapshot_seq:
        found.snapshot = loaded.snapshot_seq
        if not _alike(loaded.board, replayed):
            what = (
                f"the snapshot of board {found.board!r} at event {loaded.snapshot_seq} and what comes behind "
                "it are not what the log replays to: readers are served another board"
            )
            found.add([Flaw(found.board, loaded.snapshot_seq, what)])


def _alike(one: Board, other: Board) -> bool:
    slices = zip_longest(snapshot.encode(snapshot.capture(one)), snapshot.encode(snapshot.capture(other)))
    return all(first == second for first, second in slices)
