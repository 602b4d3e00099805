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
import os
import threading
import time
from collections.abc import Awaitable
from typing import Final, TypeVar

from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.messages.commands import Command
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply
from blackboard.service.host import Host, finish, hand_over, in_a_host
from blackboard.service.service import NO_CALL, Service
from blackboard.store import identity

T = TypeVar("T")

EXIT_SECONDS: Final = 5.0
"""How long the interpreter waits at exit for what is still to be finished."""


class Runtime:
    """One hold on the runtime of a database; any thread and any event loop may use it.

    `service` lives in `loop`: reach it through `execute`, `call` or `submit` only. They raise `Unavailable`
    in a forked child, or where the runtime has closed.
    """

    __slots__ = ("_host", "_released", "loop", "service")

    def __init__(self, host: Host, service: Service) -> None:
        self._host = host
        self._released = False
        self.service = service
        self.loop = host.loop

    def submit(self, work: Awaitable[T]) -> concurrent.futures.Future[T]:
        """Do `work` in the runtime's loop. Cancelling the future abandons the wait, not the work."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._host.do(work, lambda done: finish(done, future))
        return future

    async def call(self, work: Awaitable[T]) -> T:
        """Do `work` in the runtime's loop and wait for it in this one: the same, by the shortest way."""
        here = asyncio.get_running_loop()
        future: asyncio.Future[T] = here.create_future()
        self._host.do(work, lambda done: hand_over(done, here, future))
        return await future

    async def execute(
        self, board: str, principal: Principal, command: Command | Prepared, call: Call = NO_CALL
    ) -> Reply:
        """`Service.execute` from any loop, by the shortest way there and back: no task, one hop each."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._host.submit((board, principal, command, call), future)
        return await future

    def release(self) -> None:
        """Let go. The last one to do so waits until everything taken is finished and the database closed.

        Idempotent; may be called anywhere, by a finalizer too.
        """
        with _lock:
            if self._released:
                return
            self._released = True
            self._host.references -= 1
            last = self._host.stopping = self._host.references == 0
        if last:
            self._host.stop()
            if not in_a_host():
                self._host.wait(self.service.settings.shutdown_seconds)
                _forget(self._host)


def acquire(url: str, settings: Settings) -> Runtime:
    """Hold the runtime of the database at `url`, opening it where nobody else has.

    Blocks until it is open; the settings of the first to come hold. Raises what opening the store raises.
    """
    name = identity(url)
    while True:
        with _lock:
            host = _hosts.get(name)
            if host is None or host.closed.done():
                host = _hosts[name] = Host(name, url, settings)
                host.start()
            closing = host.stopping
            host.references += not closing
        if not closing:
            return Runtime(host, host.opened.result())
        host.wait(settings.shutdown_seconds)
        if not host.closed.done():
            raise Unavailable(f"{name} is still being closed in this process; try again in a moment")


def _forget(host: Host) -> None:
    with _lock:
        if host.closed.done() and _hosts.get(host.name) is host:
            del _hosts[host.name]


_lock = threading.RLock()  # reentrant: a finalizer may release in the middle of an acquire
_hosts: dict[str, Host] = {}
_of_the_parent: list[Host] = []


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


atexit.register(_finish_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
