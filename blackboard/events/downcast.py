"""The way back: a body as an older format writes it, for the servers that know no more.

A step down undoes a step up: `decode_body` of what is lowered here gives the same body again. What an older
version cannot say is refused where a command is decided (`gate/formats.py`), so no step ever meets it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from blackboard import canonical
from blackboard.errors import FormatTooLow
from blackboard.events.kinds import AgentCompacted, EventBody, MessagePosted

Downcaster = Callable[[dict[str, Any]], dict[str, Any]]


def lowered(body: EventBody, version: int) -> bytes:
    """The canonical JSON bytes of `body` in an older `version` of its kind.

    Raises `FormatTooLow` for a body that says what that version cannot.
    """
    # By way of the canonical bytes: only they tell by value, and not by identity, what equals its default.
    mapping: dict[str, Any] = msgspec.json.decode(canonical.encode(body))
    for newer in range(body.VERSION, version, -1):
        mapping = DOWNCASTERS[body.KIND, newer](mapping)
    return canonical.encode(mapping)


def _flat_tokens(mapping: dict[str, Any]) -> dict[str, Any]:
    tokens = mapping.pop("tokens", {})
    _refuse(tokens, "window", "agent.compacted")
    return mapping | {f"tokens_{name}": size for name, size in tokens.items()}


def _no_reply(mapping: dict[str, Any]) -> dict[str, Any]:
    _refuse(mapping, "reply_to", "message.posted")
    return mapping


def _refuse(mapping: dict[str, Any], member: str, kind: str) -> None:
    if member in mapping:
        raise FormatTooLow(
            f"version 1 of {kind} has no {member}: it takes a board of format 3", members={"limit": 3}
        )


DOWNCASTERS: dict[tuple[str, int], Downcaster] = {
    (AgentCompacted.KIND, 2): _flat_tokens,
    (MessagePosted.KIND, 2): _no_reply,
}
"""(kind, version) -> the step that makes version - 1 of it; what `UPCASTERS` does, undone."""
