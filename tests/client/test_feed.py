"""Following over HTTP: what comes is told once and in order, whatever the network does."""

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

import blackboard
from tests.client.support import QUICK, problem, until


def event(seq: int) -> bytes:
    """A frame of the feed."""
    view = {
        "board": "b",
        "seq": seq,
        "kind": "turn.ended",
        "version": 1,
        "actor": "agent:a",
        "recorded_at": seq,
        "command_id": f"c{seq}",
        "body": {},
    }
    return f"id: {seq}\nevent: turn.ended\ndata: {json.dumps(view)}\n\n".encode()


Script = Callable[[web.Request, web.StreamResponse], Any]


class FakeFeed:
    """Plays one script for each connection, the last one for ever; remembers what was asked for."""

    def __init__(self) -> None:
        self.after: list[int] = []
        self.scripts: deque[Script] = deque()
        self.refusals: deque[tuple[int, bytes]] = deque()

    def play(self, *scripts: Script) -> None:
        self.scripts.extend(scripts)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.after.append(int(request.query["after"]))
        if self.refusals:
            status, body = self.refusals.popleft()
            return web.Response(status=status, body=body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        script = self.scripts.popleft() if len(self.scripts) > 1 else self.scripts[0]
        with contextlib.suppress(ConnectionError):
            await script(request, response)
        return response


def send(*chunks: bytes, then: str = "end") -> Script:
    """Send these; then end, cut the connection or keep it open."""

    async def script(request: web.Request, response: web.StreamResponse) -> None:
        for chunk in chunks:
            await response.write(chunk)
        if then == "cut":
            assert request.transport is not None
            request.transport.abort()
        while then == "stay":
            await asyncio.sleep(0.02)
            await response.write(b": alive\n\n")

    return script


@contextlib.asynccontextmanager
async def following(**options: Any) -> AsyncIterator[tuple[FakeFeed, blackboard.Board]]:
    feed = FakeFeed()
    application = web.Application()
    application.router.add_get("/v1/boards/b/stream", feed.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    options = {"retry": QUICK} | options
    try:
        async with blackboard.connect(f"http://{host}:{port}", board="b", token="t", **options) as board:
            yield feed, board
    finally:
        await runner.cleanup()


async def take(board: blackboard.Board, count: int, after: int = 0) -> list[int]:
    seqs = []
    async with contextlib.aclosing(board.follow(after)) as events:
        async for one in events:
            seqs.append(one.seq)
            if len(seqs) == count:
                break
    return seqs


async def test_a_feed_goes_on_where_the_connection_broke_off() -> None:
    async with following() as (feed, board):
        feed.play(
            send(event(1), event(2), then="cut"),
            send(event(3), event(4)[:20], then="cut"),
            send(event(4), event(5), then="end"),
            send(event(6), then="stay"),
        )
        assert await take(board, 6) == [1, 2, 3, 4, 5, 6]
    assert feed.after == [0, 2, 3, 5]


async def test_what_was_told_before_is_not_told_again() -> None:
    async with following() as (feed, board):
        feed.play(send(event(3), event(4), then="cut"), send(event(4), event(4), event(5), then="stay"))
        assert await take(board, 3, after=2) == [3, 4, 5]


async def test_a_gap_is_asked_for_again_and_never_passed_on() -> None:
    async with following() as (feed, board):
        feed.play(send(event(1), event(3), then="stay"), send(event(2), event(3), then="stay"))
        assert await take(board, 3) == [1, 2, 3]
    assert feed.after == [0, 1]


async def test_a_gap_that_stays_is_an_integrity_failure() -> None:
    async with following() as (feed, board):
        feed.play(send(event(1), event(3), then="stay"))
        with pytest.raises(blackboard.IntegrityFailure, match="event 2 is missing"):
            await take(board, 2)


async def test_caught_up_and_heartbeats_are_no_events() -> None:
    async with following() as (feed, board):
        caught_up = b'event: caught-up\ndata: {"head":0}\n\n'
        feed.play(send(b"retry: 1000\n\n", caught_up, b": alive\n\n", event(1), then="stay"))
        assert await take(board, 1) == [1]


@pytest.mark.parametrize("code", ["unauthenticated", "unknown-board", "beyond-head"])
async def test_a_refusal_is_raised(code: str) -> None:
    async with following() as (feed, board):
        feed.refusals.append((409, json.dumps(problem(code, 409)).encode()))
        with pytest.raises(blackboard.BlackboardError) as caught:
            await take(board, 1)
    assert caught.value.code == code
    assert len(feed.after) == 1


async def test_a_refusal_that_passes_is_waited_out() -> None:
    async with following() as (feed, board):
        feed.refusals += [(503, json.dumps(problem("unavailable", 503)).encode()), (502, b"bad gateway")]
        feed.play(send(event(1), then="stay"))
        assert await take(board, 1) == [1]
    assert len(feed.after) == 3


async def test_a_problem_in_the_feed_is_raised() -> None:
    async with following() as (feed, board):
        data = json.dumps(problem("unauthenticated", 401)).encode()
        feed.play(send(event(1), b"event: problem\ndata: " + data + b"\n\n"))
        with pytest.raises(blackboard.Unauthenticated):
            await take(board, 2)


async def test_an_event_of_a_later_release_is_named_as_one() -> None:
    async with following() as (feed, board):
        feed.play(send(b'id: 1\nevent: x\ndata: {"seq": "one"}\n\n'))
        with pytest.raises(blackboard.BoardTooNew, match="event 1 "):
            await take(board, 1)


async def test_without_a_server_the_feed_ends_after_a_bounded_time() -> None:
    async with following() as (feed, board):
        feed.play(send(event(1), then="cut"))
        await take(board, 1)
        port = 1  # nobody listens there
        async with blackboard.connect(
            f"http://127.0.0.1:{port}", board="b", token="t", retry=QUICK
        ) as lonely:
            began = time.monotonic()
            with pytest.raises(blackboard.Unavailable, match="no feed for 1 seconds"):
                await take(lonely, 1)
    assert 0.9 < time.monotonic() - began < 5


async def test_closing_the_board_ends_its_feeds_at_once() -> None:
    async with following() as (feed, board):
        feed.play(send(event(1), then="stay"))
        seen: list[int] = []

        async def follow() -> None:
            seen.extend([one.seq async for one in board.follow()])

        feeds = [asyncio.create_task(follow()) for _ in range(3)]
        await until(lambda: len(feed.after) == 3)
        await asyncio.sleep(0.05)
        began = time.monotonic()
        await board.close()
        await asyncio.gather(*feeds)
    assert time.monotonic() - began < 2
    assert seen == [1, 1, 1]


async def test_an_event_larger_than_any_buffer_comes_through() -> None:
    big = json.loads(event(1).partition(b"data: ")[2])
    big["body"] = {"text": "x" * 2_000_000}
    async with following() as (feed, board):
        feed.play(send(f"id: 1\ndata: {json.dumps(big)}\n\n".encode(), then="stay"))
        async with contextlib.aclosing(board.follow()) as events:
            one = await anext(events)
    assert one.body == big["body"]
