"""Over HTTP: a bounded number of attempts with the same idempotency key, answers and errors decoded."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import weakref
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from blackboard.client.feed import FeedSource, follow
from blackboard.client.problems import refusal, restore
from blackboard.client.retry import RetryPolicy, gave_up, passes_by_itself
from blackboard.client.transport import Request
from blackboard.client.wire import Outgoing, Wire
from blackboard.errors import BlackboardError
from blackboard.messages.operations import BY_NAME
from blackboard.messages.replies import EventView

__all__ = ["HttpTransport", "ServerAddress"]

_ACTOR: Final = "Blackboard-Actor"
_DECODERS: Final = {row.name: msgspec.json.Decoder(row.reply) for row in BY_NAME.values()}
_BETWEEN: Final = frozenset({500, 502, 504})


class ServerAddress(NamedTuple):
    """Where a server is and how to speak to it. `connections` bounds the requests in flight."""

    url: str
    token: str | None
    timeout: float
    connections: int
    tls: ssl.SSLContext | None
    retry: RetryPolicy


class _Lost(Exception):
    """No usable answer. `maybe_done` is whether the server may have acted on the request; `final`
    whether another attempt cannot go better.
    """

    def __init__(self, reason: str, *, maybe_done: bool, final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.maybe_done = maybe_done
        self.final = final


class _Later(Exception):
    """The server says that it cannot answer now, and perhaps after how many seconds it may."""

    def __init__(self, error: BlackboardError, seconds: float | None) -> None:
        super().__init__(error.detail)
        self.error = error
        self.seconds = seconds


class HttpTransport:
    """A server, spoken to from one event loop. `actor` is who the server says is acting, once it has."""

    def __init__(self, address: ServerAddress) -> None:
        """Open no connection yet. Raises `Malformed` for an address that is none."""
        self._wire = Wire(address.url, address.token)
        self._retry = address.retry
        self._loop = asyncio.get_running_loop()
        self._closed = asyncio.Event()
        self._session = _session(address, address.connections)
        # Feeds hold their connections: they must not use up the pool of the requests.
        self._feeds = _session(address, 0)
        self._open: set[aiohttp.StreamReader] = set()
        self.actor: str | None = None
        for session in (self._session, self._feeds):
            weakref.finalize(self, _abandon, session, self._loop)

    async def send(self, request: Request) -> Any:
        """See `Transport.send`. Network trouble and `Retry-After` are waited out within bounds."""
        self._check_usable()
        outgoing = self._wire.outgoing(request)
        failures, maybe_done = 0, False
        while True:
            asked: float | None = None
            try:
                return await self._attempt(outgoing)
            except _Lost as lost:
                maybe_done = maybe_done or lost.maybe_done
                failures = self._retry.attempts if lost.final else failures + 1
                what, reason = outgoing.operation.name, lost.reason
                error: BlackboardError = gave_up(what, reason, maybe_done=maybe_done, key=outgoing.key)
            except _Later as later:
                failures, asked, error = failures + 1, later.seconds, later.error
            pause = self._retry.pause(failures, asked)
            if pause is None or await self._closed_within(pause):
                raise error

    def follow(self, board: str, after: int) -> AsyncGenerator[EventView, None]:
        """See `Transport.follow`."""
        self._check_usable()
        url = self._wire.url(BY_NAME["follow"], {"board": board})
        source = FeedSource(self._feeds, url, self._wire.headers, self._retry, self._closed, self._open)
        return follow(source, after)

    async def close(self) -> None:
        """Close every connection; feeds end, requests in flight fail."""
        self._closed.set()
        for reading in self._open:  # closing their connections would leave them waiting
            reading.set_exception(aiohttp.ClientConnectionError("this board was closed"))
        await self._session.close()
        await self._feeds.close()

    def _check_usable(self) -> None:
        if self._closed.is_set():
            raise RuntimeError("this board is closed; connect again")
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("this board was connected in another event loop; connect again in this one")

    async def _closed_within(self, seconds: float) -> bool:
        with contextlib.suppress(asyncio.TimeoutError):
            return await asyncio.wait_for(self._closed.wait(), seconds)
        return False

    async def _attempt(self, outgoing: Outgoing) -> Any:
        status, answer, retry_after = await self._exchange(outgoing)
        if 200 <= status < 300:
            try:
                return _DECODERS[outgoing.operation.name].decode(answer)
            except msgspec.MsgspecError as error:
                reason = f"the answer is not one that this release understands: {error}"
                raise _Lost(reason, maybe_done=True, final=True) from error
        try:
            problem = restore(answer)
        except msgspec.MsgspecError as error:
            if status in _BETWEEN:
                raise _Lost(f"something before the board answers {status}", maybe_done=True) from error
            problem = refusal(status)
        if passes_by_itself(problem):
            raise _Later(problem, retry_after)
        raise problem

    async def _exchange(self, outgoing: Outgoing) -> tuple[int, bytes, float | None]:
        try:
            async with self._session.request(
                outgoing.operation.method,
                outgoing.url,
                data=outgoing.body,
                headers=outgoing.headers,
                allow_redirects=False,
            ) as response:
                answer = await self._read(response)
                self.actor = response.headers.get(_ACTOR, self.actor)
                return response.status, answer, _seconds(response.headers.get("Retry-After"))
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise _lost(error) from error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        self._open.add(response.content)
        try:
            return await response.read()
        finally:
            self._open.discard(response.content)


def _session(address: ServerAddress, limit: int) -> aiohttp.ClientSession:
    # Let go of an idle connection before the server does: a request that meets the closing is made twice.
    connector = aiohttp.TCPConnector(limit=limit, ssl=address.tls or True, keepalive_timeout=30)
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=min(address.timeout, 10.0), sock_read=address.timeout
    )
    return aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
    )


def _seconds(header: str | None) -> float | None:
    return float(header) if header is not None and header.isdigit() else None


def _lost(error: Exception) -> _Lost:
    reason = str(error) or type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        return _Lost(_unanswered(error), maybe_done=False)
    if isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)):
        return _Lost(reason, maybe_done=False, final=isinstance(error, aiohttp.ClientSSLError))
    return _Lost(reason, maybe_done=True)


def _unanswered(error: aiohttp.ClientConnectorError) -> str:
    # A resolver's numbers are negative and mean something else.
    number = error.os_error.errno
    why = os.strerror(number) if number is not None and number > 0 else error.strerror or str(error.os_error)
    place = f"{error.host}:{error.port}"
    return f"no server answers at {place} ({why}); start it (`blackboard serve`) or name another"


def _abandon(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Close without a word what nobody closed: in its own loop while that runs, else here."""
    if session.closed:
        return
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if loop.is_running() and here is not loop:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_drive, session.close())
            return
    _drive(session.close())


def _drive(closing: Coroutine[Any, Any, None]) -> None:
    # The first step closes the sockets; the others wait until they have gone, and nobody waits here.
    with contextlib.suppress(StopIteration, RuntimeError):
        closing.send(None)
    closing.close()
