"""The live feed of one board: the newest committed rows, and a bell.

A follower holds nothing but the seq it has got to. While it keeps up it is served from the ring, which all
followers share; one that falls behind the ring reads the table, in slices, until it has caught up. So a slow
follower costs no memory and never holds up a writer, and no row is missed or seen twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from blackboard.events.envelope import Row

RING_ROWS = 2048
"""How far a follower may lag before it reads the table."""


class CaughtUp:
    """Stands in a feed where the follower has got everything that there was; what comes next is live."""

    __slots__ = ("head",)

    def __init__(self, head: int) -> None:
        self.head = head

    def __repr__(self) -> str:
        return f"CaughtUp(head={self.head})"


class Feed:
    """The end of one board's log, for those who follow it.

    `log` counts the logs that this was the end of: one more each time that the log turns out to be another.
    """

    __slots__ = ("_bell", "_ring", "closed", "followers", "head", "log")

    def __init__(self) -> None:
        self.followers = 0
        self.head = 0
        self.log = 1
        self.closed = False
        self._ring: list[Row] = []
        self._bell = asyncio.Event()

    def publish(self, rows: Sequence[Row]) -> None:
        """These rows are committed."""
        ring = self._ring
        if self.followers:
            if ring and ring[-1].seq != rows[0].seq - 1:
                ring.clear()
            ring.extend(rows)
            if len(ring) > 2 * RING_ROWS:
                del ring[:-RING_ROWS]
        self._reach(rows[-1].seq)

    def advance(self, head: int) -> None:
        """The log is known to reach `head`; what is not in the ring is in the table."""
        self._reach(head)

    def restart(self, head: int) -> None:
        """The log is no longer the one that it was, and reaches `head`: what was followed has ended."""
        self.log += 1
        self.head = head
        self._ring.clear()
        self._wake()

    def _reach(self, head: int) -> None:
        self.head = max(self.head, head)
        if not self.followers:
            return
        if self._ring and self._ring[-1].seq != self.head:
            self._ring.clear()
        self._wake()

    def after(self, seq: int) -> list[Row] | None:
        """The rows after `seq`, from memory; None where the table has to be read."""
        missing = self.head - seq
        if missing <= 0:
            return []
        return self._ring[-missing:] if missing <= len(self._ring) else None

    async def more(self, seq: int) -> None:
        """Wait until there is something after `seq`, or the feed has ended or is that of another log."""
        log = self.log
        while self.head <= seq and not self.closed and self.log == log:
            await self._bell.wait()

    def join(self) -> None:
        """One more follower."""
        self.followers += 1

    def leave(self) -> None:
        """One follower less; without any, nothing is kept."""
        self.followers -= 1
        if not self.followers:
            self._ring.clear()

    def close(self) -> None:
        """End every follower, once it has got what was published."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        # Those who wait now are woken; those who come later wait for the next ring.
        self._bell.set()
        self._bell.clear()
