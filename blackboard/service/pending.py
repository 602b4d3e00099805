"""One command on its way through its board."""

from __future__ import annotations

import logging
from typing import Protocol

from blackboard.errors import BlackboardError, Unavailable
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply

log = logging.getLogger("blackboard.service")

Answer = Reply | BlackboardError


class Waiting(Protocol):
    """Where the answer goes: a future of this loop or of another."""

    def done(self) -> bool:
        """Whether nobody waits any more."""

    def set_result(self, result: Reply, /) -> None:
        """Give the reply."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Give the error."""


class Pending:
    """Who sent what, the future that the caller waits on, and in the end the answer.

    `keyed`: the command id is the caller's idempotency key. `suspect`: the id may be in the log already,
    so it is looked up before the command is decided. `unknown`: an append of it ended without a result.
    `charged`: its refusal has been drawn from the actor's allowance.
    """

    __slots__ = (
        "actor",
        "answer",
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
        self.answer: Answer | None = None
        self.command_id = command_id
        self.future = future
        self.keyed = keyed
        self.suspect = False
        self.unknown = False
        self.charged = False

    def resolve(self, answer: Answer) -> None:
        """Give the answer to the caller, unless it has stopped waiting."""
        self.answer = answer
        try:
            if self.future.done():
                return
            if isinstance(answer, BlackboardError):
                self.future.set_exception(answer)
            else:
                self.future.set_result(answer)
        except Exception:
            # What is committed stays committed, and the others of the batch get their answers.
            log.exception("the answer to %s could not be given", self.command_id)


def unexpected() -> Unavailable:
    """What a caller is told when the service itself is at fault; the traceback is in the service's log."""
    return Unavailable(
        "this command could not be carried out because of a fault in the service; nothing was stored. "
        "The service's log has the details"
    )


def again(error: BlackboardError) -> BlackboardError:
    """The same error for another caller: an exception that is raised twice mixes two tracebacks."""
    return type(error)(error.detail, members=dict(error.members), reply=error.reply)
