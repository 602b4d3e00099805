"""One SQLite connection and its thread, and the lane that keeps one usable.

A thread hop costs more than all else around a commit (about 30 us when warm, 100 us after the disk was
waited for), so one call is one hop: a function runs in the connection's thread, however many statements
it needs. That also means that nobody's statement comes between those of a transaction, and that a caller
who gives up waiting gives up nothing else.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import aiosqlite

from blackboard.config import Durability
from blackboard.store.sqlite.connecting import connect
from blackboard.store.sqlite.faults import DRIVER_ERRORS, Doing, breaks, closed, translated
from blackboard.store.sqlite.place import Place

P = ParamSpec("P")
T = TypeVar("T")


class Driver(aiosqlite.Connection):
    """An aiosqlite connection that runs whole functions in its thread."""

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=1)
        self._thread.daemon = True  # a forgotten close must not hang the interpreter
        self.broken = False
        self._asked = self._done = 0  # each counted by one thread alone

    async def run(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call `function(connection, ...)` in the thread. A cancelled caller does not stop it."""
        execute: Callable[..., Awaitable[T]] = self._execute
        self._asked += 1
        return await execute(self._in_turn, function, *args, **kwargs)

    @property
    def idle(self) -> bool:
        """Whether the thread has done everything that it was asked for."""
        return self._asked == self._done

    def run_here(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call `function(connection, ...)` in the caller's thread. The connection's own must be idle."""
        return self._guarded(function, *args, **kwargs)

    def _in_turn(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        try:
            return self._guarded(function, *args, **kwargs)
        finally:
            self._done += 1

    def _guarded(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        try:
            return function(self._conn, *args, **kwargs)
        except sqlite3.Error as error:
            # Noted here, where it cannot be missed: whoever asked may have stopped waiting.
            self.broken = self.broken or breaks(error)
            raise


class Lane:
    """A connection that is opened when it is first needed, and anew after an error that may have broken it.

    Errors leave it translated; only `sqlite3.IntegrityError` passes, because it is an answer.
    """

    def __init__(self, place: Place, durability: Durability, doing: Doing) -> None:
        self._place = place
        self._path = place.path
        self._doing: Doing = doing
        self._durability: Durability = durability
        self._driver: Driver | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def run(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call `function(connection, ...)` in the lane's thread, after everything that was asked before.

        Raises what `faults.translated` makes of the driver's errors, and `sqlite3.IntegrityError`.
        """
        return await self._run(self._doing, function, *args, **kwargs)

    async def run_here(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same, but in the caller's thread where the lane's own has nothing to do: no hop, and a loop
        that stands still as long. For loops that have nothing else to do.
        """
        driver = self._driver
        if driver is None or driver.broken or not driver.idle:
            return await self._run(self._doing, function, *args, **kwargs)
        try:
            return driver.run_here(function, *args, **kwargs)
        except sqlite3.IntegrityError:
            raise
        except DRIVER_ERRORS as error:
            raise translated(error, self._path, self._doing) from error

    async def ask(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function that writes nothing, whatever else the lane is for."""
        return await self._run("read", function)

    async def _run(self, doing: Doing, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        try:
            driver = self._driver
            if driver is None or driver.broken:
                driver = await self._opened()
            return await driver.run(function, *args, **kwargs)
        except sqlite3.IntegrityError:
            raise
        except DRIVER_ERRORS as error:
            raise translated(error, self._path, doing) from error

    async def open(self) -> None:
        """Open the connection now rather than at its first use."""
        await self.run(lambda _connection: None)

    async def _opened(self) -> Driver:
        async with self._opening:
            if self._closed:
                raise closed(self._path)
            if self._driver is not None and self._driver.broken:
                await self._shut()
            if self._driver is None:
                driver = Driver(self._connected)
                await driver
                self._driver = driver
            return self._driver

    def _connected(self) -> sqlite3.Connection:
        self._place.check()
        return connect(self._path, self._durability, read_only=self._doing == "read")

    async def _shut(self) -> None:
        driver, self._driver = self._driver, None
        if driver is None:
            return
        try:
            await driver.close()
        except sqlite3.Error:
            if not driver.broken:
                raise

    async def close(self) -> None:
        """Finish what was asked for, then let go of the file. Idempotent."""
        self._closed = True
        async with self._opening:
            await self._shut()
