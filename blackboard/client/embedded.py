"""Embedded: the service in this process, reached as strictly as over HTTP.

What is sent is encoded and decoded, and so is what comes back: a caller cannot tell the transports apart by
what they accept or return, and holds nothing that the live board holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Final, NamedTuple, TypeVar, cast, get_args

import msgspec

from blackboard import canonical
from blackboard.client.problems import document, restore
from blackboard.client.transport import BODY_DEPTH, Request, encode
from blackboard.errors import BlackboardError, NotAllowed, Unavailable
from blackboard.messages.commands import Query, TokenCommand
from blackboard.messages.operations import BY_NAME
from blackboard.messages.prepare import Prepared, prepare
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import EventView, Reply
from blackboard.service import CaughtUp, Service, event_view
from blackboard.service.runtime import Runtime

__all__ = ["EmbeddedTransport"]

T = TypeVar("T")
_QUERIES: Final = frozenset(get_args(Query))
_TOKENS: Final = frozenset(get_args(TokenCommand))
_DECODERS: Final = {row.name: msgspec.json.Decoder(row.reply) for row in BY_NAME.values()}
_decode_events: Final = msgspec.json.Decoder(list[EventView]).decode
_encode: Final = msgspec.json.Encoder().encode


class _Refused(NamedTuple):
    document: bytes
    cause: BaseException | None


class EmbeddedTransport:
    """One principal on a database of this process. Any event loop and any thread may use it."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        """Take over one hold on `runtime`, which ends when this is closed or forgotten."""
        self.runtime = runtime
        self._principal = principal
        self._feeds: set[_Feed] = set()
        self._hold = weakref.finalize(self, runtime.release)

    async def send(self, request: Request) -> Any:
        """See `Transport.send`."""
        self._check_usable()
        try:
            answer = await self._answer(request)
        except BlackboardError as error:
            raise restore(document(error)) from error.__cause__
        return _DECODERS[request.operation.name].decode(answer)

    async def follow(self, board: str, after: int) -> AsyncGenerator[EventView, None]:
        """See `Transport.follow`."""
        self._check_usable()
        feed = _Feed(self.runtime.service, board, self._principal, after)
        self._feeds.add(feed)
        try:
            while (found := await self._in_loop(feed.more())) is not None:
                if isinstance(found, _Refused):
                    raise restore(found.document) from found.cause
                for event in _decode_events(found):
                    yield event
        finally:
            self._feeds.discard(feed)
            self._post(feed.close())

    async def close(self) -> None:
        """Let go of the database, which closes when nobody holds it. What has been sent is still done."""
        await asyncio.to_thread(self.close_blocking)

    def close_blocking(self) -> None:
        """The same, for threads that run no loop. Idempotent."""
        for feed in list(self._feeds):
            self._post(feed.close())
        self._hold()

    def _check_usable(self) -> None:
        if not self._hold.alive:
            raise RuntimeError("this board is closed; connect again")

    async def _answer(self, request: Request) -> bytes:
        kind, limits = request.operation.message, self.runtime.service.limits
        raw = encode(request.message)
        message: Any = canonical.decode(raw, kind, max_bytes=limits.command_bytes, depth=BODY_DEPTH)
        if kind in _TOKENS:
            raise NotAllowed("tokens belong to a server; an embedded board has none: connect to the server")
        if kind in _QUERIES:
            return await self._in_loop(self._query(request, message))
        prepared = prepare(message, agent=self._principal.agent, limits=limits)
        return _encode(await self._execute(cast(str, request.board), prepared, request.call))

    async def _query(self, request: Request, query: Query) -> bytes:
        """Runs in the loop of the database, where what an answer is made of stands still."""
        return _encode(await self.runtime.service.query(request.board, self._principal, query, request.call))

    async def _execute(self, board: str, command: Prepared, call: Call) -> Reply:
        if asyncio.get_running_loop() is self.runtime.loop:
            return await self.runtime.service.execute(board, self._principal, command, call)
        return await self.runtime.execute(board, self._principal, command, call)

    async def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        if asyncio.get_running_loop() is self.runtime.loop:
            return await work
        return await self.runtime.call(work)

    def _post(self, work: Coroutine[Any, Any, None]) -> None:
        """Have `work` done without waiting for it; where the loop has ended, there is nothing to do."""
        try:
            self.runtime.submit(work)
        except (Unavailable, RuntimeError):
            work.close()


class _Feed:
    """One follower of a board, in the loop of the database."""

    def __init__(self, service: Service, board: str, principal: Principal, after: int) -> None:
        self._slices = service.follow_slices(board, principal, after)
        self._step: asyncio.Task[bytes | None] | None = None
        self._closed = False

    async def more(self) -> bytes | _Refused | None:
        """The next events, None at the end."""
        if self._closed:
            return None
        step = self._step = asyncio.create_task(self._next())
        try:
            return await asyncio.shield(step)
        except BlackboardError as error:
            return _Refused(document(error), error.__cause__)
        except asyncio.CancelledError:
            if step.cancelled():
                return None
            raise

    async def close(self) -> None:
        """End a `more` that waits, then the feed."""
        if self._closed:
            return
        self._closed = True
        if self._step is not None:
            self._step.cancel()
            with contextlib.suppress(asyncio.CancelledError, BlackboardError):
                await self._step
        await self._slices.aclose()

    async def _next(self) -> bytes | None:
        async for found in self._slices:
            if not isinstance(found, CaughtUp):
                return _encode([event_view(row) for row in found])
        return None
