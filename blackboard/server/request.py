"""What a request says beside its message: credential, headers, the bytes of its body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from blackboard.errors import Malformed, TooLarge, Unauthenticated
from blackboard.messages.idempotency import check_idempotency_key
from blackboard.messages.limits import MAX_INTEGER
from blackboard.messages.principal import Call
from blackboard.server.problems import HttpProblem

__all__ = [
    "Gone",
    "Head",
    "Receive",
    "Scope",
    "Send",
    "bearer",
    "call",
    "check_body",
    "head",
    "read_on",
    "resume_after",
]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Head = dict[bytes, bytes]

MAX_HEADERS: Final = 100
_ONCE: Final = frozenset(
    {
        b"authorization",
        b"content-type",
        b"content-encoding",
        b"idempotency-key",
        b"blackboard-seen",
        b"last-event-id",
    }
)
_NO_CALL: Final = Call()


class Gone(Exception):
    """The client has closed the connection before its request was complete."""


def head(scope: Scope) -> Head:
    """The headers by name in lower case. Raises `HttpProblem` for too many, `Malformed` for a repeated one
    that has one value.
    """
    headers = scope["headers"]
    found: Head = dict(headers)
    if len(found) != len(headers):
        _check_repeated(headers, found)
    if len(headers) > MAX_HEADERS:
        raise HttpProblem(
            431,
            "too-many-headers",
            f"{len(headers)} headers; at most {MAX_HEADERS} are read",
            member="headers",
            limit=MAX_HEADERS,
        )
    return found


def _check_repeated(headers: list[tuple[bytes, bytes]], found: Head) -> None:
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in seen and name in _ONCE:
            raise Malformed(
                f"the header {name.decode()} is sent twice; which one counts?", member=name.decode()
            )
        seen.add(name)
    if b"accept" in found:
        found[b"accept"] = b",".join(value for name, value in headers if name == b"accept")


def bearer(head: Head) -> bytes:
    """The token of the request. Raises `Unauthenticated`."""
    value = head.get(b"authorization")
    if value is None:
        raise Unauthenticated(
            "this needs a token: send it as Authorization: Bearer <token>; from a shell, as --token or "
            "BLACKBOARD_TOKEN"
        )
    scheme, _, token = value.partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token or len(token) > 512:
        raise Unauthenticated("the Authorization header is not Bearer <token>")
    return token


def call(head: Head, *, appends: bool) -> Call:
    """What travels beside the message. Raises `Malformed`, naming the header.

    An `Idempotency-Key` on something that appends nothing is ignored: an old verdict is never replayed.
    """
    seen, key = head.get(b"blackboard-seen"), head.get(b"idempotency-key") if appends else None
    if seen is None and key is None:
        return _NO_CALL
    return Call(
        seen=None if seen is None else whole_number(seen, "Blackboard-Seen"),
        idempotency_key=None if key is None else _idempotency_key(key),
    )


def resume_after(head: Head, after: int) -> int:
    """Where a feed goes on: `Last-Event-ID`, which a browser sends when it reconnects, else `after`."""
    last = head.get(b"last-event-id")
    return after if last is None else whole_number(last, "Last-Event-ID")


def whole_number(raw: bytes, name: str) -> int:
    """A seq in a header. Raises `Malformed`."""
    if not raw.isdigit() or len(raw) > 16 or (number := int(raw)) > MAX_INTEGER:
        raise Malformed(
            f"{name} is a seq: an integer from 0 to {MAX_INTEGER}",
            member=name,
            limit=MAX_INTEGER,
            value=raw[:64].decode("latin-1"),
        )
    return number


def _idempotency_key(raw: bytes) -> str:
    try:
        key = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("the Idempotency-Key is not UTF-8", member="Idempotency-Key", limit="UTF-8") from None
    check_idempotency_key(key)
    return key


def check_body(head: Head, limit: int) -> None:
    """Refuse, unread, a body that says it is too large, or no JSON; one that says nothing is taken for JSON.

    Raises `TooLarge`, `HttpProblem`.
    """
    declared = head.get(b"content-length")
    if declared is not None and (not declared.isdigit() or len(declared) > 15 or int(declared) > limit):
        raise _too_large(declared[:32].decode("latin-1"), limit)
    kind = head.get(b"content-type")
    if kind is not None and kind != b"application/json" and not _means_json(kind):
        raise HttpProblem(
            415,
            "unsupported-media-type",
            f"the body is {kind[:64].decode('latin-1')!r}; send UTF-8 JSON as Content-Type: application/json",
            headers=((b"accept", b"application/json"),),
            member="Content-Type",
            limit="application/json",
        )
    coding = head.get(b"content-encoding")
    if coding is not None and coding.lower() != b"identity":
        raise HttpProblem(
            415,
            "unsupported-media-type",
            f"the body is coded as {coding[:64].decode('latin-1')!r}; send it as it is",
            headers=((b"accept-encoding", b"identity"),),
            member="Content-Encoding",
            limit="identity",
        )
    transfer = head.get(b"transfer-encoding")
    if transfer is not None and transfer.strip().lower() != b"chunked":
        raise HttpProblem(
            415,
            "unsupported-media-type",
            f"the body is transferred as {transfer[:64].decode('latin-1')!r}; only chunked is read",
            member="Transfer-Encoding",
            limit="chunked",
        )


def _means_json(kind: bytes) -> bool:
    name, *parameters = [part.strip().lower() for part in kind.split(b";")]
    charsets = {part for part in parameters if part.startswith(b"charset=")}
    return name == b"application/json" and charsets <= {b"charset=utf-8", b'charset="utf-8"'}


async def read_on(receive: Receive, message: Message, limit: int) -> bytes:
    """The whole body, of which `message` is the beginning.

    Raises `TooLarge` as soon as it is known to be, `Gone` when the client is.
    """
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(f"more than {limit}", limit)
        if not message.get("more_body", False):
            return bytes(body)
        message = await receive()
    raise Gone


def _too_large(size: str, limit: int) -> TooLarge:
    return TooLarge(f"body has {size} bytes; at most {limit} are accepted", member="body", limit=limit)
