"""The boards that are in memory: a bounded number, least recently used first to go.

A board that is at work, followed or being saved stays, so that there may be more of them for a while; an
evicted one is loaded again as it was.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from blackboard import canonical
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.service.context import Context
from blackboard.service.live import LiveBoard


def check_name(board: str) -> None:
    """Accept what a board may be called. Raises `Malformed`."""
    canonical.check_identifier(board, member="board", max_bytes=DEFAULT_LIMITS.identifier_bytes)


class Cache:
    """Live boards by name."""

    __slots__ = ("_boards", "_context", "_sweep")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._boards: OrderedDict[str, LiveBoard] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def get(self, name: str) -> LiveBoard:
        """The live board of this name; nothing is loaded yet where it is new. Raises `Malformed`."""
        live = self._boards.get(name)
        if live is not None:
            self._context.metrics.cache_hits += 1
            self._boards.move_to_end(name)
        else:
            check_name(name)
            self._context.metrics.cache_misses += 1
            live = self._boards[name] = LiveBoard(self._context, name, self.release)
            self._context.metrics.live_boards = len(self._boards)
        now = time.monotonic()
        if self._context.shared and now - live.used > self._context.settings.poll_seconds:
            live.working.behind = True  # unused for long: others may have appended, untold
        live.used = now
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._pace, self._evict_idle)
        return live

    def find(self, name: str) -> LiveBoard | None:
        """The live board of this name, where there is one; it counts as no use of it."""
        return self._boards.get(name)

    def all(self) -> list[LiveBoard]:
        """Every live board."""
        return list(self._boards.values())

    def close(self) -> None:
        """Let go of every board."""
        if self._sweep is not None:
            self._sweep.cancel()
        self._boards.clear()

    @property
    def _pace(self) -> float:
        return max(0.05, self._context.settings.idle_board_seconds / 4)

    def release(self, live: LiveBoard) -> None:
        """A board has finished its work: one that does not exist is no reason to forget one that does."""
        if not live.opened and not live.busy and self._boards.get(live.name) is live:
            del self._boards[live.name]
            self._context.metrics.live_boards = len(self._boards)
        if len(self._boards) > self._context.settings.live_boards:
            self._shrink()

    def _shrink(self) -> None:
        surplus = len(self._boards) - self._context.settings.live_boards
        self._evict([live for live in self._boards.values() if not live.busy][:surplus])

    def _evict_idle(self) -> None:
        before = time.monotonic() - self._context.settings.idle_board_seconds
        self._evict([live for live in self._boards.values() if live.used <= before and not live.busy])
        self._sweep = None
        if self._boards:
            self._sweep = asyncio.get_running_loop().call_later(self._pace, self._evict_idle)

    def _evict(self, boards: list[LiveBoard]) -> None:
        for live in boards:
            del self._boards[live.name]
        self._context.metrics.boards_evicted += len(boards)
        self._context.metrics.live_boards = len(self._boards)
