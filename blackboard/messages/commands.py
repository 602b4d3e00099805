"""What can be asked: commands (they append events) and queries (they record nothing).

Over HTTP the struct is the body of the request; its members are refused when unknown. What names the
resource (board, agent, proposal) comes from the path, so those members are excluded from the body there.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from blackboard.events.kinds import Cause, Mode, Notify
from blackboard.events.policy import PolicyPatch
from blackboard.messages.limits import MAX_INTEGER
from blackboard.messages.principal import Grants, Role

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]


class Message(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every message."""


class Write(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One write. `value` is any JSON value; `revision` is asserted by the caller, always.

    `basis` names what the decision rests on besides the key itself: `{key: revision}`. `confidence` is
    a number 0..1. `payload_hash`, when sent, must be the one that the server computes.
    """

    key: str
    revision: int | UnsetType = UNSET
    value: Any = None
    confidence: float | None = None
    deleted: bool = False
    basis: dict[str, int] | None = None
    payload_hash: str | None = None


class OpenBoard(Message, frozen=True):
    """Create the board. Opening it again with the same policy is a no-op, with another a conflict."""

    policy: PolicyPatch | None = None
    format: int | None = None


class SetPolicy(Message, frozen=True):
    """Change the policy: members left out keep their value."""

    policy: PolicyPatch


class SetMode(Message, frozen=True):
    """Enter or leave single-writer mode."""

    mode: Mode
    coordinator: str | None = None
    why: str = ""


class RaiseFormat(Message, frozen=True):
    """Raise the board's format, once every server can read the new one."""

    format: int


class JoinAgent(Message, frozen=True):
    """Name an agent and the key prefix that bounds its full re-read."""

    agent: str
    prefix: str = ""


class WriteBatch(Message, frozen=True):
    """All of these writes, or none."""

    writes: list[Write]
    turn: Count | None = None


class Read(Message, frozen=True):
    """A recorded read: of `keys`, of `all` page by page (`cursor` from the page before), or of `records`.

    Records are read by their ids, or "all" of them page by page. `limit` bounds a page (default and most
    1000).
    """

    keys: list[str] | None = None
    all: bool = False
    records: list[str] | Literal["all"] | None = None
    cursor: str | None = None
    limit: int | None = None
    turn: Count | None = None


class Compact(Message, frozen=True):
    """Report a compaction: what was observed at or before `base_seq` (default: the head) is gone.

    Without `agents` the caller speaks of itself. `kept` are record ids that survive; None: not known.
    `context_window` is the size of the window in tokens: boards know it from format 3 on.
    """

    cause: Cause = "unknown"
    base_seq: Count | None = None
    kept: list[str] | None = None
    notify: Notify = "in-band"
    agents: list[str] | None = None
    summary_digest: str | None = None
    tokens_before: Count | None = None
    tokens_after: Count | None = None
    context_window: Count | None = None
    turn: Count | None = None


class Say(Message, frozen=True):
    """Post a message to the board's agents. The server finds the identifiers that it cites.

    `reply_to` is the seq of the message that it answers: boards know it from format 3 on.
    """

    text: str
    recipients: list[str] = []
    reply_to: Count | None = None
    turn: Count | None = None


class ReadEntry(Message, frozen=True):
    """A recorded read of one key."""

    key: str
    turn: Count | None = None


class EndTurn(Message, frozen=True):
    """End the agent's turn."""

    turn: Count


class Propose(Message, frozen=True):
    """Propose writes to the coordinator."""

    writes: list[Write]
    reason: str = ""
    turn: Count | None = None


class ReadProposals(Message, frozen=True):
    """The open proposals. For an agent a recorded read: only what was read can be accepted."""

    turn: Count | None = None


class AcceptProposal(Message, frozen=True):
    """Accept a proposal as the coordinator's own write. `restate` makes a stale one its own."""

    proposal: str
    restate: bool = False
    turn: Count | None = None


class RefuseProposal(Message, frozen=True):
    """Refuse a proposal."""

    proposal: str
    reason: str = ""
    turn: Count | None = None


class AddRecord(Message, frozen=True):
    """Add one record: a policy, a fact, an approval, chatter, or one of a kind that boards only keep.

    It is written down without `seq`; without an `id` it becomes `record:<seq>`. The approver of an approval
    is who adds it.
    """

    record: dict[str, Any]
    turn: Count | None = None


class Check(Message, frozen=True):
    """May this agent, holding what it still holds, call `tool` with `params`?

    `basis` names what the decision rests on: `{key: revision}`. `allow_unevaluable` lets records pass that
    were dropped and that nobody can evaluate; the log keeps who chose that.
    """

    tool: str
    params: dict[str, Any] = {}
    basis: dict[str, int] | None = None
    allow_unevaluable: bool = False
    turn: Count | None = None


class IssueCertificate(Message, frozen=True):
    """Certify the verdict on every call of `tool`, until something that bears on it changes."""

    tool: str
    turn: Count | None = None


Command = (
    OpenBoard
    | SetPolicy
    | SetMode
    | RaiseFormat
    | JoinAgent
    | WriteBatch
    | Read
    | ReadEntry
    | Compact
    | Say
    | EndTurn
    | Propose
    | ReadProposals
    | AcceptProposal
    | RefuseProposal
    | AddRecord
    | Check
    | IssueCertificate
)
"""Everything that may append events: `gate.decide` matches it exhaustively."""


class ListBoards(Message, frozen=True):
    """The boards that the caller reaches."""


class GetBoard(Message, frozen=True):
    """One board: policy, mode, format, guarantee, head."""


class GetEvents(Message, frozen=True):
    """The log after `after`, oldest first, optionally filtered."""

    after: Count = 0
    limit: int = 1000
    kind: str | None = None
    agent: str | None = None
    key: str | None = None


class GetLedger(Message, frozen=True):
    """The ledger as of `at` (default: now), page by page; nothing is recorded."""

    at: Count | None = None
    after: str | None = None
    limit: int = 1000


class GetAgents(Message, frozen=True):
    """Every agent with its standing and counts, as of `at`."""

    at: Count | None = None


class GetAgent(Message, frozen=True):
    """One agent's standing, view and baselines, as of `at`."""

    agent: str
    at: Count | None = None


class CertificateValid(Message, frozen=True):
    """Whether a certificate (`certificate:<seq>`) still speaks for what its agent holds."""

    certificate: str


class Keep(Message, frozen=True):
    """What an agent must keep in a compaction, so that no reachable call of `tools` becomes a danger.

    `kept` are the record ids that are to be kept anyway: the answer closes them. None: as little as is
    enough. A tool is a name, or `{"name", "input_schema"}` as catalogs list it. `agent` is whose view it is
    about; an agent asks about its own.
    """

    tools: list[str | dict[str, Any]]
    kept: list[str] | None = None
    agent: str | None = None


class GetSigningKey(Message, frozen=True):
    """The public key with which certificates are verified."""


class Follow(Message, frozen=True):
    """The log from `after` on, then live."""

    after: Count = 0


class CreateToken(Message, frozen=True):
    """Make a token. `name` is the agent's id or the person's name; `days` until it expires."""

    role: Role
    name: str
    boards: list[str] = msgspec.field(default_factory=lambda: ["*"])
    grants: Grants = Grants()
    days: Annotated[float, Meta(gt=0, le=3650)] | None = None


class ListTokens(Message, frozen=True):
    """Every token, without its secret."""


class RevokeToken(Message, frozen=True):
    """End a token at once."""

    id: str


TokenCommand = CreateToken | ListTokens | RevokeToken
Query = (
    ListBoards
    | GetBoard
    | GetEvents
    | GetLedger
    | GetAgents
    | GetAgent
    | CertificateValid
    | Keep
    | GetSigningKey
)
