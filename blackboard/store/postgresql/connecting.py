"""How connections to the server are made, and how they are shared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

import asyncpg

from blackboard.config import Settings
from blackboard.store.postgresql.address import Address
from blackboard.store.postgresql.faults import DRIVER_ERRORS, closed, lost
from blackboard.store.postgresql.reaching import reach

P = ParamSpec("P")
T = TypeVar("T")

Connection: TypeAlias = asyncpg.Connection
Purpose = Literal["write", "read", "listen"]

APPLICATION = "blackboard"
CACHED_STATEMENTS = 256

GRACE_SECONDS = 5.0
"""The server ends a statement that takes too long; so much later we give up waiting for a server that
says nothing at all."""


BY_KEY = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
"""Every statement goes by a key, in the key's order. A plan is kept with its connection: one that was right
for a small table would still be used when the table has grown a thousandfold."""


async def connect(address: Address, settings: Settings, purpose: Purpose) -> Connection:
    """A connection of its own. Raises as `reach`."""
    return await reach(
        address,
        timeout=settings.connect_seconds,
        command_timeout=settings.statement_timeout_seconds + GRACE_SECONDS,
        statement_cache_size=CACHED_STATEMENTS,
        max_cached_statement_lifetime=0,
        server_settings=session(settings, purpose),
    )


def session(settings: Settings, purpose: Purpose) -> dict[str, str]:
    """What holds for a connection, whatever the server's or the user's defaults are."""
    chosen = {
        "application_name": f"{APPLICATION} {purpose}",
        "default_transaction_isolation": settings.isolation.replace("-", " "),
        "default_transaction_read_only": "on" if purpose == "read" else "off",
        "statement_timeout": _milliseconds(settings.statement_timeout_seconds),
        "idle_in_transaction_session_timeout": _milliseconds(settings.idle_in_transaction_seconds),
    }
    chosen |= BY_KEY
    if settings.durability == "normal":
        chosen["synchronous_commit"] = "off"
    return chosen


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(seconds * 1_000)))


class Pool:
    """Connections for one purpose, made when they are needed and kept.

    What is asked for runs to its end in a task of its own: a caller who stops waiting neither cancels a
    statement nor leaves a connection half way through one. A connection is not reset between uses, which
    would cost a round trip: nobody leaves anything behind in it.
    """

    def __init__(self, address: Address, settings: Settings, purpose: Purpose, size: int) -> None:
        self.size = size
        self._address = address
        self._settings = settings
        self._purpose: Purpose = purpose
        self._places = asyncio.Semaphore(size)
        self._idle: list[Connection] = []
        self._running: set[asyncio.Task[Any]] = set()
        self._used = 0
        self._closed = False
        self._ended = False

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._idle) + self._used

    async def run(
        self,
        work: Callable[Concatenate[Connection, P], Awaitable[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call `work(connection, ...)` when a connection is free. Raises the driver's errors as they are, and
        `Unavailable` where no connection can be had: then nothing was sent.
        """
        self._check_open()
        return await asyncio.shield(self.spawn(self._run(work, *args, **kwargs)))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something to its end, whoever waits for it; `close` does."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _run(
        self,
        work: Callable[Concatenate[Connection, P], Awaitable[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        connection = await self._borrow()
        try:
            return await work(connection, *args, **kwargs)
        except BaseException as error:
            self.judge(connection, error)
            raise
        finally:
            self.give_back(connection)

    async def borrow(self) -> Connection:
        """A connection that is as good as can be known, to be given back. Raises `Unavailable`."""
        self._check_open()
        return await self._borrow()

    async def _borrow(self) -> Connection:
        await self._places.acquire()
        try:
            connection = await self._taken()
        except BaseException:
            self._places.release()
            raise
        self._used += 1
        return connection

    async def _taken(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return await connect(self._address, self._settings, self._purpose)

    def give_back(self, connection: Connection) -> None:
        """Keep the connection for the next one, if it is in order."""
        self._used -= 1
        self._places.release()
        if connection.is_closed():
            return
        if self._ended or connection.is_in_transaction():
            connection.terminate()
        else:
            self._idle.append(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise closed(self._address.shown)

    def judge(self, connection: Connection, error: BaseException) -> None:
        """End a connection that an error has shown to be dead, and those that lie idle: it is likely that
        they are dead as well, and better that nobody finds that out.
        """
        if lost(error):
            connection.terminate()
            idle, self._idle = self._idle, []
            for other in idle:
                other.terminate()

    async def close(self) -> None:
        """Finish what was asked for, then close the connections. Idempotent."""
        self._closed = True
        while self._running:
            await asyncio.wait(self._running)
        self._ended = True
        idle, self._idle = self._idle, []
        for connection in idle:
            await shut(connection)


async def shut(connection: Connection) -> None:
    """Close a connection, gently where the server still answers."""
    try:
        await connection.close(timeout=GRACE_SECONDS)
    except DRIVER_ERRORS:
        connection.terminate()
