"""What the server tells about itself: whether it lives, whether it is ready, what it counts, what it offers.

These pages are not on the hot path and are served by Starlette. `/livez`, `/readyz`, `/openapi.json` and
`/docs` need no token. `/metrics`, and in `/readyz` the names of boards and the place of the database, need an
auditor's or operator's token wherever others than this machine's users can reach the server.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from blackboard import __version__
from blackboard.errors import BlackboardError, NotAllowed, NotFound, Unavailable
from blackboard.messages.principal import Principal
from blackboard.server import reference, request
from blackboard.server.metrics import CONTENT_TYPE, Exporter
from blackboard.server.openapi import document
from blackboard.server.problems import HttpProblem, problem, unexpected
from blackboard.server.readiness import Readiness
from blackboard.server.tokens import Tokens

__all__ = ["Pages", "make_pages"]

log = logging.getLogger("blackboard.server")


_FOR_ANYBODY: Final = frozenset(
    {"engine", "version", "synchronous", "durable", "revision", "newest_revision"}
    | {"fsync", "synchronous_commit", "full_page_writes"}
)
_CSP: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_FOR_PEOPLE: Final = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}


class Pages:
    """The pages of one server. `local`: only this machine's users can reach it, so names may be told."""

    def __init__(
        self,
        tokens: Tokens,
        exporter: Exporter,
        readiness: Readiness,
        *,
        durability: str,
        local: bool,
    ) -> None:
        self._durability = durability
        self._tokens = tokens
        self._exporter = exporter
        self._readiness = readiness
        self._local = local
        self.stopping = False

    async def livez(self, _: Request) -> Response:
        """The loop turns."""
        return _json({"status": "alive", "version": __version__})

    async def readyz(self, asked: Request) -> Response:
        """The store answers. Raises `Unavailable` where it does not."""
        if self.stopping:
            raise Unavailable("the server is stopping")
        state = await self._readiness.look()
        guarantee: dict[str, Any] = {
            "intact": state.intact,
            "boards_off": len(state.off),
            "unchecked": state.unchecked,
        }
        store = state.store
        if self._local or await self._may_look(asked):
            guarantee["off"] = state.off
        else:
            store = {name: value for name, value in store.items() if name in _FOR_ANYBODY}
        return _json(
            {
                "status": "ready",
                "version": __version__,
                "durability": self._durability,
                "at_risk": state.at_risk,
                "store": store,
                "guarantee": guarantee,
            }
        )

    async def metrics(self, asked: Request) -> Response:
        """Raises `Unauthenticated` or `NotAllowed` for those who may not look."""
        if not self._local:
            principal = await self._principal(asked)
            if not _sees_all(principal):
                raise NotAllowed(
                    f"metrics are for auditors and operators of every board, not {principal.actor}"
                )
        return Response(self._exporter.text(), media_type=None, headers={"content-type": CONTENT_TYPE})

    async def openapi(self, _: Request) -> Response:
        """The description."""
        return Response(_openapi(), media_type="application/json", headers={"cache-control": "no-cache"})

    async def docs(self, _: Request) -> Response:
        """The reference."""
        return Response(_docs(), media_type="text/html", headers=_FOR_PEOPLE)

    async def style(self, _: Request) -> Response:
        """Its style sheet."""
        return Response(reference.STYLE, media_type="text/css", headers=_FOR_PEOPLE)

    async def home(self, _: Request) -> Response:
        """Whoever comes without a path is a person."""
        return RedirectResponse("/docs", status_code=307)

    async def _principal(self, asked: Request) -> Principal:
        return await self._tokens.authenticate(request.bearer(request.head(asked.scope)))

    async def _may_look(self, asked: Request) -> bool:
        if "authorization" not in asked.headers:
            return False
        return _sees_all(await self._principal(asked))


@cache
def _openapi() -> bytes:
    return msgspec.json.encode(document())


@cache
def _docs() -> bytes:
    return reference.page().encode()


def _sees_all(principal: Principal) -> bool:
    return principal.role in ("auditor", "operator") and "*" in principal.boards


def make_pages(pages: Pages) -> Starlette:
    """The Starlette application of the pages; everything else there is a problem document."""
    handlers: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/": pages.home,
        "/livez": pages.livez,
        "/readyz": pages.readyz,
        "/metrics": pages.metrics,
        "/openapi.json": pages.openapi,
        "/docs": pages.docs,
        "/docs/reference.css": pages.style,
    }
    app = Starlette(
        routes=[Route(path, handler, methods=["GET"]) for path, handler in handlers.items()],
        exception_handlers={
            BlackboardError: _on_error,
            HttpProblem: _on_error,
            HTTPException: _on_http_exception,
            Exception: _on_anything,
        },
    )
    app.router.redirect_slashes = False
    return app


def _json(value: Any) -> Response:
    body = msgspec.json.encode(value, enc_hook=str)
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def _respond(answer: tuple[int, list[tuple[bytes, bytes]], bytes]) -> Response:
    status, headers, body = answer
    response = Response(body, status_code=status)
    response.raw_headers = headers
    return response


async def _on_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, (BlackboardError, HttpProblem))
    return _respond(problem(error))


async def _on_http_exception(asked: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        shown = asked.scope["path"][:80]
        return _respond(problem(NotFound(f"there is nothing at {shown!r}; /docs lists every route")))
    headers = tuple((name.lower().encode(), value.encode()) for name, value in (error.headers or {}).items())
    code = "method-not-allowed" if error.status_code == 405 else "http-error"
    detail = f"{asked.method[:20]} is not possible here; GET is" if error.status_code == 405 else error.detail
    return _respond(problem(HttpProblem(error.status_code, code, detail, headers=headers)))


async def _on_anything(asked: Request, error: Exception) -> Response:
    log.error("%s failed", asked.scope["path"], exc_info=error)
    return _respond(unexpected())
