"""What a decision is, and what it is made from."""

from __future__ import annotations

from msgspec import Struct

from blackboard.errors import BlackboardError
from blackboard.events.envelope import Draft
from blackboard.events.kinds import EventBody, SignalRaised
from blackboard.gate.case import Fetched
from blackboard.gate.moment import Moment
from blackboard.gate.signals import SIGNALS
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Principal
from blackboard.messages.replies import Reply
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board


class Decision(Struct, frozen=True):
    """The events to append and the answer to give once they are committed.

    An error as reply is raised to the caller then; its attempt is in the log. `told` are the keys that the
    command is about: those of them that the agent owes stand in its reply.
    """

    drafts: list[Draft]
    reply: Reply | BlackboardError
    told: list[str] = []


class Asked(Struct, frozen=True):
    """One command in front of a board. `leading` are drafts that come before what it decides itself.

    `actor` is the agent that acts, None for operators and auditors.
    """

    board: Board
    principal: Principal
    actor: AgentState | None
    prepared: Prepared
    fetched: Fetched
    leading: list[Draft]

    @property
    def agent(self) -> AgentState:
        """The acting agent, where only agents may ask this."""
        assert self.actor is not None
        return self.actor

    @property
    def next_seq(self) -> int:
        """The seq of the first event that the decision itself adds."""
        return self.board.head + len(self.leading) + 1

    def decide(
        self, bodies: list[EventBody | Draft], reply: Reply | BlackboardError, told: list[str] | None = None
    ) -> Decision:
        """A decision that appends these bodies after the leading ones."""
        drafts = [body if isinstance(body, Draft) else Draft(body) for body in bodies]
        return Decision([*self.leading, *drafts], reply, told or [])


def raise_signals(board: Board, moment: Moment) -> list[SignalRaised]:
    """The events of the signals that this moment raises, in table order."""
    raised = []
    for name, signal in SIGNALS[board.format]:
        setting = board.policy.signals[name]
        if setting.effect == "off":
            continue
        found = signal(moment, setting)
        if found is not None:
            raised.append(
                SignalRaised(
                    signal=name,
                    agent=moment.agent.id,
                    effect=setting.effect,
                    evidence=found.evidence[:16],
                    numbers=found.numbers,
                    key=found.key,
                )
            )
    return raised
