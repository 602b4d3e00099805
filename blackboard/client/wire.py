"""From a message to an HTTP request: what goes into the path, the query, the headers and the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from yarl import URL

from blackboard.client.transport import Request, encode
from blackboard.errors import Malformed
from blackboard.messages.operations import BY_NAME, Operation

__all__ = ["Outgoing", "Wire"]


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
        body: bytes | None = encode(message)
        members: dict[str, Any] = {}
        if operation.method in ("POST", "PUT"):
            headers["Content-Type"] = "application/json"
            if parameters not in ((), ("board",)):
                members = msgspec.json.decode(body or b"{}")
                body = encode(_without(members, parameters))
            url = self.url(operation, {**members, "board": board})
        else:
            members = msgspec.json.decode(body or b"{}")
            query = {name: str(value) for name, value in _without(members, parameters).items()}
            url = self.url(operation, {**members, "board": board}).with_query(query)
            body = None
        return Outgoing(operation, url, body, headers, call.idempotency_key)


def _parameters(operation: Operation) -> tuple[str, ...]:
    names = ("board", *operation.message.__struct_fields__)
    return tuple(name for name in names if f"{{{name}}}" in operation.path)


_PARAMETERS: Final = {row.name: _parameters(row) for row in BY_NAME.values()}


def _without(members: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


def _segment(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise Malformed(f"{name} is {value!r}: a name is needed", member=f"/{name}", value=value)
    try:
        quoted = quote(value, safe="")
    except UnicodeEncodeError:
        raise Malformed(f"{name} holds a lone surrogate", member=f"/{name}", value=value) from None
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
