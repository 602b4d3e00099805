"""What a store does about other processes that append where at most one does: nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from blackboard.events.envelope import Row
from blackboard.store.contract import Hear, Locked


class Alone:
    """Base of the stores that have one owner: the part of `contract.Store` that is about others."""

    def __init__(self) -> None:
        self.shared = False
        self.retries: Counter[str] = Counter()

    async def append(self, rows: Sequence[Row]) -> None:
        """See `contract.Store.append`."""
        raise NotImplementedError

    @asynccontextmanager
    async def lock(self, board: str) -> AsyncIterator[Locked]:
        """See `contract.Store.lock`: whoever may append is alone."""
        yield self

    async def listen(self, hear: Hear) -> None:
        """See `contract.Store.listen`: an owner tells nobody."""
