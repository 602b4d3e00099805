"""From a message to an HTTP request: what goes into the path, the query, the headers and the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from yarl import URL

from blackboard import canonical
from blackboard.client.transport import BODY_DEPTH, Request, encode
from blackboard.errors import Malformed
from blackboard.messages.operations import BY_NAME, Operation

__all__ = ["Outgoing", "Wire"]

_WITH_BODY: Final = frozenset({"POST", "PUT"})


class Outgoing(NamedTuple):
    """A request as it is sent, and sent again."""

    operation: Operation
    url: URL
    body: bytes | None
    headers: dict[str, str]
    key: str | None


class Wire:
    """How requests to one server look. Raises `Malformed` for an address that is none."""

    def __init__(self, address: str, token: str | None) -> None:
        self._base = _base_url(address)
        self._prefix = self._base.raw_path.rstrip("/")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def url(self, operation: Operation, members: Mapping[str, Any]) -> URL:
        """The address of `operation`, the parameters of its path taken from `members`."""
        path = operation.path
        for name in _PARAMETERS[operation.name]:
            path = path.replace(f"{{{name}}}", _segment(name, members.get(name)))
        return self._base.with_path(self._prefix + path, encoded=True)

    def outgoing(self, request: Request) -> Outgoing:
        """The request for `request.message`. Raises `Malformed` for what cannot be sent."""
        operation, message, board, call = request
        parameters = _PARAMETERS[operation.name]
        headers = dict(self.headers)
        if call.seen is not None:
            headers["Blackboard-Seen"] = str(call.seen)
        if call.idempotency_key is not None:
            headers["Idempotency-Key"] = call.idempotency_key
        raw = encode(message)
        body: bytes | None = raw
        if operation.method in _WITH_BODY:
            headers["Content-Type"] = "application/json"
        if parameters == ("board",) and operation.method == "POST":  # nothing moves from body to path
            url = self.url(operation, {"board": board})
            return Outgoing(operation, url, body, headers, call.idempotency_key)
        members: dict[str, Any] = msgspec.json.decode(raw)
        url = self.url(operation, {**members, "board": board})
        rest = {name: value for name, value in members.items() if name not in parameters}
        if operation.method in _WITH_BODY:
            body = encode(rest)
        else:
            # In a query everything is text: what is wrong is told here, where it still has its type.
            canonical.decode(raw, operation.message, max_bytes=len(raw), depth=BODY_DEPTH)
            url, body = url.with_query({name: str(value) for name, value in rest.items()}), None
        return Outgoing(operation, url, body, headers, call.idempotency_key)


def _parameters(operation: Operation) -> tuple[str, ...]:
    names = ("board", *operation.message.__struct_fields__)
    return tuple(name for name in names if f"{{{name}}}" in operation.path)


_PARAMETERS: Final = {row.name: _parameters(row) for row in BY_NAME.values()}


def _segment(name: str, value: object) -> str:
    member = f"/{name}"
    if not isinstance(value, str):
        raise Malformed(f"{member}: expected str, got {type(value).__name__}", member=member, value=value)
    if not value:  # a path cannot say it
        canonical.check_identifier(value, member=member, max_bytes=1)
    quoted = quote(value, safe="")
    return quoted.replace(".", "%2E") if set(value) == {"."} else quoted


def _base_url(text: str) -> URL:
    try:
        parts = urlsplit(text)
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if parts.scheme in ("http", "https") and parts.hostname and plain:
            return URL(text)
    except ValueError:
        pass
    raise Malformed(
        f"{text!r} is not the address of a server: it looks like http://127.0.0.1:8377",
        member="url",
        value=text,
    )
