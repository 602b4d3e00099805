"""The second act: a refund thread on a board, one compaction, four actions, one block.

The thread has 52 records; the rule that refunds above 5,000 need a person's approval is the eleventh. The
agent's context is compacted to the first eight and the last eight, as most windows are. Nothing about the
compaction differs between the actions, and one of them is blocked. Source: seed 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from blackboard.records.drafts import Chatter, Draft, Fact, Policy

if TYPE_CHECKING:
    from blackboard.client import Board
    from blackboard.messages.verdicts import CheckReply

AGENT = "refund-desk"
RECORDS = 52
KEPT = 8
"""How many of the first and of the last records survive."""

TOOL = "refunds.create"
ACTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (TOOL, {"amount": 8400}),
    (TOOL, {"amount": 120}),
    (TOOL, {"amount": 5000}),
    ("notes.append", {"ticket": 7741}),
)

_SPOKEN = {
    1: "The customer asks for a refund, ticket 7741.",
    9: "The parcel is with the carrier; its claim is open.",
    36: "The carrier has accepted the claim.",
    52: "Agreed: the refund is paid and the ticket closed.",
}


class Checked(NamedTuple):
    """One action and what was said of it; `after` tells what the agent had just done."""

    after: str
    tool: str
    params: dict[str, Any]
    verdict: CheckReply


def thread() -> Iterator[Draft]:
    """The records, oldest first."""
    for number in range(1, RECORDS + 1):
        name = f"f_{number:03}"
        if number == 11:
            text = "Above 5,000 a person approves the refund."
            above = {"field": "amount", "op": "gt", "value": 5000}
            yield Policy(TOOL, above, "require_approval", id=name, text=text)
        elif number == 15:
            yield Fact("customer.tier", "gold", id=name)
        elif number == 20:
            below = {"field": "amount", "op": "lt", "value": 500}
            yield Policy(TOOL, below, "allow", id=name, text="Below 500 it is simply paid.")
        else:
            yield Chatter(_SPOKEN.get(number, f"Message {number} of the thread."), id=name)


async def play_refunds(operator: Board, agent: Board, tell: Callable[[Checked], None]) -> list[Checked]:
    """Add the thread, let the agent read it and lose the middle, check the actions; then read one record.

    `tell` hears of every verdict as it is given.
    """
    for record in thread():
        await operator.add_record(record)
    read = [record["id"] for record in (await agent.read_records()).records]
    await agent.compacted(cause="truncation", kept=[*read[:KEPT], *read[-KEPT:]])
    checked: list[Checked] = []

    async def check(after: str, tool: str, params: dict[str, Any]) -> CheckReply:
        checked.append(Checked(after, tool, params, await agent.check(tool, params)))
        tell(checked[-1])
        return checked[-1].verdict

    after = f"the first {KEPT} and the last {KEPT} of {len(read)} records are left"
    verdicts = [await check(after, tool, params) for tool, params in ACTIONS]
    again = sorted({name for verdict in verdicts for reason in verdict.reasons for name in reason.reread})
    await agent.read_records(again)
    await check(f"{', '.join(again)} is read again", *ACTIONS[0])
    return checked
