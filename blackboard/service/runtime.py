"""The embedded runtime: one thread and one loop per database, for all threads and loops of the process.

Whoever connects to the same database shares one store and one set of live boards. Work hops into the
runtime's loop and its result hops out; a caller that stops waiting stops nothing.

The thread is a daemon: a connection that is never closed does not keep the interpreter alive. What was taken
is finished at exit, within a bound. After a fork the child's connections refuse to work: the database belongs
to the parent.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.messages.commands import Command
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply
from blackboard.service.service import NO_CALL, Service
from blackboard.store import identity, open_store

T = TypeVar("T")
log = logging.getLogger("blackboard.service")

EXIT_SECONDS: Final = 5.0
"""How long the interpreter waits at exit for what is still to be finished."""


class Runtime:
    """One hold on the runtime of a database; any thread and any event loop may use it.

    `service` lives in `loop`: reach it through `submit` or `call` only.
    """

    __slots__ = ("_host", "_released", "loop", "service")

    def __init__(self, host: _Host, service: Service) -> None:
        self._host = host
        self._released = False
        self.service = service
        self.loop = host.loop

    def submit(self, work: Awaitable[T]) -> concurrent.futures.Future[T]:
        """Do `work` in the runtime's loop. Cancelling the future abandons the wait, not the work.

        Raises `Unavailable` in a forked child, or where the runtime has closed.
        """
        self._check(work)
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.loop.call_soon_threadsafe(_start, work, lambda done: _finish(done, future))
        return future

    async def call(self, work: Awaitable[T]) -> T:
        """Do `work` in the runtime's loop and wait for it in this one: the same, by the shortest way."""
        self._check(work)
        here = asyncio.get_running_loop()
        future: asyncio.Future[T] = here.create_future()
        self.loop.call_soon_threadsafe(_start, work, lambda done: _hand_over(done, here, future))
        return await future

    async def execute(
        self, board: str, principal: Principal, command: Command | Prepared, call: Call = NO_CALL
    ) -> Reply:
        """`Service.execute` from any loop, by the shortest way there and back: no task, one hop each.

        Raises what `Service.execute` raises, and what `submit` does.
        """
        self._host.check()
        here = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = here.create_future()
        waiting = _Waiting(here, future)
        self.loop.call_soon_threadsafe(waiting.begin, self.service, (board, principal, command, call))
        return await future

    def _check(self, work: Awaitable[Any]) -> None:
        try:
            self._host.check()
        except Unavailable:
            if asyncio.iscoroutine(work):
                work.close()
            raise

    def release(self) -> None:
        """Let go. The last one to do so waits until everything taken is finished and the database closed.

        Idempotent; may be called anywhere, by a finalizer too.
        """
        with _lock:
            if self._released:
                return
            self._released = True
            self._host.references -= 1
            last = self._host.references == 0
        if last:
            self._host.stop()
            if not _in_a_runtime():
                self._host.wait(self.service.settings.shutdown_seconds)


def acquire(url: str, settings: Settings) -> Runtime:
    """Hold the runtime of the database at `url`, opening it where nobody else has.

    Blocks until it is open; the settings of the first to come hold. Raises what opening the store raises.
    """
    name = identity(url)
    while True:
        with _lock:
            host = _hosts.get(name)
            if host is None or host.closed.done():
                host = _hosts[name] = _Host(name, url, settings)
                host.start()
            closing = host.stopping
            host.references += not closing
        if not closing:
            return Runtime(host, host.opened.result())
        host.wait(settings.shutdown_seconds)
        if not host.closed.done():
            raise Unavailable(f"{name} is still being closed in this process; try again in a moment")


class _Waiting:
    """The future of another loop, in the hands of this one."""

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


def _start(work: Awaitable[T], then: Callable[[asyncio.Future[T]], None]) -> None:
    asyncio.ensure_future(work).add_done_callback(then)


def _hand_over(done: asyncio.Future[T], loop: asyncio.AbstractEventLoop, future: asyncio.Future[T]) -> None:
    try:
        loop.call_soon_threadsafe(_finish, done, future)
    except RuntimeError:  # its loop has ended, and with it whoever waited
        _finish(done, concurrent.futures.Future())


def _finish(done: asyncio.Future[T], future: asyncio.Future[T] | concurrent.futures.Future[T]) -> None:
    error = Unavailable("the runtime stopped before this was done") if done.cancelled() else done.exception()
    if future.done() or (
        isinstance(future, concurrent.futures.Future) and not future.set_running_or_notify_cancel()
    ):
        return  # nobody waits for it any more
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())


class _Host:
    """A thread with a loop, a store and a service."""

    def __init__(self, name: str, url: str, settings: Settings) -> None:
        self.name = name
        self.references = 0
        self.stopping = False
        self.opened: concurrent.futures.Future[Service] = concurrent.futures.Future()
        self.closed: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._forked = False
        self._settings = settings
        self._url = url
        self._stop: asyncio.Event
        self.loop: asyncio.AbstractEventLoop

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"blackboard-{self.name}", daemon=True).start()

    def check(self) -> None:
        """Raise `Unavailable` where this cannot work any more."""
        if self._forked:
            raise Unavailable(
                "this board was connected before the process forked, and its database belongs to the parent: "
                "connect in the child, to a server where both are to use one database"
            )
        if self.closed.done():
            raise Unavailable("this board is closed; connect again")

    def stop(self) -> None:
        """Finish what was taken, then close. Does not wait."""
        with _lock:
            self.stopping = True
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

    def _run(self) -> None:
        _runtime_threads.add(threading.get_ident())
        try:
            with asyncio.Runner(loop_factory=_new_loop) as runner:
                runner.run(self._serve())
        except Exception:
            log.exception("%s could not be closed in order", self.name)
        finally:
            _runtime_threads.discard(threading.get_ident())
            self.closed.set_result(None)

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            store = await open_store(self._url, self._settings)
            store.commits_in_loop = True  # this loop serves one database, which commits one batch at a time
        except Exception as error:  # noqa: BLE001 - raised where it was asked for, in `acquire`
            self.stopping = True
            self.opened.set_exception(error)
            return
        try:
            service = Service(store, self._settings, auto_open=self._settings.auto_open is not False)
            self.opened.set_result(service)
            await self._stop.wait()
            await service.close()
        finally:
            await store.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - absent on some platforms
    except ImportError:
        return asyncio.new_event_loop()
    return cast(asyncio.AbstractEventLoop, uvloop.new_event_loop())


_lock = threading.RLock()  # reentrant: a finalizer may release in the middle of an acquire
_hosts: dict[str, _Host] = {}
_runtime_threads: set[int] = set()
_of_the_parent: list[_Host] = []


def _in_a_runtime() -> bool:
    """Whether this is the thread of some runtime, which must never wait for one."""
    return threading.get_ident() in _runtime_threads


def _finish_at_exit() -> None:
    until = time.monotonic() + EXIT_SECONDS
    with _lock:
        hosts = [host for host in _hosts.values() if host.opened.done() and not host.closed.done()]
    for host in hosts:
        host.stop()
    for host in hosts:
        host.wait(max(0.0, until - time.monotonic()))


def _after_fork() -> None:
    # Kept, so that nothing of theirs is ever finalized here: loops and connections are the parent's.
    global _lock  # noqa: PLW0603 - the parent's may have been held when it forked
    _lock = threading.RLock()
    for host in _hosts.values():
        host.forked()
    _of_the_parent.extend(_hosts.values())
    _hosts.clear()
    _runtime_threads.clear()


atexit.register(_finish_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
