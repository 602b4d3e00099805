"""Hearing of what other processes append to the same database.

The store passes on hints, which may be late, doubled or lost; whatever they say, followed boards are looked
at again and again. So a hint decides when something is seen, never whether.
"""

from __future__ import annotations

import asyncio
import logging

from blackboard.errors import BlackboardError
from blackboard.service.cache import Cache
from blackboard.service.context import Context

log = logging.getLogger("blackboard.service")


class Watcher:
    """The ear of one service; nothing where nobody else appends."""

    __slots__ = ("_cache", "_closed", "_context", "_tasks")

    def __init__(self, context: Context, cache: Cache) -> None:
        self._context = context
        self._cache = cache
        self._closed = False
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to hear, in the running loop. Idempotent."""
        if self._context.shared and not self._tasks:
            self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._poll())]

    async def close(self) -> None:
        """Hear nothing more. Idempotent."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _listen(self) -> None:
        """Ask the store for hints until it gives them; from then on it sees to it itself."""
        while True:
            try:
                await self._context.store.listen(self._hear)
            except BlackboardError as error:
                log.warning("no hints of what others append, only looking: %s", error.detail)
            except Exception:
                log.exception("no hints of what others append, only looking")
            else:
                self._hear(None)  # what was appended before this has been told to nobody
                return
            await asyncio.sleep(self._context.settings.poll_seconds)

    def _hear(self, board: str | None) -> None:
        if self._closed:
            return  # the store may go on telling
        if board is None:
            for live in self._cache.all():
                live.hear()
        elif (heard := self._cache.find(board)) is not None:
            heard.hear()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._context.settings.poll_seconds)
            for live in self._cache.all():
                if live.followed:
                    live.hear()
