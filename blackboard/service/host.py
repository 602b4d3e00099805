"""One thread with a loop, a store and a service: what a runtime runs in, and how work gets in and out."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.loops import run_to_the_end
from blackboard.messages.commands import Command
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply
from blackboard.service.service import Service
from blackboard.store import open_store

T = TypeVar("T")
log = logging.getLogger("blackboard.service")

_threads: set[int] = set()


def in_a_host() -> bool:
    """Whether this is the thread of some host, which must never wait for one."""
    return threading.get_ident() in _threads


class Host:
    """A daemon thread that serves one database.

    `references` and `stopping` belong to whoever keeps the hosts, under its lock.
    """

    def __init__(self, name: str, url: str, settings: Settings) -> None:
        self.name = name
        self.references = 0
        self.stopping = False
        self.opened: concurrent.futures.Future[Service] = concurrent.futures.Future()
        self.closed: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.loop: asyncio.AbstractEventLoop
        self._url = url
        self._settings = settings
        self._stop: asyncio.Event
        self._forked = False
        self._open = True
        self._door = threading.RLock()  # reentrant: a finalizer may hand in work in the middle of this
        self._tasks: set[asyncio.Future[Any]] = set()

    def start(self) -> None:
        """Start the thread; `opened` tells when the service is there, or why not."""
        threading.Thread(target=self._run, name=f"blackboard-{self.name}", daemon=True).start()

    def stop(self) -> None:
        """Finish what was taken, then close. Does not wait."""
        if not self._forked:
            with suppress(RuntimeError):  # its loop has ended already
                self.loop.call_soon_threadsafe(self._stop.set)

    def wait(self, seconds: float) -> None:
        """Wait until it is closed, at most so long."""
        if not self._forked:
            concurrent.futures.wait([self.closed], timeout=seconds)

    def forked(self) -> None:
        """This is the child of a fork: thread and database are the parent's."""
        self._forked = True

    def do(self, work: Awaitable[T], then: Callable[[asyncio.Future[T]], None]) -> None:
        """Do `work` in the loop, and call `then` there with the task when it is done.

        Raises `Unavailable` where the host has closed or was the parent's; `work` is closed then.
        """
        try:
            self._post(self._start, work, then)
        except Unavailable:
            if asyncio.iscoroutine(work):
                work.close()
            raise

    def submit(
        self, asked: tuple[str, Principal, Command | Prepared, Call], future: asyncio.Future[Reply]
    ) -> None:
        """Submit a command; its outcome goes to a future of the running loop. Raises `Unavailable`."""
        self._post(_Waiting(asyncio.get_running_loop(), future).begin, self.opened.result(), asked)

    def _post(self, callback: Callable[..., None], *arguments: Any) -> None:
        # What gets through the door before it closes is done; nothing is dropped with the loop.
        if self._forked:
            raise Unavailable(
                "this board was connected before the process forked, and its database belongs to the parent: "
                "connect in the child, to a server where both are to use one database"
            )
        with self._door:
            if not self._open:
                raise Unavailable("this board is closed; connect again")
            self.loop.call_soon_threadsafe(callback, *arguments)

    def _start(self, work: Awaitable[T], then: Callable[[asyncio.Future[T]], None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(then)

    def _run(self) -> None:
        _threads.add(threading.get_ident())
        try:
            run_to_the_end(self._serve(), _new_loop)
        except Exception:
            log.exception("%s could not be closed in order", self.name)
        finally:
            _threads.discard(threading.get_ident())
            self._open = False
            self.closed.set_result(None)

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            store = await open_store(self._url, self._settings)
        except Exception as error:  # noqa: BLE001 - raised where it was asked for
            self.stopping = True
            self.opened.set_exception(error)
            return
        try:
            store.commits_in_loop = True  # this loop serves one database, which commits one batch at a time
            service = Service(store, self._settings, auto_open=self._settings.auto_open is not False)
            self.opened.set_result(service)
            await self._stop.wait()
            await service.close()
            await self._close_door()
        finally:
            await store.close()

    async def _close_door(self) -> None:
        """Take no more work, and see what was taken to its end: the service refuses what is late."""
        with self._door:
            self._open = False
        await asyncio.sleep(0)  # what was handed in before is ahead of this in the loop's queue
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._settings.shutdown_seconds)


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - absent on some platforms
    except ImportError:
        return asyncio.new_event_loop()
    return cast(asyncio.AbstractEventLoop, uvloop.new_event_loop())


def hand_over(done: asyncio.Future[T], loop: asyncio.AbstractEventLoop, future: asyncio.Future[T]) -> None:
    """Give the outcome of a task that is done here to a future of another loop."""
    try:
        loop.call_soon_threadsafe(finish, done, future)
    except RuntimeError:  # its loop has ended, and with it whoever waited
        finish(done, concurrent.futures.Future())


def finish(done: asyncio.Future[T], future: asyncio.Future[T] | concurrent.futures.Future[T]) -> None:
    """Give the outcome of a task that is done to a future, unless nobody waits for it any more."""
    error = Unavailable("the runtime stopped before this was done") if done.cancelled() else done.exception()
    if future.done() or (
        isinstance(future, concurrent.futures.Future) and not future.set_running_or_notify_cancel()
    ):
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())


class _Waiting:
    """A future of another loop, in the hands of this one."""

    __slots__ = ("_future", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[Reply]) -> None:
        self._loop = loop
        self._future = future

    def begin(self, service: Service, asked: tuple[str, Principal, Command | Prepared, Call]) -> None:
        """Submit the command, in the service's loop."""
        try:
            service.submit(*asked, self)
        except Exception as error:  # noqa: BLE001 - raised where it was asked for
            self.set_exception(error)

    def done(self) -> bool:
        """Whether nobody waits any more; it may be out of date."""
        return self._future.done()

    def set_result(self, reply: Reply) -> None:
        """Give the reply to whoever waits."""
        self._give(self._future.set_result, reply)

    def set_exception(self, error: BaseException) -> None:
        """Raise the error where somebody waits."""
        self._give(self._future.set_exception, error)

    def _give(self, setter: Callable[[Any], None], outcome: Reply | BaseException) -> None:
        with suppress(RuntimeError):  # its loop has ended, and with it whoever waited
            self._loop.call_soon_threadsafe(self._set, setter, outcome)

    def _set(self, setter: Callable[[Any], None], outcome: Reply | BaseException) -> None:
        if not self._future.done():
            setter(outcome)
