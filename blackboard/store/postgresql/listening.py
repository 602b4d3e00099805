"""Hints between servers: who has appended says so after the commit, and all others look at once.

Nothing rests on them: a hint may come late, doubled or never, and whoever waits for events looks for them
by itself now and then. They are never part of an append, since a commit that notifies takes a lock on the
whole database; those of a few milliseconds go out together.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.store.contract import Hear
from blackboard.store.postgresql.address import Address
from blackboard.store.postgresql.connecting import Connection, connect, shut
from blackboard.store.postgresql.faults import DRIVER_ERRORS, state_of

log = logging.getLogger("blackboard.store")

CHANNEL: Final = "blackboard"
GATHER_SECONDS: Final = 0.010
"""How long hints are gathered before they go out together."""

BETWEEN_SECONDS: Final = 0.025
"""Between two times: who is told more often than that while others write without a pause, reads the log in
smaller pieces, at a cost that everybody shares."""

PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE: Final = 10.0
"""Between attempts at a server that is gone: doubled from the one to the other."""

LIVENESS_SECONDS: Final = 30.0
"""A connection that nobody has used for so long is asked whether it still is one."""

LAST_SECONDS: Final = 1.0
"""So long the last hints may take when the store is closed."""

_TELL: Final = "SELECT pg_notify($1, told.board) FROM unnest($2::text[]) AS told(board)"


class Hints:
    """The connection on which hints go out and come in, made when it is first needed and kept by a task."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self._address = address
        self._settings = settings
        self._on = settings.notify
        self._hear: Hear | None = None
        self._told: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._tried = asyncio.Event()
        self._sent = 0.0
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    def tell(self, board: str) -> None:
        """Others shall know that this board has grown."""
        if self._on:
            self._told[board] = None
            self._wake()

    async def listen(self, hear: Hear) -> None:
        """See `contract.Store.listen`. Returns once the first attempt has been made."""
        if self._on:
            self._hear = hear
            self._wake()
            await self._tried.wait()

    async def close(self) -> None:
        """Send what was told, if that is quickly done, and disconnect. Idempotent."""
        self._closing = True
        self._woken.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=LAST_SECONDS if self._told else 0)
            self._task.cancel()
            await asyncio.wait([self._task])

    def _wake(self) -> None:
        self._woken.set()
        if self._task is None and not self._closing:
            self._task = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        pause, reached, gone = PAUSE_SECONDS, False, False
        while self._on:
            try:
                connection = await connect(self._address, self._settings, "listen")
                if gone:
                    log.warning("%s is back", self._address.shown)
                pause, reached, gone = PAUSE_SECONDS, True, False
                await self._use(connection)
            except BlackboardError as error:
                # Whoever needs the database hears of it elsewhere; who runs the server reads it here, once.
                if reached and not gone:
                    log.warning("the database is gone: %s", error.detail)
                gone = reached
            self._tried.set()
            if self._closing:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _use(self, connection: Connection) -> None:
        """Send and hear until the connection is lost, or the store is closed and nothing is left to send."""
        connection.add_termination_listener(self._lost)
        heard = False
        try:
            while not connection.is_closed():
                if self._hear is not None and not heard:
                    await connection.add_listener(CHANNEL, self._heard)
                    heard = True
                    self._subscribed()
                if self._told:
                    await self._send(connection)
                elif self._closing:
                    return
                else:
                    await self._wait(connection)
        except DRIVER_ERRORS as error:
            # An engine that speaks the protocol and has no notifications: do without.
            self._on = state_of(error)[:2] not in {"0A", "42"}
            self._told.clear()
        finally:
            await shut(connection)

    async def _send(self, connection: Connection) -> None:
        if not self._closing:
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(max(GATHER_SECONDS, self._sent + BETWEEN_SECONDS - now))
            self._sent = asyncio.get_running_loop().time()
        told, self._told = self._told, {}
        await connection.fetch(_TELL, CHANNEL, list(told))

    async def _wait(self, connection: Connection) -> None:
        self._woken.clear()
        try:
            async with asyncio.timeout(LIVENESS_SECONDS):
                await self._woken.wait()
        except TimeoutError:
            await connection.fetch("SELECT 1")

    def _subscribed(self) -> None:
        """What was said before now was not heard, unless nobody listened yet."""
        if self._tried.is_set() and self._hear is not None:
            self._hear(None)
        self._tried.set()

    def _heard(self, connection: Connection, process: int, _channel: str, payload: Any) -> None:
        if process != connection.get_server_pid() and self._hear is not None:
            self._hear(payload)

    def _lost(self, _connection: Connection) -> None:
        self._woken.set()
