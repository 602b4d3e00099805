"""The operations over HTTP: one raw ASGI application for everything under `/v1`.

It is raw because it is the hot path: a framework's request and response objects would cost more than the
board does. Every row of OPERATIONS passes through `_answer`: there is no second way in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from time import perf_counter
from typing import Final, NamedTuple, cast

import msgspec

from blackboard.errors import BlackboardError, OutcomeUnknown
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.limits import Limits
from blackboard.messages.operations import OPERATIONS
from blackboard.messages.principal import Call, Principal
from blackboard.server import logs, request
from blackboard.server.endpoint import Endpoint
from blackboard.server.metrics import RequestCounts
from blackboard.server.problems import Header, HttpProblem, Response, problem, unexpected
from blackboard.server.readiness import Guarantees
from blackboard.server.request import Head, Receive, Scope, Send
from blackboard.server.routes import Found, Routes
from blackboard.server.stream import Streams, Wanted
from blackboard.server.tokens import Tokens
from blackboard.service import Service

__all__ = ["Api", "raw_path"]

log = logging.getLogger("blackboard.server")

ACTOR: Final = b"blackboard-actor"
_encode: Final = msgspec.json.Encoder().encode
_JSON: Final = (b"content-type", b"application/json")
_NO_STORE: Final = (b"cache-control", b"no-store")
_ELSEWHERE: Final = "none"


class Watching(NamedTuple):
    """What is learnt from requests and replies in passing."""

    counts: RequestCounts
    guarantees: Guarantees


class Api:
    """Routes, decodes, authenticates, asks the service, encodes."""

    def __init__(
        self, service: Service, tokens: Tokens, streams: Streams, watching: Watching, limits: Limits
    ) -> None:
        self._service = service
        self._tokens = tokens
        self._streams = streams
        self._counts, self._guarantees = watching
        self._limits = limits
        self._routes = Routes((Endpoint(operation, limits) for operation in OPERATIONS), limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One exchange. Whatever happens, the answer is a reply or a problem document."""
        began = perf_counter()
        name = _ELSEWHERE
        response: Response | None
        try:
            found = self._routes.find(raw_path(scope))
            if scope["method"] == "OPTIONS":
                response = 204, [(b"allow", ", ".join(_allowed(found)).encode())], b""
            else:
                endpoint = _endpoint(found, scope["method"])
                name = endpoint.operation.name
                response = await self._answer(endpoint, found, scope, receive, send)
        except (BlackboardError, HttpProblem) as error:
            response = problem(error)
        except request.Gone:
            response = None
        except asyncio.CancelledError:
            response = problem(_cut_off())
        except Exception:
            log.exception("%s failed", name)
            response = unexpected()
        if response is not None:
            status, headers, body = response
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            self._counts.observe(name, status, perf_counter() - began)

    async def _answer(
        self, endpoint: Endpoint, found: Found, scope: Scope, receive: Receive, send: Send
    ) -> Response | None:
        head = request.head(scope)
        secret = request.bearer(head)
        principal = self._tokens.known(secret) or await self._tokens.authenticate(secret)
        call = request.call(head, appends=endpoint.operation.appends)
        body = b""
        if endpoint.takes_body:
            request.check_body(head, self._limits.command_bytes)
            first = await receive()
            body = first.get("body", b"")
            if first.get("more_body") or first["type"] != "http.request":
                body = await request.read_on(receive, first, self._limits.command_bytes)
        message = endpoint.message(found.params, scope["query_string"], body)
        board = found.board
        if isinstance(message, ask.Follow):
            after = request.resume_after(head, message.after)
            wanted = Wanted(cast(str, board), after, principal, secret)
            await self._streams.serve(wanted, receive, send)
            return None
        reply = await self._ask(endpoint, board, principal, message, call)
        self._guarantees.see(board, reply)
        return _response(reply, principal, head)

    def _ask(
        self, endpoint: Endpoint, board: str | None, principal: Principal, message: ask.Message, call: Call
    ) -> Awaitable[msgspec.Struct]:
        if endpoint.is_token:
            return self._tokens.execute(principal, cast(ask.TokenCommand, message))
        if endpoint.is_query:
            return self._service.query(board, principal, cast(ask.Query, message), call)
        return self._service.execute(cast(str, board), principal, cast(ask.Command, message), call)


def raw_path(scope: Scope) -> bytes:
    """The path as it came, percent-encoded."""
    raw = scope.get("raw_path")
    return raw if isinstance(raw, bytes) else scope["path"].encode("utf-8", "surrogateescape")


def _endpoint(found: Found, method: str) -> Endpoint:
    endpoint = found.methods.get(method)
    if endpoint is not None:
        return endpoint
    if method == "HEAD":
        # What is served by a GET that records a read is put into a view: a HEAD serves nothing.
        endpoint = found.methods.get("GET")
        if endpoint is not None and endpoint.is_query:
            return endpoint
    allowed = _allowed(found)
    raise HttpProblem(
        405,
        "method-not-allowed",
        f"{method[:20]} is not possible here, only {', '.join(allowed)}",
        headers=((b"allow", ", ".join(allowed).encode()),),
        member="method",
        limit=allowed,
    )


def _allowed(found: Found) -> list[str]:
    get = found.methods.get("GET")
    head = ["HEAD"] if get is not None and get.is_query else []
    return sorted([*found.methods, *head, "OPTIONS"])


def _response(reply: msgspec.Struct, principal: Principal, head: Head) -> Response:
    status, media = 200, _JSON
    more: tuple[Header, ...] = ()
    match reply:
        case say.EventsReply():
            media, body, more = logs.render(reply, head.get(b"accept"))
        case say.EntryReply():
            body, more = _encode(reply), ((b"etag", b'"%d"' % reply.entry.revision),)
        case say.TokenReply(token=made) | say.BoardReply(created=made):
            status, body = 201 if made else 200, _encode(reply)
        case _:
            body = _encode(reply)
    length = (b"content-length", b"%d" % len(body))
    return status, [media, length, _NO_STORE, (ACTOR, principal.actor.encode()), *more], body


def _cut_off() -> OutcomeUnknown:
    return OutcomeUnknown(
        "the server stopped before this was answered; it may or may not have been recorded. Send it again "
        "with the same Idempotency-Key"
    )
