"""Who is asking: what a credential says, and nothing that the request itself claims."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from blackboard.errors import Malformed
from blackboard.records.kinds import AnyRecord, Approval, Chatter, Fact, PolicyRecord, Unevaluable

Role = Literal["agent", "auditor", "operator"]


class Grants(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """What a credential may do beyond its role. Everything defaults to the narrow side.

    `writes`: shell-style patterns of the keys that may be written (None: all but those that policies read
    from the ledger); `prefix`: the keys that bound this agent's full re-read; `report_peers`: may report
    another agent's compaction; `records`: what records may be added (`chatter`, `policy`, `approval`,
    `fact:<pattern of fields>`, and `opaque`: kinds that this release does not know). Operators add every
    kind.
    """

    writes: list[str] | None = None
    prefix: str = ""
    report_peers: bool = False
    records: list[str] = []

    def may_write(self, key: str) -> bool:
        """Whether the key is within the write grant."""
        return self.writes is None or self.names(key)

    def names(self, key: str) -> bool:
        """Whether a pattern of the write grant covers the key: what policies read needs that."""
        return any(fnmatchcase(key, pattern) for pattern in self.writes or ())

    def may_add(self, record: AnyRecord) -> bool:
        """Whether records of this kind (of a fact: of this field) may be added."""
        match record:
            case Fact(field=field):
                given = (grant.removeprefix(_FACT) for grant in self.records if grant.startswith(_FACT))
                return any(fnmatchcase(field, pattern) for pattern in given)
            case _:
                return self.wanted(record) in self.records

    def check_records(self, member: str) -> None:
        """Raise `Malformed` for the first grant in `records` that stands for nothing: a slip of the pen."""
        for index, grant in enumerate(self.records):
            if grant not in _RECORD_GRANTS and not (grant.startswith(_FACT) and len(grant) > len(_FACT)):
                known = ", ".join(_RECORD_GRANTS)
                raise Malformed(
                    f"{grant!r} grants nothing; what can be granted is {known} and fact:<pattern of fields>",
                    member=f"{member}/{index}",
                    value=grant,
                )

    @staticmethod
    def wanted(record: AnyRecord) -> str:
        """The grant that this record takes, as `records` names it."""
        match record:
            case Fact(field=field):
                return _FACT + field
            case Unevaluable(kind=kind):
                # A version that this release does not know may count in the next one.
                return _EVERY_FACT if kind == Fact.KIND else kind if kind in _RECORD_GRANTS else OPAQUE
            case _:
                return record.KIND


OPAQUE = "opaque"
"""The grant for records of a kind that this release does not know."""

_FACT = "fact:"
_EVERY_FACT = _FACT + "*"
_RECORD_GRANTS = (Chatter.KIND, PolicyRecord.KIND, Approval.KIND, OPAQUE)


class Principal(Struct, frozen=True, kw_only=True):
    """An authenticated caller. `name` is the agent's id or the operator's or auditor's name."""

    role: Role
    name: str
    boards: tuple[str, ...] = ("*",)
    grants: Grants = Grants()
    token_id: str | None = None

    @property
    def actor(self) -> str:
        """As it stands in the log: `agent:executor`, `operator:ops`, `auditor:kim`."""
        return f"{self.role}:{self.name}"

    @property
    def agent(self) -> str | None:
        """The agent id, for agents."""
        return self.name if self.role == "agent" else None

    def reaches(self, board: str) -> bool:
        """Whether one of the credential's board patterns covers the board."""
        return any(pattern == "*" or fnmatchcase(board, pattern) for pattern in self.boards)


class Call(Struct, frozen=True, kw_only=True):
    """What travels beside a message: headers over HTTP, arguments when embedded.

    `seen` is the last seq that the caller knows of; `idempotency_key` makes the command repeatable.
    """

    seen: int | None = None
    idempotency_key: str | None = None
