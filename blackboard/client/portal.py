"""How threads without an event loop call the async client: a loop in a thread of its own.

One loop serves all HTTP boards of the process. Embedded boards use the loop of their database instead,
where the board lives anyway: no second hop.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, Final, Generic, Protocol, TypeVar

from blackboard.errors import Unavailable
from blackboard.loops import run_to_the_end

__all__ = ["LoopThread", "Portal", "iterate", "run", "shared_loop"]

T = TypeVar("T")
_CLOSING_SECONDS: Final = 2.0


class Portal(Protocol):
    """A loop in another thread."""

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` on the loop."""


class LoopThread:
    """A loop in a daemon thread: a process that forgets to close ends all the same."""

    def __init__(self) -> None:
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="blackboard-client", daemon=True)
        self._thread.start()
        self.loop = self._ready.result()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` on the loop. Raises `RuntimeError` once the loop has ended."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self) -> None:
        """End the loop and what still runs on it; returns within two seconds. Idempotent."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_CLOSING_SECONDS)

    def _serve(self) -> None:
        run_to_the_end(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()


class _Shared:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self.exiting = False
        atexit.register(self._close)

    def get(self) -> LoopThread:
        with self._lock:
            if self._thread is None:
                self._thread = LoopThread()
            return self._thread

    def forget(self) -> None:
        """In a forked child: threads do not survive a fork."""
        self._lock = threading.Lock()
        self._thread = None

    def _close(self) -> None:
        self.exiting = True
        if self._thread is not None:
            self._thread.close()


_shared = _Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.forget)


def shared_loop() -> LoopThread:
    """The loop that all synchronous HTTP boards of this process share, started at its first use."""
    return _shared.get()


def run(portal: Portal, work: Coroutine[Any, Any, T]) -> T:
    """Wait for `work`, done on the portal's loop. An interrupt ends the wait and cancels the work."""
    try:
        future = portal.submit(work)
    except BaseException:
        work.close()
        _park_at_exit()
        raise
    try:
        return future.result()
    except BaseException:
        future.cancel()
        _park_at_exit()
        raise


def _park_at_exit() -> None:
    """Keep a daemon thread that still works at exit: nobody is left whom its failure could be told."""
    if _shared.exiting and threading.current_thread() is not threading.main_thread():
        threading.Event().wait()


def iterate(portal: Portal, source: AsyncGenerator[T, None]) -> Iterator[T]:
    """The items of `source` as a plain iterator. Left early, it closes the source without waiting."""
    steps = _Steps(source)
    try:
        while (item := run(portal, steps.next())) is not None:
            yield item[0]
    finally:
        # Not waited for: a forgotten iterator is closed by the collector, in whatever thread that runs.
        closing = steps.close()
        try:
            portal.submit(closing)
        except (Unavailable, RuntimeError):  # the loop has ended, and the source with it
            closing.close()


class _Steps(Generic[T]):
    def __init__(self, source: AsyncGenerator[T, None]) -> None:
        self._source = source
        self._task: asyncio.Task[Any] | None = None

    async def next(self) -> tuple[T] | None:
        self._task = asyncio.current_task()
        async for item in self._source:
            return (item,)
        return None

    async def close(self) -> None:
        """Closes the source, in the middle of a step too: an interrupt leaves one behind."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._source.aclose()
