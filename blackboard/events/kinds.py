"""What can be recorded: the closed union of event bodies.

A body is the part of an event that its kind defines; the envelope (`envelope.py`) carries the rest.
`KIND` and `VERSION` are the strings that stand in the log: constants, never class names.
Sequence numbers in bodies are those of the same board. Members equal to their default are left out.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import msgspec
from msgspec import Struct

from blackboard.events.policy import Effect, Policy
from blackboard.records.verdict import Answer, Note, Reason, VerdictWord

Cause = Literal["summary", "truncation", "eviction", "clear", "unknown"]
Notify = Literal["in-band", "impossible"]
Mode = Literal["open", "single-writer"]
Declarer = Literal["self", "peer", "operator"]


class Body(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every event body."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1


class BoardOpened(Body, frozen=True):
    """The first event of every board."""

    KIND = "board.opened"
    name: str
    policy: Policy
    format: int


class BoardPolicyChanged(Body, frozen=True):
    """The policy from here on, whole."""

    KIND = "board.policy-changed"
    policy: Policy


class BoardFormatRaised(Body, frozen=True):
    """The vocabulary and gate version from here on."""

    KIND = "board.format-raised"
    format: int


class BoardModeChanged(Body, frozen=True):
    """`coordinator` holds the pen in single-writer mode; None there means that nobody does."""

    KIND = "board.mode-changed"
    mode: Mode
    coordinator: str | None = None
    why: str = ""


class AgentJoined(Body, frozen=True):
    """`prefix` bounds the agent's full re-read; it comes from its token or the operator."""

    KIND = "agent.joined"
    agent: str
    prefix: str = ""


class EntryWritten(Body, frozen=True):
    """One accepted write. Key and revision stand in the envelope.

    `value` is canonical JSON text (null for a tombstone); `payload_hash` 64 hex digits;
    `asserted` the revision that the caller named, where the stored one differs (advisory mode).
    """

    KIND = "entry.written"
    payload_hash: str
    value: msgspec.Raw
    asserted: int | None = None
    basis: dict[str, int] | None = None
    confidence: float | None = None
    deleted: bool = False


class AttemptedWrite(
    Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True
):
    """One write of a refused batch, without its value.

    `status` is that of the value, as the gate reads it: what the completion rule needs to be judged again.
    `replayed` marks a write that was a replay of an accepted one.
    """

    key: str
    revision: int | None = None
    payload_hash: str | None = None
    status: str | None = None
    confidence: float | None = None
    deleted: bool = False
    basis: dict[str, int] | None = None
    replayed: bool = False


