"""The live feed as server-sent events.

Frames: an event has its seq as `id`, its kind as `event` and its view as `data`; `caught-up` comes whenever
everything that there was has been sent, also when that was nothing; `problem` tells why a stream ends before
its time. A comment every `heartbeat_seconds` shows that the stream lives, and at each the token is checked
again. A feed puts nothing into anybody's view.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Final, NamedTuple

import msgspec

from blackboard.config import Settings
from blackboard.errors import BlackboardError, Unauthenticated, Unavailable
from blackboard.events.envelope import Row
from blackboard.messages.principal import Principal
from blackboard.server.problems import problem, unexpected
from blackboard.server.request import Receive, Send
from blackboard.server.tokens import Tokens
from blackboard.service import CaughtUp, Service, event_view

__all__ = ["Streams", "Wanted"]

log = logging.getLogger("blackboard.server")

CHUNK: Final = 64 * 1024
_START: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
    ],
}
_HELLO: Final = b"retry: 1000\n\n"
_HEARTBEAT: Final = b": alive\n\n"
_STOPPING: Final = b": the server is stopping\n\n"
_encode: Final = msgspec.json.Encoder().encode

Slice = list[Row] | CaughtUp
Slices = AsyncGenerator[Slice, None]


class Wanted(NamedTuple):
    """What is to be followed, from where, by whom, and the token that says so."""

    board: str
    after: int
    principal: Principal
    secret: bytes


class Streams:
    """All streams of a server. `close` ends them, each after a whole frame."""

    def __init__(self, service: Service, tokens: Tokens, settings: Settings) -> None:
        self._service = service
        self._tokens = tokens
        self._heartbeat = settings.heartbeat_seconds
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End every stream, and accept no other."""
        self._closing.set()

    async def serve(self, wanted: Wanted, receive: Receive, send: Send) -> None:
        """Send the log after `after`, then what comes. Raises before anything was sent, or not at all."""
        if self._closing.is_set():
            raise Unavailable("the server is stopping; ask the next one")
        slices = self._service.follow_slices(wanted.board, wanted.principal, wanted.after)
        try:
            first = await anext(slices, None)  # what is refused is refused here
            await send(_START)
            reader = _Reader(send, self._tokens, wanted, self._heartbeat)
            await self._relay(reader, slices, first, receive)
        finally:
            await slices.aclose()

    async def _relay(self, reader: _Reader, slices: Slices, first: Slice | None, receive: Receive) -> None:
        work = asyncio.create_task(reader.run(slices, first))
        gone = asyncio.create_task(_disconnected(receive))
        stop = asyncio.create_task(self._closing.wait())
        tasks = (work, gone, stop)
        with contextlib.suppress(asyncio.CancelledError):  # by the HTTP server, when it can wait no longer
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not gone.cancelled():
            return
        failure = None if work.cancelled() else work.exception()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await reader.end(failure)


class _Reader:
    """One stream's way out. It takes the next slice when the last one is on its way, so a slow reader
    makes nothing wait but itself: what it has not got stays in the table.
    """

    def __init__(self, send: Send, tokens: Tokens, wanted: Wanted, heartbeat: float) -> None:
        self._send = send
        self._tokens = tokens
        self._wanted = wanted
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        self._check_at = self._loop.time() + heartbeat

    async def run(self, slices: Slices, first: Slice | None) -> None:
        """Send until the feed ends. Raises what ends it before its time."""
        await self._write(_HELLO)
        found = first
        while found is not None:
            await self._write_slice(found)
            found = await self._next(slices)

    async def _next(self, slices: Slices) -> Slice | None:
        """The next slice, None at the end; until it comes, a heartbeat when it is time for one."""
        coming = asyncio.ensure_future(anext(slices, None))
        try:
            while True:
                left = self._check_at - self._loop.time()
                if left <= 0:
                    await self._beat()
                elif (await asyncio.wait((coming,), timeout=left))[0]:
                    return await coming
        finally:
            if not coming.done():
                coming.cancel()
                await asyncio.wait((coming,))

    async def _beat(self) -> None:
        if await self._tokens.authenticate(self._wanted.secret) != self._wanted.principal:
            raise Unauthenticated("what this token may do has changed; connect again")
        self._check_at = self._loop.time() + self._heartbeat
        await self._write(_HEARTBEAT)

    async def _write_slice(self, found: Slice) -> None:
        if isinstance(found, CaughtUp):
            await self._write(_frame(b"caught-up", b'{"head":%d}' % found.head))
            return
        chunk = bytearray()
        for row in found:
            chunk += _event(row)
            if len(chunk) >= CHUNK:
                await self._write(bytes(chunk))
                chunk.clear()
        if chunk:
            await self._write(bytes(chunk))

    async def end(self, failure: BaseException | None) -> None:
        """Say why, and close the response."""
        if failure is None:
            last = _STOPPING
        elif isinstance(failure, BlackboardError):
            last = _frame(b"problem", problem(failure)[2])
        else:
            log.error("a stream failed", exc_info=failure)
            last = _frame(b"problem", unexpected()[2])
        await self._send({"type": "http.response.body", "body": last, "more_body": False})

    async def _write(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})


def _event(row: Row) -> bytes:
    kind = row.kind if row.kind.isascii() and row.kind.isprintable() else "event"
    return b"id: %d\n" % row.seq + _frame(kind.encode(), _encode(event_view(row)))


def _frame(event: bytes, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event, data)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
