"""One command on its way through its board."""

from __future__ import annotations

import asyncio
import concurrent.futures

from blackboard.errors import BlackboardError, Unavailable
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply

Answer = Reply | BlackboardError
Waiting = asyncio.Future[Reply] | concurrent.futures.Future[Reply]
"""Where the answer goes: to a task of this loop, or to another thread."""


class Pending:
    """Who sent what, and the future that the caller waits on.

    `keyed`: the command id is the caller's idempotency key. `suspect`: the id may be in the log already,
    so it is looked up before the command is decided. `unknown`: an append of it ended without a result.
    `charged`: its refusal has been drawn from the actor's allowance.
    """

    __slots__ = (
        "actor",
        "call",
        "charged",
        "command_id",
        "future",
        "keyed",
        "prepared",
        "principal",
        "suspect",
        "unknown",
    )

    def __init__(
        self,
        principal: Principal,
        prepared: Prepared,
        call: Call,
        command_id: str,
        future: Waiting,
        *,
        keyed: bool,
    ) -> None:
        self.principal = principal
        self.prepared = prepared
        self.call = call
        self.actor = principal.actor
        self.command_id = command_id
        self.future = future
        self.keyed = keyed
        self.suspect = False
        self.unknown = False
        self.charged = False

    def resolve(self, answer: Answer) -> None:
        """Give the answer to the caller, unless it has stopped waiting."""
        if self.future.done():
            return
        if isinstance(answer, BlackboardError):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)


def unexpected() -> Unavailable:
    """What a caller is told when the service itself is at fault; the traceback is in the service's log."""
    return Unavailable(
        "this command could not be carried out because of a fault in the service; nothing was stored. "
        "The service's log has the details"
    )


def again(error: BlackboardError) -> BlackboardError:
    """The same error for another caller: an exception that is raised twice mixes two tracebacks."""
    return type(error)(error.detail, members=dict(error.members), reply=error.reply)
