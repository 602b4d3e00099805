"""The working board: the fold of one log in memory, its feed, and what is remembered beside it.

Between commits it is exactly the committed state. While a commit is under way it is ahead of it, and
nobody but that commit looks at it.
"""

from __future__ import annotations

import asyncio
import logging

from blackboard.errors import BlackboardError
from blackboard.events.envelope import GENESIS, Row, Tip
from blackboard.projections.board import Board
from blackboard.service.context import Context
from blackboard.service.feed import Feed
from blackboard.service.keys import RecentKeys
from blackboard.service.limiter import RejectionLimiter
from blackboard.store.contract import SeqTaken

log = logging.getLogger("blackboard.service")


class WorkingBoard:
    """One board, loaded when first needed and dropped at the first doubt.

    `board` is None while nothing is loaded; `tip` is the end of the log that `board` was last known to agree
    with. Feed, keys and limiter outlive a reload.
    """

    __slots__ = (
        "_saving",
        "_snapshot_seq",
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
        self._snapshot_seq = 0
        self._saving: asyncio.Task[None] | None = None

    async def load(self) -> Board:
        """The board at the end of its log; unopened where there is no log. Raises what the store raises."""
        if self.board is None:
            loaded = await self.context.store.load(self.name)
            self.context.metrics.boards_loaded += 1
            if loaded is None:
                self.board, self.tip, self._snapshot_seq = Board(), GENESIS, 0
            else:
                self.board, self.tip, self._snapshot_seq = loaded.board, loaded.tip, loaded.snapshot_seq
            self.feed.advance(self.tip.seq)
        return self.board

    def forget(self) -> None:
        """Drop the fold; the next use loads it again."""
        self.board = None

    async def confirm(self) -> None:
        """Make sure that nobody has appended since. Raises `SeqTaken` where somebody has.

        Needed only where other processes append, before an answer that appends nothing.
        """
        if self.context.shared and (await self.context.store.tip(self.name) or GENESIS) != self.tip:
            raise SeqTaken

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
