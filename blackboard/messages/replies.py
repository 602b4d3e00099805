"""What comes back.

Every reply about a board carries the same context (`Reply`), so that an agent learns at its next call,
whatever it calls, that it or a peer was compacted.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from blackboard.events.kinds import KeyRange, Mode
from blackboard.events.policy import Effect, Policy
from blackboard.messages.holdings import HeldRecords, LoggedCheck
from blackboard.messages.principal import Grants, Role

StandingState = Literal["active", "suspected", "compacted"]


class _Part(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    pass


class Standing(_Part, frozen=True):
    """What the caller may do, and the way back.

    `since` is the seq of the demotion, `owed` the number of keys still to be read, `keys` those of them
    (at most 50) that matter to this command, `clear` the call that restores.
    """

    state: StandingState
    since: int | None = None
    why: str | None = None
    may: str | None = None
    owed: int = 0
    keys: list[str] = []
    clear: str | None = None


class Notice(_Part, frozen=True):
    """What the caller should know of others: an agent's latest demotion or restoration, or a change of
    the board's mode, policy or format. `about` is `agent:<id>` or `board`.
    """

    seq: int
    about: str
    what: Literal["compacted", "suspected", "restored", "mode", "policy", "format", "more"]
    detail: str


class Moved(_Part, frozen=True):
    """A key that the caller holds and a peer has advanced."""

    key: str
    revision: int
    writer: str
    seq: int


class RaisedSignal(_Part, frozen=True):
    """A signal raised by this command."""

    name: str
    agent: str
    effect: Effect
    evidence: list[int] = []
    numbers: dict[str, Any] = {}
    key: str | None = None
    seq: int | None = None


class Guarantee(_Part, frozen=True):
    """Whether the board's policy keeps every leg of the guarantee, and which are switched off."""

    intact: bool
    off: list[str] = []


ACTIVE = Standing(state="active")
INTACT = Guarantee(intact=True)


class Reply(Struct, frozen=True, gc=False, kw_only=True):
    """The members that every reply has. `seq` is the last event of this command, None if it left none;
    `head` the board's head after it. All of them always stand in the JSON, also when empty.
    """

    seq: int | None = None
    head: int = 0
    standing: Standing | None = None
    notices: list[Notice] = []
    moved: list[Moved] = []
    signals: list[RaisedSignal] = []
    guarantee: Guarantee | None = None


class AckEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One accepted write. `superseded_by` is the seq of the entry that replaced a replayed one."""

    key: str
    revision: int
    id: str
    seq: int
    replayed: bool = False
    superseded_by: int | None = None


class Outcome(Reply, frozen=True):
    """The outcome of a command that appends.

    `replayed`: the answer to an earlier command, or write, of which this is a repetition.
    """

    replayed: bool = False


class Ack(Outcome, frozen=True):
    """A batch was accepted, or is a replay of one that was."""

    entries: list[AckEntry] = []
    superseded_by: int | None = None


class Entry(Struct, frozen=True, gc=False, kw_only=True):
    """An entry as served. Absent: `value` None, revision 0, no id; deleted: the tombstone's revision."""

    key: str
    value: Any = None
    revision: int = 0
    id: str | None = None
    writer: str | None = None
    written_seq: int | None = None
    deleted: bool = False
    confidence: float | None = None


class EntryReply(Reply, frozen=True):
    """One entry, served and recorded."""

    entry: Entry


class ReadReply(Reply, frozen=True):
    """What was served. `cursor` asks for the next page of a full read; None: that was all.

    `records` are written down as they are, each with its seq; `unknown_records` are ids that no record has.
    """

    entries: list[Entry] = []
    cursor: str | None = None
    records: list[Any] = []
    unknown_records: list[str] = []


class CompactReply(Outcome, frozen=True):
    """`unknown_kept` are record ids that were claimed as kept but never delivered, `lost_kept` those that
    were delivered and that an earlier compaction took: only reading them brings them back.

    `mode` is the board's mode where this report changed it.
    """

    agents: list[str] = []
    base_seq: int = 0
    unknown_kept: list[str] = []
    lost_kept: list[str] = []
    mode: Mode | None = None


class SayReply(Outcome, frozen=True):
    """`cited` are the identifiers in the message that exist on the board."""

    cited: list[str] = []


class ProposeReply(Outcome, frozen=True):
    """`proposal` is the id to accept or refuse."""

    proposal: str = ""


class ProposalWrite(_Part, frozen=True):
    """One proposed write; `held` is the revision that the proposer's view held."""

    key: str
    revision: int
    value: Any = None
    held: int | None = None
    confidence: float | None = None
    deleted: bool = False
    basis: dict[str, int] | None = None


