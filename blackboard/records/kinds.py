"""The record kinds: what can bind an action.

`seq` orders records, ids are unique. A record of a kind or version that is not known is kept whole as
`Unevaluable`. Kinds have versions of their own: a struct is the newest one, and older ones are lifted to it
where records are read. Source: "Records" of the action gate's design.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType

from blackboard.records.predicate import Predicate

Effect = Literal["deny", "require_approval", "allow"]


class Record(Struct, frozen=True, gc=False, kw_only=True):
    """Base of every record."""

    KIND: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1

    id: str
    seq: int


class PolicyRecord(Record, frozen=True, gc=False):
    """A rule for the tools of its scope: sorted patterns, each a name, `ns.*` or `*`."""

    KIND = "policy"
    scope: tuple[str, ...]
    predicate: Predicate
    effect: Effect
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None


class Fact(Record, frozen=True, gc=False):
    """The value of a field (exact JSON), or (`retracted`) that it has none any more."""

    KIND = "fact"
    field: str
    value: Any | UnsetType = UNSET
    retracted: bool = False
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None


class Approval(Record, frozen=True, gc=False):
    """A person's answer to one policy for one action, named by its digest in hex; `text` says why."""

    KIND = "approval"
    VERSION = 2
    policy: str
    action_digest: str
    granted: bool
    approver: str
    expires_seq: int | None = None
    supersedes: str | None = None
    text: str | None = None


class Chatter(Record, frozen=True, gc=False):
    """Declared inconsequential, and believed."""

    KIND = "chatter"
    text: str | None = None


class Unevaluable(Record, frozen=True, gc=False):
    """A record that this release cannot evaluate; `members` are those beside id, seq, kind and version."""

    kind: str
    version: int
    members: dict[str, Any]


RECORD_KINDS: dict[tuple[str, int], type[Record]] = {
    (kind.KIND, kind.VERSION): kind for kind in (PolicyRecord, Fact, Approval, Chatter)
}
"""Record class by (kind, newest version)."""

NEWEST: dict[str, int] = {kind.KIND: kind.VERSION for kind in RECORD_KINDS.values()}
"""The newest version of each kind that can be evaluated, as files know it; anything else is unevaluable."""

_BEFORE_3 = NEWEST | {Approval.KIND: 1}

EVALUABLE: dict[int, dict[str, int]] = {1: _BEFORE_3, 2: _BEFORE_3, 3: NEWEST}
"""The same by board format: what was unevaluable where it was added stays so. Format 3 added the text of an
approval."""

Evaluable = PolicyRecord | Fact | Approval | Chatter
AnyRecord = Evaluable | Unevaluable


def kind_of(record: Record) -> str:
    """The kind as it is written down."""
    return record.kind if isinstance(record, Unevaluable) else record.KIND


def expires_of(record: Record) -> int | None:
    """The seq from which on the record is dead, None for never."""
    expires: int | None = getattr(record, "expires_seq", None)
    return expires


def supersedes_of(record: Record) -> str | None:
    """The id of the record that this one replaces."""
    supersedes: str | None = getattr(record, "supersedes", None)
    return supersedes
