"""What a transport is: it carries one message to a board and brings the reply, whatever lies between."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple, Protocol

from blackboard import canonical
from blackboard.messages.commands import Message
from blackboard.messages.operations import Operation
from blackboard.messages.principal import Call
from blackboard.messages.replies import EventView

__all__ = ["Request", "Transport", "encode"]

BODY_DEPTH = canonical.JSON_DEPTH + 3
"""How deep a body may be nested: a value may go to `JSON_DEPTH`, and stands in a list of writes."""


class Request(NamedTuple):
    """One message on its way. `board` is None for operations that concern no board."""

    operation: Operation
    message: Message
    board: str | None
    call: Call


class Transport(Protocol):
    """One way to a board."""

    async def send(self, request: Request) -> Any:
        """Return the reply, an instance of `request.operation.reply` that shares nothing with anyone.

        Raises the errors of `blackboard.errors`, with their members as structs.
        """

    def follow(self, board: str, after: int) -> AsyncGenerator[EventView, None]:
        """The log after `after`, then live: every event once, in order. Ends when the transport closes."""

    async def close(self) -> None:
        """Let go of everything. Idempotent; whatever waits for a reply is told."""


def encode(message: object) -> bytes:
    """The canonical JSON of a message, the same for every transport.

    Raises `Malformed` for what is not JSON (NaN, sets, keys that are no strings): an encoder that
    repaired it would store something else than what was meant.
    """
    return canonical.encode(message, depth=BODY_DEPTH)