class Proposal(_Part, frozen=True):
    """An open proposal."""

    id: str
    seq: int
    proposer: str
    writes: list[ProposalWrite]
    reason: str = ""


class ProposalsReply(Reply, frozen=True):
    """The open proposals, oldest first."""

    proposals: list[Proposal] = []


class Done(Outcome, frozen=True):
    """It is recorded, or was so before."""


class BoardReply(Outcome, frozen=True):
    """One board: what its operators see. `live_entries` leaves tombstones out."""

    name: str = ""
    format: int = 1
    policy: Policy = Policy()
    mode: Mode = "open"
    coordinator: str | None = None
    created: bool = False
    opened_at: int = 0
    agents: int = 0
    live_entries: int = 0


class BoardSummary(_Part, frozen=True):
    """One line of the list of boards; `opened_at` in microseconds UTC."""

    name: str
    opened_at: int
    head: int


class BoardsReply(Struct, frozen=True, kw_only=True):
    """The boards that the caller reaches, by name."""

    boards: list[BoardSummary]


class EventView(_Part, frozen=True):
    """One event as readers of the log see it. Digests in hex.

    `body` holds the members of the kind, None once redacted; its canonical JSON is what was digested.
    """

    board: str
    seq: int
    kind: str
    version: int
    actor: str
    recorded_at: int
    command_id: str
    body: Any = None
    turn: int | None = None
    key: str | None = None
    revision: int | None = None
    request_digest: str | None = None
    salt: str | None = None
    body_digest: str = ""
    hash: str = ""


class EventsReply(Struct, frozen=True, kw_only=True):
    """A page of the log. `next` is the `after` of the following page, None at the end."""

    events: list[EventView]
    head: int
    next: int | None = None


class LedgerReply(Struct, frozen=True, kw_only=True):
    """The ledger as of `at`. `next` is the `after` of the following page, None at the end.

    `state_digest` is over the whole ledger, in hex, and stands on the first page.
    """

    at: int
    head: int
    entries: list[Entry]
    state_digest: str | None = None
    next: str | None = None


class AgentSummary(_Part, frozen=True):
    """One agent: standing and what its protection costs.

    `reads` counts keys served to it, `rereads` those among them that were owed to a demotion.
    """

    agent: str
    state: StandingState = "active"
    since: int | None = None
    owed: int = 0
    prefix: str = ""
    turn: int | None = None
    commands: int = 0
    reads: int = 0
    rereads: int = 0
    writes: int = 0
    compactions: int = 0
    rejections: dict[str, int] = {}
    signals: dict[str, int] = {}
    checks: dict[str, int] = {}


class AgentsReply(Struct, frozen=True, kw_only=True):
    """Every agent of the board, by id."""

    at: int
    head: int
    agents: list[AgentSummary]


class HeldEntry(_Part, frozen=True):
    """An observation in an agent's view: `revision` None where only an older one was seen.

    `current` is whether the view still holds the current revision.
    """

    key: str
    seen_at: int
    current: bool
    current_revision: int
    revision: int | None = None


class Baselines(_Part, frozen=True):
    """What the signals compare with: see the table of signals."""

    breadth: list[int] = []
    breadth_median: float | None = None
    narrow_run: int = 0
    citations: list[int] = []


class LoggedRejection(_Part, frozen=True):
    """One of an agent's last rejections."""

    seq: int
    code: str
    keys: list[str]


class LoggedSignal(_Part, frozen=True):
    """One of an agent's last signals."""

    seq: int
    signal: str
    effect: Effect
    evidence: list[int] = []


class RangeSeen(_Part, frozen=True):
    """A key range that was served whole, and at which seq."""

    range: KeyRange
    seen_at: int


class AgentReply(Struct, frozen=True, kw_only=True):
    """One agent in full. `base` is the seq up to which its observations are gone."""

    at: int
    head: int
    summary: AgentSummary
    standing: Standing
    base: int
    view: list[HeldEntry]
    ranges: list[RangeSeen]
    baselines: Baselines
    last_rejections: list[LoggedRejection]
    last_signals: list[LoggedSignal]
    view_digest: str
    more: int = 0
    records: HeldRecords = HeldRecords()
    last_checks: list[LoggedCheck] = []


class TokenReply(Struct, frozen=True, kw_only=True):
    """One token. `token` is the secret, shown once, when it is made; times in microseconds UTC."""

    id: str
    role: Role
    name: str
    boards: list[str]
    grants: Grants
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    token: str | None = None


class TokensReply(Struct, frozen=True, kw_only=True):
    """Every token, without its secret."""

    tokens: list[TokenReply]
