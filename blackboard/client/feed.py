"""Following a board over HTTP: a feed that comes back by itself, without gap or duplicate."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Final, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from blackboard.client.problems import refusal, restore
from blackboard.client.retry import RetryPolicy, passes_by_itself
from blackboard.client.sse import Frame, Frames, FrameTooLong
from blackboard.errors import BlackboardError, BoardTooNew, IntegrityFailure, Unavailable
from blackboard.messages.replies import EventView

__all__ = ["FeedSource", "follow"]

_SILENCE_SECONDS: Final = 60.0
_MOST_GAPS: Final = 5
_decode = msgspec.json.Decoder(EventView).decode


class _Gap(Exception):
    """The feed skipped an event: ask again from the last one."""


class _Feed:
    """What is known between one connection and the next."""

    def __init__(self, after: int) -> None:
        self.last = after
        self.failures = 0
        self.gaps = 0
        self.alive = time.monotonic()

    def heard(self) -> None:
        self.failures = 0
        self.alive = time.monotonic()

    def skipped(self, seq: int) -> Exception:
        self.gaps += 1
        missing = f"event {self.last + 1} is missing before {seq}"
        return _Gap(missing) if self.gaps < _MOST_GAPS else IntegrityFailure(f"follow: {missing}")


class FeedSource(NamedTuple):
    """Where a feed comes from, and until when it is wanted: until `closed` is set.

    `open` holds what is being read, so that whoever closes can end it.
    """

    session: aiohttp.ClientSession
    url: URL
    headers: Mapping[str, str]
    retry: RetryPolicy
    closed: asyncio.Event
    open: set[aiohttp.StreamReader]


async def follow(source: FeedSource, after: int) -> AsyncGenerator[EventView, None]:
    """Every event after `after`, once and in order, until the source is closed.

    A lost connection is opened again where it broke off. Raises what the server refuses (`Unauthenticated`,
    `UnknownBoard`, `BeyondHead`), and `Unavailable` after `retry.following` seconds without a server.
    """
    feed = _Feed(after)
    closed, retry = source.closed, source.retry
    while not closed.is_set():
        try:
            async with contextlib.aclosing(_connection(source, feed)) as events:
                async for event in events:
                    yield event
            reason: Exception = Unavailable("the server ended the feed")
        except (TimeoutError, aiohttp.ClientError, OSError, FrameTooLong, _Gap) as error:
            reason = error
        except BlackboardError as error:
            if not passes_by_itself(error):
                raise
            reason = error
        if closed.is_set():
            return
        feed.failures += 1
        if time.monotonic() - feed.alive > retry.following:
            raise Unavailable(f"follow: no feed for {retry.following:g} seconds: {reason}") from reason
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(closed.wait(), retry.spread(feed.failures))


async def _connection(source: FeedSource, feed: _Feed) -> AsyncGenerator[EventView, None]:
    async with source.session.get(
        source.url.with_query({"after": str(feed.last)}),
        headers={**source.headers, "Accept": "text/event-stream"},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=_SILENCE_SECONDS),
        allow_redirects=False,
    ) as response:
        if response.status != 200:
            raise _refusal(response.status, await response.read())
        frames = Frames()
        source.open.add(response.content)
        try:
            async for chunk in response.content.iter_any():
                feed.heard()
                for frame in frames.feed(chunk):
                    if (event := _event(frame, feed)) is not None:
                        yield event
        finally:
            source.open.discard(response.content)


def _event(frame: Frame, feed: _Feed) -> EventView | None:
    if frame.event == "problem":
        raise _refusal(503, frame.data.encode())
    if not frame.id.isdigit():
        return None
    seq = int(frame.id)
    if seq <= feed.last:
        return None
    if seq != feed.last + 1:
        raise feed.skipped(seq)
    try:
        event = _decode(frame.data.encode())
    except msgspec.MsgspecError as error:
        raise BoardTooNew(f"event {seq} is not one that this release understands: {error}") from error
    feed.last, feed.gaps = seq, 0
    return event


def _refusal(status: int, answer: bytes) -> BlackboardError:
    try:
        return restore(answer)
    except msgspec.MsgspecError:
        return refusal(status)
