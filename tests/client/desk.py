"""What tests of the action gate on boards share: a refund desk, and records in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blackboard import Approval, Chatter, CheckReply, Fact, Policy
from blackboard.client import Board
from blackboard.records.drafts import Draft
from tests.client.drive import Place

TOOL = "refunds.create"
LARGE: dict[str, Any] = {"field": "amount", "op": "gt", "value": 5000}
CAP = Policy(TOOL, LARGE, "deny", id="cap")
SMALL, BIG = {"amount": 120}, {"amount": 8400}
ASK = Policy(TOOL, LARGE, "require_approval", id="cap")
YES = Approval.for_action("cap", TOOL, BIG)


def atom(field: str, value: Any, op: str = "eq", source: str | None = None, **more: Any) -> dict[str, Any]:
    """A predicate of one atom."""
    return {"field": field, "op": op, "value": value, **({"source": source} if source else {}), **more}


GOLD = atom("tier", "gold", source="fact")
NOT_GOLD = {"not": GOLD}
OLD, NEW = Fact("tier", "gold", id="old"), Fact("tier", "base", id="new")

GREEN, RED = {"light": "green"}, {"light": "red"}


def light(effect: Any, color: str, **more: Any) -> Policy:
    """A rule that reads from the ledger whether `/light` of `task/B` is of this color."""
    predicate = atom("task/B", color, source="ledger", at="/light", **more)
    return Policy(TOOL, predicate, effect, id="light")


MIXED: list[Any] = [
    CAP,
    OLD,
    NEW,
    Policy(TOOL, NOT_GOLD, "deny", id="p"),
    Fact("mood", "fine", id="m"),
    Chatter("hello", id="c"),
    {"kind": "summary", "id": "s"},
]


async def desk(
    place: Place, *records: Draft | Mapping[str, Any], policy: Mapping[str, Any] | None = None, **grants: Any
) -> tuple[Board, Board]:
    """The operator of a fresh board, who has added `records`, and an agent `a` that has read nothing."""
    operator = await place.operator()
    await operator.open_board(policy)
    for record in records:
        await operator.add_record(record)
    return operator, await place.agent("a", **grants)


def codes(reply: CheckReply) -> list[str]:
    """The codes of the reasons, in their order."""
    return [reason.code for reason in reply.reasons]


def noted(reply: CheckReply) -> dict[str, str | None]:
    """The codes of the notes, each with what it is about; the count of chatter left out."""
    return {note.code: note.id for note in reply.notes if note.code != "dropped as chatter"}


def told(reply: CheckReply) -> tuple[str, list[str], str]:
    """The verdict, the codes of its reasons, and the second answer."""
    return reply.verdict, codes(reply), reply.policy.answer
