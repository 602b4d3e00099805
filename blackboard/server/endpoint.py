"""One operation as HTTP serves it: how path, query and body become its message.

Members named in the path come from there alone; those of a GET come from the query; the rest is the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast, get_args
from urllib.parse import parse_qsl

import msgspec

from blackboard import canonical
from blackboard.errors import Malformed, TooLarge, shorten
from blackboard.messages import commands as ask
from blackboard.messages.limits import Limits
from blackboard.messages.operations import Operation

__all__ = ["Endpoint"]

_QUERY_BYTES: Final = 8 * 1024
_QUERIES: Final = frozenset(get_args(ask.Query))
_TOKENS: Final = frozenset(get_args(ask.TokenCommand))


class Endpoint:
    """An operation and the types that its requests are decoded with."""

    __slots__ = (
        "_body",
        "_from_path",
        "_limits",
        "_query",
        "_required",
        "is_query",
        "is_token",
        "operation",
        "path_params",
    )

    def __init__(self, operation: Operation, limits: Limits) -> None:
        message = operation.message
        self.operation = operation
        self.path_params = path_params(operation)
        self._limits = limits
        self._from_path = tuple(name for name in self.path_params if name in message.__struct_fields__)
        body = body_of(operation)
        fields = msgspec.structs.fields(body) if operation.method == "GET" else ()
        self._query = {field.name: field.type for field in fields}
        self._required = tuple(field.name for field in fields if field.required)
        self._body = None if operation.method == "GET" else body
        self.is_query = message in _QUERIES
        self.is_token = message in _TOKENS

    @property
    def takes_body(self) -> bool:
        """Whether the message stands in the body."""
        return self._body is not None

    def message(self, params: Mapping[str, str], query: bytes, body: bytes) -> ask.Message:
        """The message of one request. Raises `Malformed` or `TooLarge`, naming the part at fault."""
        members = self._members(query) if query else {}
        if self._body is None:
            for name in self._required:
                if name not in members:
                    raise Malformed(f"the query parameter {name} is required", member=name)
            for name in self._from_path:
                members[name] = params[name]
            return self.operation.message(**members)
        decoded: ask.Message = canonical.decode(
            body or b"{}",
            self._body,
            max_bytes=self._limits.command_bytes,
            depth=self._limits.json_depth,
        )
        if not self._from_path:
            return decoded
        members = msgspec.structs.asdict(decoded)
        for name in self._from_path:
            members[name] = params[name]
        return self.operation.message(**members)

    def _members(self, query: bytes) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, text in _pairs(query):
            if name not in self._query:
                known = ", ".join(self._query) or "none"
                raise Malformed(
                    f"there is no query parameter {shorten(name)} here; known: {known}",
                    member=name,
                    value=name,
                )
            if name in members:
                raise Malformed(f"the query parameter {name} is given twice; which one counts?", member=name)
            members[name] = self._converted(name, text)
        return members

    def _converted(self, name: str, text: str) -> Any:
        try:
            value = msgspec.convert(text, self._query[name], strict=False)
        except msgspec.ValidationError as error:
            reason = str(error)
            raise Malformed(
                f"{name}={shorten(text)}: {reason}", member=name, limit=reason, value=text
            ) from None
        if isinstance(value, str):
            canonical.check_identifier(value, member=name, max_bytes=self._limits.key_bytes + 64)
        return value


def path_params(operation: Operation) -> tuple[str, ...]:
    """The names in braces of an operation's path, in order."""
    return tuple(part[1:-1] for part in operation.path.split("/") if part.startswith("{"))


def body_of(operation: Operation) -> type[ask.Message]:
    """The part of the message that the path does not carry: what a body (or a query) may say."""
    message = operation.message
    given = [field for field in msgspec.structs.fields(message) if field.name in path_params(operation)]
    if not given:
        return message
    members: list[Any] = []
    for field in msgspec.structs.fields(message):
        if field in given:
            continue
        if field.required:
            members.append((field.name, field.type))
        else:
            default = field.default
            if default is msgspec.NODEFAULT:
                default = msgspec.field(default_factory=cast(Any, field.default_factory))
            members.append((field.name, field.type, default))
    name = f"{message.__name__}Body"
    made = msgspec.defstruct(name, members, bases=(ask.Message,), kw_only=True, frozen=True)
    return cast(type[ask.Message], made)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    if len(query) > _QUERY_BYTES:
        raise TooLarge(
            f"the query has {len(query)} bytes; at most {_QUERY_BYTES}", member="query", limit=_QUERY_BYTES
        )
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=32,
        )
    except ValueError:
        raise Malformed(
            "the query is not name=value pairs joined by &, percent-encoded UTF-8",
            member="query",
            value=query[:64].decode("latin-1"),
        ) from None