class Violation(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """One rule that one write breaks.

    `evidence` holds the numbers compared and the seqs that prove it; its members are listed with each
    rule. `detail` says the same in words.
    """

    code: str
    key: str | None = None
    detail: str = ""
    evidence: dict[str, Any] = {}


class Remedy(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """What to do before the next attempt: `keys` (at most 50) and `records` to read again.

    `more` counts the keys that are not listed; `call` is the call that helps.
    """

    detail: str
    keys: list[str] = []
    records: list[str] = []
    more: int = 0
    call: str = ""


class WriteRejected(Body, frozen=True):
    """A refused batch: the code, every violated rule, and what was asked for.

    `proposal` names the proposal whose acceptance failed, and `restate` whether it was restated.
    """

    KIND = "write.rejected"
    code: str
    rules: list[Violation]
    writes: list[AttemptedWrite]
    remedy: Remedy | None = None
    proposal: str | None = None
    restate: bool = False


class KeyRange(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The keys `after < key <= through`, in code-point order; None is the open end.

    `prefix` bounds the range to the keys that start with it.
    """

    after: str | None = None
    through: str | None = None
    prefix: str = ""


class BoardRead(Body, frozen=True):
    """What was served: single keys with their revisions (absent = 0), a range as of `head`, or records.

    `page` is 1 for the first page of a full read and counts on, None for a read by keys or ids; `served` is
    the number of entries that a page of a range held. `records` are ids, in the order of the records.
    """

    KIND = "board.read"
    keys: dict[str, int] = {}
    range: KeyRange | None = None
    head: int | None = None
    page: int | None = None
    served: int = 0
    records: list[str] = []
    proposals: list[str] = []


class Tokens(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """Sizes in tokens: of the context before and after a compaction, and of the window that holds it."""

    before: int | None = None
    after: int | None = None
    window: int | None = None


class AgentCompacted(Body, frozen=True):
    """What these agents observed at or before `base_seq` has left their context.

    `kept` are the record ids that survive, None where that is not known (nothing is kept then). `unknown`
    were claimed to survive and never delivered to the agent, `lost` were delivered and gone before. Several
    agents: one of them was compacted, and nobody knows which. `tokens` is None where no size was given.
    """

    KIND = "agent.compacted"
    VERSION = 2
    agents: list[str]
    base_seq: int
    cause: Cause = "unknown"
    declared_by: Declarer = "self"
    kept: list[str] | None = None
    unknown: list[str] = []
    lost: list[str] = []
    notify: Notify = "in-band"
    summary_digest: str | None = None
    tokens: Tokens | None = None


class MessagePosted(Body, frozen=True):
    """`cited` are the identifiers in `text` that existed on the board, found by the server.

    `about`, where nothing is cited, says how the message speaks of the board's state, if it does: it names
    a `key`, a `status` or a `category`. `reply_to` is the seq of the message that it answers.
    """

    KIND = "message.posted"
    VERSION = 2
    text: str
    recipients: list[str] = []
    cited: list[str] = []
    about: str | None = None
    reply_to: int | None = None


class ProposedWrite(
    Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True, kw_only=True
):
    """One write of a proposal. `held` is the revision that the proposer's view held, None for none."""

    key: str
    revision: int
    value: msgspec.Raw
    held: int | None = None
    confidence: float | None = None
    deleted: bool = False
    basis: dict[str, int] | None = None


class WriteProposed(Body, frozen=True):
    """A proposal; its id is `proposal:<seq>`."""

    KIND = "write.proposed"
    writes: list[ProposedWrite]
    reason: str = ""


class ProposalAccepted(Body, frozen=True):
    """Followed by its `entry.written` events in the same commit.

    `repeats` are those of its writes that the coordinator had made before, as key and revision: no event
    follows for them.
    """

    KIND = "proposal.accepted"
    proposal: str
    repeats: dict[str, int] = {}
    restate: bool = False


class ProposalRefused(Body, frozen=True):
    """The coordinator said no, and why."""

    KIND = "proposal.refused"
    proposal: str
    reason: str = ""


class TurnEnded(Body, frozen=True):
    """The agent's turn is over; its number stands in the envelope."""

    KIND = "turn.ended"


class SignalRaised(Body, frozen=True):
    """Advisory: `numbers` are what was compared, `evidence` the seqs that prove it."""

    KIND = "signal.raised"
    signal: str
    agent: str
    effect: Effect
    evidence: list[int] = []
    numbers: dict[str, Any] = {}
    key: str | None = None


class RecordAdded(Body, frozen=True):
    """One typed record: canonical JSON of all its members but the seq, which is the event's.

    The board filled in the id `record:<seq>` where its author named none, and the approver.
    """

    KIND = "record.added"
    record: msgspec.Raw


class ActionChecked(Body, frozen=True):
    """A verdict of the action gate, with all that it takes to judge again on the log up to `head`.

    Who acts is the event's actor; `params` are canonical JSON. `records` are the ids of those that decide:
    the ones that the reasons name, and those of the answer `policy`. `digest` is that of the whole verdict
    (`canonical.digest` in hex): two that agree were judged alike.
    """

    KIND = "action.checked"
    tool: str
    params: msgspec.Raw
    verdict: VerdictWord
    head: int
    policy: Answer
    digest: str
    basis: dict[str, int] | None = None
    allow_unevaluable: bool = False
    reasons: list[Reason] = []
    notes: list[Note] = []
    records: list[str] = []


class CertificateIssued(Body, frozen=True):
    """A certificate; its id is `certificate:<seq>`, `digest` that of the document before it is signed.

    `full` and `held` are digests of the records up to `as_of`, and of those that the agent held of them.

    It speaks of the log up to `as_of`, of this version of the agent's view and this clock of the tool: while
    these stand and the head is below `valid_until_seq` (None: for ever), it is valid.
    """

    KIND = "certificate.issued"
    agent: str
    tool: str
    as_of: int
    view: int
    clock: int
    digest: str
    full: str
    held: str
    language: int
    valid_until_seq: int | None = None


class Opaque(Body, frozen=True):
    """An event whose (kind, version) this release does not know: chained, counted, not folded."""

    KIND = ""
    kind: str
    version: int
    text: str | None = None


EventBody = (
    BoardOpened
    | BoardPolicyChanged
    | BoardFormatRaised
    | BoardModeChanged
    | AgentJoined
    | EntryWritten
    | WriteRejected
    | BoardRead
    | AgentCompacted
    | MessagePosted
    | WriteProposed
    | ProposalAccepted
    | ProposalRefused
    | TurnEnded
    | SignalRaised
    | RecordAdded
    | ActionChecked
    | CertificateIssued
)
"""The closed union: the fold in `projections` matches it exhaustively."""

KINDS: dict[tuple[str, int], type[EventBody]] = {
    (body.KIND, body.VERSION): body for body in get_args(EventBody)
}
"""Body class by (kind, version): the newest version of every kind."""

FORMAT = 3
"""The newest board format that this release reads and writes; see `vocabulary.VOCABULARY`."""

WITH_RECORDS = 2
"""The first format whose boards hold records, verdicts and certificates."""

WITH_REPLIES = 3
"""The first format that can say which message one answers, how large a window is, and why an approval was
given."""
