"""What auditors see of an agent in front of the action gate: what it holds, and its last verdicts."""

from __future__ import annotations

from msgspec import Struct

from blackboard.records.verdict import VerdictWord


class HeldRecords(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """The records of an agent's view by id, oldest first: at most 1,000 in each list, and how many there are.

    `dropped` were delivered and are not held any more, `chatter_dropped` of them were chatter; `unseen`
    counts those that were never delivered.
    """

    held: list[str] = []
    held_count: int = 0
    dropped: list[str] = []
    dropped_count: int = 0
    chatter_dropped: int = 0
    unseen: int = 0


class LoggedCheck(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One of an agent's last checks; `codes` are those of its reasons."""

    seq: int
    tool: str
    verdict: VerdictWord
    codes: list[str] = []
