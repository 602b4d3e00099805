"""Records as their authors write them: without the seq, which the board gives them.

`id` None: the board names the record `record:<seq>`. What stands in them is checked by the board.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from blackboard.records.digest import action_digest
from blackboard.records.kinds import Effect


class Draft(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="chatter"):
    """Base of every draft."""


class Policy(Draft, frozen=True, tag="policy"):
    """A rule: `scope` is a tool's name, `ns.*`, `*` or a list of these; `predicate` plain JSON."""

    scope: str | list[str]
    predicate: dict[str, Any]
    effect: Effect
    id: str | None = None
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None


class Fact(Draft, frozen=True, tag="fact"):
    """The value of a field, or (`retracted`) that it has none any more."""

    field: str
    value: Any | UnsetType = UNSET
    id: str | None = None
    retracted: bool = False
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None


class Approval(Draft, frozen=True, tag="approval"):
    """An answer to one policy for one action; the approver is who adds it. See `for_action`.

    `text` says why, and makes it a record of version 2, which boards hold from format 3 on.
    """

    policy: str
    action_digest: str
    granted: bool
    id: str | None = None
    supersedes: str | None = None
    expires_seq: int | None = None
    text: str | None = None
    version: int = 1

    def __post_init__(self) -> None:
        """The oldest version that can say it."""
        if self.text is not None:
            force_setattr(self, "version", 2)

    @classmethod
    def for_action(
        cls,
        policy: str,
        tool: str,
        params: Mapping[str, Any],
        *,
        granted: bool = True,
        text: str | None = None,
    ) -> Approval:
        """The answer to `policy` for this call of `tool`, and for no other."""
        return cls(policy, action_digest(tool, params), granted, text=text)


class Chatter(Draft, frozen=True, tag="chatter"):
    """Declared inconsequential, and believed."""

    text: str | None = None
    id: str | None = None
