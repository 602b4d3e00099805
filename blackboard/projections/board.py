"""The board: every projection of one log, folded up to `head`."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal

from msgspec import Struct

from blackboard.events.kinds import FORMAT, Mode, ProposedWrite
from blackboard.events.policy import Policy
from blackboard.projections.agent import AgentState
from blackboard.projections.certificates import Certificates
from blackboard.projections.ledger import Ledger
from blackboard.records import Records

MOVES_REMEMBERED = 1024


class Notable(Struct, frozen=True, gc=False, array_like=True):
    """The latest thing that others should know about an agent or the board."""

    seq: int
    what: Literal["compacted", "suspected", "restored", "mode", "policy", "format"]
    detail: str


class Move(Struct, frozen=True, gc=False, array_like=True):
    """One accepted write, for those who held the revision before it."""

    seq: int
    key: str
    revision: int
    writer: str


class OpenProposal(Struct, frozen=True, gc=False, array_like=True):
    """A proposal that waits for the coordinator."""

    seq: int
    proposer: str
    writes: list[ProposedWrite]
    reason: str


class Board:
    """One board's state. `head` 0: not opened.

    `notables` is ordered by seq, one per subject (`agent:<id>`, `mode`, `policy`, `format`); `demoted` are
    the agents whose standing is not active; `closed` maps a decided proposal to its decision and seq;
    `unsettled` is the agent whose command without a turn number may still be going on. `recorded` chains the
    records' digests, `unseen_since` is the seq at which the policy last changed what unseen records do.

    `remembered` is where the gate keeps what it has worked out of the state, by agent and tool. It is no part
    of the state: no fold looks at it, no snapshot has it, and to clear it changes no answer.
    """

    __slots__ = (
        "agents",
        "certificates",
        "closed",
        "coordinator",
        "demoted",
        "format",
        "head",
        "ledger",
        "legs_off",
        "mode",
        "moves",
        "name",
        "notables",
        "opened_at",
        "policy",
        "proposals",
        "recorded",
        "records",
        "remembered",
        "unseen_since",
        "unsettled",
    )

    def __init__(self) -> None:
        self.name = ""
        self.head = 0
        self.opened_at = 0
        self.format = FORMAT
        self.policy = Policy()
        self.legs_off: list[str] = []
        self.mode: Mode = "open"
        self.coordinator: str | None = None
        self.ledger = Ledger()
        self.agents: dict[str, AgentState] = {}
        self.demoted: dict[str, AgentState] = {}
        self.notables: dict[str, Notable] = {}
        self.moves: deque[Move] = deque(maxlen=MOVES_REMEMBERED)
        self.proposals: dict[str, OpenProposal] = {}
        self.closed: dict[str, tuple[Literal["accepted", "refused"], int]] = {}
        self.unsettled: AgentState | None = None
        self.records = Records()
        self.recorded = bytes(32)
        self.certificates = Certificates()
        self.unseen_since = 0
        self.remembered: dict[tuple[str, str], Any] = {}

    def set_policy(self, policy: Policy) -> None:
        """Make `policy` the board's; which legs it switches off is told with every reply."""
        self.policy = policy
        self.legs_off = policy.legs_off()

    def agent(self, agent: str) -> AgentState:
        """The agent's state, made when it is first heard of."""
        found = self.agents.get(agent)
        if found is None:
            found = self.agents[agent] = AgentState(agent)
        return found

    def note(self, subject: str, notable: Notable) -> None:
        """Make `notable` the latest of its subject, and the newest of all."""
        self.notables.pop(subject, None)
        self.notables[subject] = notable
