"""A server that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from aiohttp import web

from blackboard.client import Board, connect
from blackboard.client.retry import RetryPolicy

QUICK = RetryPolicy(attempts=4, first=0.001, most=0.01, following=1.0)
CONTEXT: dict[str, Any] = {
    "seq": 7,
    "head": 7,
    "standing": {"state": "active"},
    "notices": [],
    "moved": [],
    "signals": [],
    "guarantee": {"intact": True},
}


def ack(**members: Any) -> dict[str, Any]:
    """An accepted write, as a server tells it."""
    entry = {"key": "k", "revision": 1, "id": "entry:7", "seq": 7, "replayed": False, "superseded_by": None}
    return {**CONTEXT, "entries": [entry], "replayed": False, "superseded_by": None} | members


def problem(code: str, status: int, **members: Any) -> dict[str, Any]:
    """A problem document."""
    return {
        "type": f"urn:blackboard:problem:{code}",
        "title": code,
        "status": status,
        "code": code,
        "detail": f"it is {code}",
    } | members


class Asked(NamedTuple):
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Answer(NamedTuple):
    """One answer; `cut` closes the connection instead."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    cut: bool = False


class FakeServer:
    """Gives its answers in turn, the last one for ever."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: deque[Answer] = deque()
        self.url = ""

    def answer(self, *answers: Answer | dict[str, Any]) -> None:
        self.answers.extend(one if isinstance(one, Answer) else Answer(one) for one in answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(
            Asked(
                request.method,
                request.raw_path.partition("?")[0],
                dict(request.query),
                dict(request.headers),
                await request.read(),
            )
        )
        answer = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
        if answer.cut:
            assert request.transport is not None
            request.transport.abort()
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        return web.Response(body=body, status=answer.status, headers=answer.headers)


@contextlib.asynccontextmanager
async def fake_server() -> AsyncIterator[FakeServer]:
    """A `FakeServer` on a free port of loopback."""
    fake = FakeServer()
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", fake.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    fake.url = f"http://{host}:{port}"
    try:
        yield fake
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def fake_board(**options: Any) -> AsyncIterator[tuple[FakeServer, Board]]:
    """A fake server and a board that speaks to it."""
    async with fake_server() as fake:
        chosen: Any = {"board": "b", "token": "secret", "retry": QUICK} | options
        async with connect(fake.url, **chosen) as board:
            yield fake, board


async def until(condition: Callable[[], object]) -> None:
    """Wait until `condition` holds; the test's own timeout bounds it."""
    while not condition():  # noqa: ASYNC110 - what is waited for is in another thread or process
        await asyncio.sleep(0.01)
