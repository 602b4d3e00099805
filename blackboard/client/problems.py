"""From a problem document back to the error that was raised."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
from msgspec import Struct

from blackboard.errors import (
    ERRORS_BY_CODE,
    BlackboardError,
    Conflict,
    Malformed,
    NotAllowed,
    NotFound,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from blackboard.messages.problem import ProblemDocument
from blackboard.messages.replies import Reply

__all__ = ["document", "refusal", "restore"]


class _Head(Struct):
    code: str
    detail: str
    status: int


_BY_STATUS: dict[int, type[BlackboardError]] = {
    401: Unauthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    429: RateLimited,
}
_CONTEXT = frozenset(Reply.__struct_fields__)
_ENVELOPE = frozenset({"type", "title", "status", "code", "detail"})
_encode = msgspec.json.Encoder(enc_hook=str).encode
_typed = msgspec.json.Decoder(ProblemDocument)
_head = msgspec.json.Decoder(_Head)
_plain = msgspec.json.Decoder(dict[str, Any])


def document(error: BlackboardError) -> bytes:
    """The problem document of an error that was raised in this process."""
    problem: dict[str, Any] = {
        "type": "",
        "title": "",
        "status": error.status,
        "code": error.code,
        "detail": error.detail,
    }
    problem |= {name: value for name, value in error.members.items() if name not in _ENVELOPE}
    if error.reply is not None:
        problem |= {name: getattr(error.reply, name) for name in _CONTEXT}
    return _encode(problem)


def restore(raw: bytes) -> BlackboardError:
    """The error that a problem document tells of. Raises `msgspec.MsgspecError` for any other text.

    Members of the document become members of the error: `rules`, `remedy` and the context of a reply as
    structs. What this release does not know stays plain data.
    """
    members = _plain.decode(raw)
    head = _head.decode(raw)
    # One member of a context alone is no context: a head without its notices must not count as heard.
    whole = members.keys() >= _CONTEXT
    reply = None
    with contextlib.suppress(msgspec.ValidationError):
        problem = _typed.decode(raw)
        members |= {name: getattr(problem, name) for name in problem.__struct_fields__ if name in members}
        reply = _context(problem) if whole else None
    outside = _ENVELOPE | _CONTEXT if reply is not None else _ENVELOPE
    kept = {name: value for name, value in members.items() if name not in outside}
    return _class_of(head.code, head.status)(head.detail, members=kept, reply=reply)


def _context(problem: ProblemDocument) -> Reply:
    context = {name: getattr(problem, name) for name in _CONTEXT}
    return Reply(**(context | {"head": problem.head or 0}))


def refusal(status: int) -> BlackboardError:
    """The error for an answer that says nothing but its status."""
    return _class_of("", status)(f"the server answers {status} without saying why")


def _class_of(code: str, status: int) -> type[BlackboardError]:
    """The class with this code; of a later release's code, what its status means."""
    fallback = Unavailable if status >= 500 else Malformed
    return ERRORS_BY_CODE.get(code) or _BY_STATUS.get(status, fallback)
