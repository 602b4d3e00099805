"""Every error as an RFC 9457 problem document: one shape, whatever went wrong and wherever.

`type` is `urn:blackboard:problem:<code>`; the code is that of the error tree, or one of the few that only
HTTP has (a method that a path does not know). No answer has the status 500.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from blackboard.errors import BlackboardError, Unavailable

__all__ = ["PROBLEM_TYPE", "Header", "HttpProblem", "Response", "problem", "unexpected"]

Header = tuple[bytes, bytes]
Response = tuple[int, list[Header], bytes]
"""Status, headers (names in lower case), body: what an ASGI server is told to send."""

PROBLEM_TYPE: Final = "urn:blackboard:problem:"

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode
_MEDIA: Final = (b"content-type", b"application/problem+json")
_NO_STORE: Final = (b"cache-control", b"no-store")
_CHALLENGE: Final = (b"www-authenticate", b'Bearer realm="blackboard"')
_LATER: Final = frozenset({"integrity-failure", "board-too-new", "schema-mismatch"})
_CONTEXT: Final = ("seq", "head", "standing", "notices", "moved", "signals", "guarantee")


class HttpProblem(Exception):
    """What is wrong with a request as HTTP, before it is a message of this project.

    `member` names the header or the part of the request at fault.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: tuple[Header, ...] = (),
        member: str | None = None,
        limit: Any = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers
        self.members = {
            name: value for name, value in (("member", member), ("limit", limit)) if value is not None
        }


def problem(error: BlackboardError | HttpProblem) -> Response:
    """The response that tells of `error`."""
    status = error.status if error.status < 500 else 503
    code = error.code if error.status != BlackboardError.status else Unavailable.code
    body = _encode(_document(error, status, code))
    headers = [_MEDIA, (b"content-length", b"%d" % len(body)), _NO_STORE]
    headers += _more_headers(error, status, code)
    return status, headers, body


def unexpected() -> Response:
    """The answer to a failure that nobody foresaw: it goes to the log, not to the caller."""
    return problem(
        Unavailable(
            "the server failed in a way that it has logged; nothing was acknowledged. Send the request "
            "again, a command with the same Idempotency-Key"
        )
    )


def _document(error: BlackboardError | HttpProblem, status: int, code: str) -> dict[str, Any]:
    document: dict[str, Any] = {
        "type": PROBLEM_TYPE + code,
        "title": code.replace("-", " ").capitalize(),
        "status": status,
        "code": code,
        "detail": error.detail,
    }
    for name, value in error.members.items():
        document.setdefault(name, value)
    reply = getattr(error, "reply", None)
    if reply is not None:
        document |= {name: getattr(reply, name) for name in _CONTEXT if hasattr(reply, name)}
    return document


def _more_headers(error: BlackboardError | HttpProblem, status: int, code: str) -> list[Header]:
    if isinstance(error, HttpProblem):
        return list(error.headers)
    if status == 401:
        return [_CHALLENGE]
    if status in (429, 503):
        seconds = error.members.get("retry_after")
        if not isinstance(seconds, (int, float)):
            seconds = 60 if code in _LATER else 1
        return [(b"retry-after", b"%d" % max(1, round(seconds)))]
    return []
