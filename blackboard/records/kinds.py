"""The record kinds as they are stored; evaluating them is the action gate's.

Source: "Records" of the action gate's design. `seq` orders records, ids are unique.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

Effect = Literal["deny", "require_approval", "allow"]


class Record(Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Base of every record."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1

    id: str
    seq: int


class PolicyRecord(Record, frozen=True):
    """A rule for a tool (`scope`: a name, `ns.*`, `*` or a list of these)."""

    KIND = "policy"
    scope: str | list[str]
    predicate: dict[str, Any]
    effect: Effect
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None


class Fact(Record, frozen=True):
    """The value of a field, or (`retracted`) that it has none any more."""

    KIND = "fact"
    field: str
    value: Any = None
    retracted: bool = False
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None


class Approval(Record, frozen=True):
    """A person's answer to one policy for one action."""

    KIND = "approval"
    policy: str
    action_digest: str
    granted: bool
    approver: str
    expires_seq: int | None = None
    supersedes: str | None = None


class Chatter(Record, frozen=True):
    """Declared inconsequential, and believed."""

    KIND = "chatter"
    text: str | None = None


RECORD_KINDS: dict[tuple[str, int], type[Record]] = {
    (kind.KIND, kind.VERSION): kind for kind in (PolicyRecord, Fact, Approval, Chatter)
}
"""Record class by (kind, version); anything else is unevaluable."""
