"""The ASGI application: operations in front, pages behind."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable

from starlette.types import ASGIApp

from blackboard.config import Settings
from blackboard.server.api import Api, Watching, raw_path
from blackboard.server.metrics import Exporter, RequestCounts
from blackboard.server.pages import Pages, make_pages
from blackboard.server.readiness import Guarantees, Readiness
from blackboard.server.request import Receive, Scope, Send
from blackboard.server.stream import Streams
from blackboard.server.tokens import Tokens
from blackboard.service import Service

__all__ = ["Application"]


class Application:
    """Everything that one server answers, over a service in the same event loop.

    `local`: only this machine's users can reach it. Whoever made the service closes it, after `stop` and
    after the last request has ended.
    """

    def __init__(self, service: Service, settings: Settings, *, local: bool = False) -> None:
        self.tokens = Tokens(service.store)
        self.streams = Streams(service, self.tokens, settings)
        self.requests = RequestCounts()
        guarantees = Guarantees()
        self.api = Api(
            service, self.tokens, self.streams, Watching(self.requests, guarantees), service.limits
        )
        self._told = Pages(
            self.tokens,
            Exporter(service.metrics, self.requests),
            Readiness(service, guarantees),
            durability=settings.durability,
            local=local,
        )
        self._pages: ASGIApp = make_pages(self._told)

    def stop(self) -> None:
        """End the streams and say that no new work is wanted; requests that come are still answered."""
        self._told.stopping = True
        self.streams.close()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """One exchange; no coroutine of its own, because this is the hot path."""
        if scope["type"] == "http" and raw_path(scope).startswith(b"/v1"):
            return self.api(scope, receive, send)
        return self._page(scope, receive, send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        with contextlib.suppress(Exception):  # it has been logged and answered
            await self._pages(scope, receive, send)
