"""One decode path for every reader: stored (kind, version) -> newest body.

An old version is lifted by pure functions v -> v+1 over the decoded mapping; rows are never rewritten.
Add a version as `vocabulary.py` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from blackboard import canonical
from blackboard.errors import IntegrityFailure
from blackboard.events.kinds import KINDS, AgentCompacted, EventBody, MessagePosted, Opaque

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


def _gathered_tokens(mapping: dict[str, Any]) -> dict[str, Any]:
    _know_not(mapping, "tokens")
    found = {name: mapping.pop(f"tokens_{name}", None) for name in ("before", "after")}
    tokens = {name: size for name, size in found.items() if size is not None}
    return mapping | {"tokens": tokens} if tokens else mapping


def _no_reply(mapping: dict[str, Any]) -> dict[str, Any]:
    _know_not(mapping, "reply_to")
    return mapping


def _know_not(mapping: dict[str, Any], member: str) -> None:
    """A member that came later is as unknown in an old version as it ever was."""
    if member in mapping:
        raise msgspec.ValidationError(f"Object contains unknown field `{member}`")


UPCASTERS: dict[tuple[str, int], Upcaster] = {
    (AgentCompacted.KIND, 1): _gathered_tokens,
    (MessagePosted.KIND, 1): _no_reply,
}
"""(kind, version) -> the step that makes version + 1 of it; it may change the mapping that it is given."""

_DECODERS: dict[tuple[str, int], msgspec.json.Decoder[EventBody]] = {
    known: msgspec.json.Decoder(body) for known, body in KINDS.items()
}


def decode_body(kind: str, version: int, text: str | None) -> EventBody | Opaque:
    """Decode a stored body. Unknown kinds, newer versions and redacted bodies are `Opaque`.

    Raises `IntegrityFailure` for a body that does not decode as its kind says.
    """
    if text is None:
        return Opaque(kind=kind, version=version)
    decoder = _DECODERS.get((kind, version))
    try:
        if decoder is not None:
            return decoder.decode(text)
        return _lift(kind, version, text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise IntegrityFailure(
            f"a stored {kind} body (version {version}) does not decode: {error}", members={"kind": kind}
        ) from error


def _lift(kind: str, version: int, text: str) -> EventBody | Opaque:
    if (kind, version) not in UPCASTERS:
        return Opaque(kind=kind, version=version, text=text)
    mapping: dict[str, Any] = msgspec.json.decode(text)
    while (step := UPCASTERS.get((kind, version))) is not None:
        mapping = step(mapping)
        version += 1
    return _DECODERS[kind, version].decode(canonical.encode(mapping))
