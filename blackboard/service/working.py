"""The working board: the fold of one log in memory, its feed, and what is remembered beside it.

Between commits it is exactly the committed state. While a commit is under way it is ahead of it, and
nobody but that commit looks at it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Final

from blackboard.errors import BlackboardError, BoardTooNew, IntegrityFailure
from blackboard.events.envelope import GENESIS, Row, Tip, tip_of
from blackboard.events.kinds import FORMAT, WriteRejected
from blackboard.messages.idempotency import SERVER_MADE
from blackboard.projections.board import Board
from blackboard.service.context import Context
from blackboard.service.feed import Feed
from blackboard.service.keys import RecentKeys
from blackboard.service.limiter import RejectionLimiter
from blackboard.store.folding import SLICE, Fold

log = logging.getLogger("blackboard.service")

LOCK_SECONDS: Final = 1.0
"""For so long after somebody else was first, a board is locked before anything is decided."""

LOCK_LOADS: Final = 20
"""Where loading takes long, for so many times as long: each conflict without the lock costs a load."""

MICROSECONDS: Final = 1_000_000


class WorkingBoard:
    """One board, loaded when first needed and dropped at the first doubt.

    `board` is None while nothing is loaded; `tip` is the end of the log that `board` was last known to agree
    with. Feed, keys and limiter outlive a reload. `behind`: others are said to have appended since.
    """

    __slots__ = (
        "_load_seconds",
        "_lock_until",
        "_saving",
        "_snapshot_seq",
        "behind",
        "board",
        "context",
        "feed",
        "keys",
        "limiter",
        "name",
        "tip",
        "wary_until",
    )

    def __init__(self, context: Context, name: str) -> None:
        self.context = context
        self.name = name
        self.board: Board | None = None
        self.tip: Tip = GENESIS
        self.feed = Feed()
        self.keys = RecentKeys()
        self.limiter = RejectionLimiter(context.settings.rejections_per_minute)
        self.wary_until = 0
        self.behind = False
        self._load_seconds = 0.0
        self._lock_until = 0.0
        self._snapshot_seq = 0
        self._saving: asyncio.Task[None] | None = None

    async def load(self) -> Board:
        """The board at the end of its log; unopened where there is no log. Raises what the store raises."""
        if self.board is None:
            before, reached = self.tip, self.feed.head
            self.behind = False  # by what is told from now on
            started = time.monotonic()
            try:
                loaded = await self.context.store.load(self.name)
                kept = await self._kept(before)
            except BaseException:
                self.behind = True
                raise
            self._load_seconds = time.monotonic() - started
            self.context.metrics.boards_loaded += 1
            if loaded is None:
                self.board, self.tip, self._snapshot_seq = Board(), GENESIS, 0
            else:
                self.board, self.tip, self._snapshot_seq = loaded.board, loaded.tip, loaded.snapshot_seq
            if before.seq:
                self.context.metrics.foreign_events += max(0, self.tip.seq - before.seq)
            self._reached(self.tip, reached, kept=kept)
        return self.board

    async def _kept(self, before: Tip) -> bool:
        """Whether the log still holds what it did at `before`; asked only where others would miss it."""
        if not (before.seq and self.feed.followers and self.context.shared):
            return True
        return await self._hash_at(before.seq) == before.hash

    async def _hash_at(self, seq: int) -> bytes | None:
        rows = await self.context.store.rows(self.name, after=seq - 1, limit=1)
        return rows[0].hash if rows else None

    def forget(self) -> None:
        """Drop the fold; the next use loads it again."""
        self.board = None

    async def ready(self) -> bool:
        """Have a board to decide on, as far along as is known here; whether the store was asked just now.

        Raises what the store raises.
        """
        if self.board is None:
            await self.load()
        elif self.behind:
            await self.catch_up()
        else:
            return False
        return True

    async def confirmed(self) -> bool:
        """Whether nobody has appended since.

        Needed only where other processes append, before an answer that appends nothing.
        """
        if not self.context.shared:
            return True
        return (await self.context.store.tip(self.name) or GENESIS) == self.tip

    async def catch_up(self) -> int:
        """Move the board on by what others have appended; return how many events that were.

        A log that no longer holds the event that the board ends with was put back to an earlier state: the
        board is loaded anew, and its feeds end. Raises what the store raises, and, with the board dropped,
        `IntegrityFailure` where the events do not continue the log and `BoardTooNew`.
        """
        count = 0
        while True:
            assert self.board is not None
            self.behind = False  # by what is told from now on
            reached, known = self.feed.head, self.tip.seq
            rows = await self.context.store.rows(self.name, after=max(0, known - 1), limit=SLICE + 1)
            if known and not (rows and tip_of(rows[0]) == self.tip):
                await self._start_over()
                return count
            fresh = rows[1:] if known else rows
            if fresh:
                await self._take_over(self.board, fresh, reached)
                count += len(fresh)
            if len(rows) <= SLICE:
                return count

    async def _take_over(self, board: Board, rows: list[Row], reached: int) -> None:
        """Fold rows of others. `reached`: what the feed knew of before they were asked for."""
        fold = Fold(self.name, board)
        fold.hash = self.tip.hash
        try:
            fold.verify(rows)
        except BlackboardError:
            self.forget()
            raise
        if board.format > FORMAT:
            self.forget()
            await self.load()  # which says what it takes
        for row in rows:
            if row.request_digest is not None and not row.command_id.startswith(SERVER_MADE):
                self.keys.add(row.actor, row.command_id)
            if row.kind == WriteRejected.KIND:
                self.limiter.draw(row.actor, row.recorded_at)
            if row.seq > reached:
                self._note_lag(row.recorded_at)
        self.context.metrics.foreign_events += len(rows)
        self.moved_on(rows, tip_of(rows[-1]))

    async def _start_over(self) -> None:
        log.warning(
            "board %s: its log was put back to a state before event %d, or replaced; it is loaded anew",
            self.name,
            self.tip.seq,
        )
        self.forget()
        await self.load()

    async def look(self) -> None:
        """Find out, for those who follow, what others have appended.

        A board that is not in memory, or cannot be, is served from the table: how far that reaches is enough.
        """
        if self.board is not None:
            with suppress(BoardTooNew, IntegrityFailure):
                await self.catch_up()
                return
        self.behind = False
        reached = self.feed.head
        self._reached(await self.context.store.tip(self.name) or GENESIS, reached)

    def _reached(self, tip: Tip, reached: int, *, kept: bool = True) -> None:
        """The log ends with `tip`; the feed knew of `reached` events before that was asked."""
        if tip.seq < reached or not kept:
            self.feed.restart(tip.seq)
            return
        if tip.seq > reached:
            self._note_lag(tip.recorded_at)
        self.feed.advance(tip.seq)

    def _note_lag(self, recorded_at: int) -> None:
        if self.feed.followers and self.context.shared:
            late = self.context.clock() - recorded_at
            self.context.metrics.feed_lag_seconds.observe(max(0, late) / MICROSECONDS)

    def contended(self) -> None:
        """Others append to this board: lock it for the attempts of the next while."""
        if self.context.shared:
            self._lock_until = time.monotonic() + max(LOCK_SECONDS, LOCK_LOADS * self._load_seconds)

    @property
    def locking(self) -> bool:
        """Whether the board is to be locked before anything is decided."""
        return self._lock_until > 0 and time.monotonic() < self._lock_until

    def moved_on(self, rows: list[Row], tip: Tip) -> None:
        """The rows are committed, and the board is folded up to them."""
        self.tip = tip
        if rows:
            self.feed.publish(rows)

    @property
    def due(self) -> bool:
        """Whether enough has happened since the last snapshot for another one."""
        enough = self.tip.seq - self._snapshot_seq >= self.context.settings.snapshot_every
        return enough and self.board is not None and self._saving is None

    async def save(self) -> None:
        """Begin a snapshot of a committed board.

        Returns when the board's state is captured; encoding and storing go on beside later commits.
        """
        assert self.board is not None
        self._snapshot_seq = self.tip.seq
        self._saving = asyncio.create_task(self._save(self.board, self.tip))
        await asyncio.sleep(0)  # the task's first step captures; it comes before this returns

    async def _save(self, board: Board, tip: Tip) -> None:
        try:
            await self.context.store.snapshot(board, tip)
            self.context.metrics.snapshots += 1
        except BlackboardError as error:
            # A snapshot is a cache: without it the next cold start takes longer, nothing else.
            log.warning("board %s: no snapshot at %d: %s", self.name, tip.seq, error.detail)
        except Exception:
            log.exception("board %s: no snapshot at %d", self.name, tip.seq)
        finally:
            self._saving = None

    @property
    def saving(self) -> bool:
        """Whether a snapshot is on its way."""
        return self._saving is not None

    async def saved(self) -> None:
        """Wait for the snapshot on its way."""
        if self._saving is not None:
            await asyncio.wait([self._saving])
