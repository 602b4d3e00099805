"""A check: the verdict on one action of one agent, and everything that it takes to judge it again.

It is an event like any other, whatever it says: the decision and the log can never disagree.
Source: "The verdict" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Raw
from msgspec.structs import force_setattr

from blackboard import canonical
from blackboard.events import kinds
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.judging import judge
from blackboard.gate.basis import moved
from blackboard.gate.case import Fetched
from blackboard.gate.decision import Asked, Decision
from blackboard.gate.formats import check_format
from blackboard.gate.sight import compiled_for
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared
from blackboard.messages.verdicts import CheckReply
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.records.verdict import Answer, Reason

BASIS_MOVED: Final = "basis-moved"
_TAG: Final = b"blackboard/verdict/1\0"


def decide_check(asked: Asked, command: ask.Check) -> Decision:
    """Judge the action on the board as it stands, and record the verdict."""
    check_format(asked.board, "checks")
    body = verdict(asked.board, asked.agent, asked.prepared, asked.fetched)
    told = [*(command.basis or ()), *(key for reason in body.reasons for key in reason.keys)]
    return asked.decide([body], reply(body, asked.next_seq), list(dict.fromkeys(told)))


def verdict(board: Board, agent: AgentState, prepared: Prepared, fetched: Fetched) -> kinds.ActionChecked:
    """What the gate says of a prepared check, with all that it takes to say it again."""
    command = prepared.command
    assert isinstance(command, ask.Check)
    assert prepared.params is not None
    compiled = compiled_for(board, agent, command.tool, fetched)
    judged = judge(
        compiled,
        Action(command.tool, prepared.params),
        unseen=board.policy.unseen,
        allow_unevaluable=command.allow_unevaluable,
        moved=list(_moved(board, agent, command.basis)) if command.basis else (),
    )
    body = kinds.ActionChecked(
        tool=command.tool,
        params=Raw(prepared.raw),
        verdict=judged.word,
        head=board.head,
        policy=judged.policy,
        digest="",
        basis=command.basis,
        allow_unevaluable=command.allow_unevaluable,
        reasons=judged.reasons,
        notes=judged.notes(),
        records=_deciding(judged.reasons, judged.policy),
    )
    # In place, and not by a copy: nobody has it yet, and every check passes here.
    force_setattr(body, "digest", canonical.digest(_TAG, canonical.encode(body)).hex())
    return body


def _moved(board: Board, agent: AgentState, basis: dict[str, int]) -> Iterator[Reason]:
    for key, why in moved(board, agent, basis).items():
        held = "" if why["held"] else " and the agent does not hold that"
        detail = f"the decision rests on revision {why['named']} of {key!r}; it is at {why['current']}{held}"
        yield Reason(code=BASIS_MOVED, id=key, detail=f"{detail}: read it, then decide again", keys=[key])


def _deciding(reasons: Iterable[Reason], policy: Answer) -> list[str]:
    """The ids of the records that decide, each once."""
    found = set(policy.rules)
    for reason in reasons:
        if reason.code != BASIS_MOVED:
            found |= {reason.id, *reason.missing}
    return sorted(found)


def reply(body: kinds.ActionChecked, seq: int) -> CheckReply:
    """The answer to whoever asked, from what is recorded in event `seq`."""
    return CheckReply(
        verdict=body.verdict,
        policy=body.policy,
        id=f"check:{seq}",
        tool=body.tool,
        reasons=body.reasons,
        notes=body.notes,
        records=body.records,
        judged_at=body.head,
        digest=body.digest,
    )
