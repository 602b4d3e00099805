"""Judging again: every rejection, verdict and certificate follows from the log before it and nothing else.

What the log records of one is enough to ask the gate again, on the board as it was before its command, by
the rules of the board's format of then. Guarantee G5: the answer is the same, member by member.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from blackboard.errors import BlackboardError, RevisionMissing, shorten
from blackboard.events import kinds
from blackboard.events.envelope import Event, encode_body
from blackboard.gate.actions.certificate import LANGUAGE
from blackboard.gate.case import Fetched, Need
from blackboard.gate.certify import decide_certificate
from blackboard.gate.check import verdict
from blackboard.gate.decision import Asked
from blackboard.gate.propose import accept_needs, judge_acceptance
from blackboard.gate.sight import compile_needs
from blackboard.gate.write import judge, needed, rejected, rejected_unnumbered
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared, PreparedWrite, prepare
from blackboard.messages.principal import Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.evolve import settle

Outcome = Literal["same", "different", "not re-judgeable"]

Decided = kinds.WriteRejected | kinds.ActionChecked | kinds.CertificateIssued
"""What the gate says of a command, recorded."""

DECIDED: Final = frozenset({"write.rejected", "action.checked", "certificate.issued"})
"""Their kinds."""

AGENT: Final = "agent:"


class Judgement(Struct, frozen=True):
    """What came of judging event `seq` again; `detail` says what is different, or why it cannot be."""

    seq: int
    kind: str
    outcome: Outcome
    detail: str = ""


class _Unjudgeable(Exception):
    """It cannot be judged again, and its log is not at fault."""


def begin(board: Board, first: Event) -> None:
    """Bring the board before a command, whose first event is `first`, to what its decision looked at.

    What the gate remembers between commands is dropped: an answer has to follow from the log alone.
    """
    settle(board)
    board.remembered.clear()
    if not board.head and isinstance(first.body, kinds.BoardOpened):
        board.format = first.body.format  # a command that opened the board was judged by what it opened with


def needs(board: Board, event: Event) -> list[Need]:
    """The rows without which `event` cannot be judged again; nearly always none."""
    try:
        agent = _agent(board, event)
        match event.body:
            case kinds.WriteRejected(proposal=None) as body:
                return needed(board, agent, _attempted(body))
            case kinds.WriteRejected(proposal=str(proposal)):
                return accept_needs(board, agent, proposal)
            case kinds.ActionChecked(tool=tool) | kinds.CertificateIssued(tool=tool):
                return compile_needs(board, agent, tool)
            case _:
                return []
    except Exception:  # noqa: BLE001 - judging it says what is wrong with it
        return []


def judge_again(board: Board, event: Event, fetched: Fetched) -> Judgement:
    """Hold what was recorded against what the gate says of it on this board, which is as `begin` leaves it.

    `fetched` are the rows that `needs` named. Whatever a stored event makes the gate raise, the log is at
    fault: no gate has recorded it.
    """
    kind = event.body.kind if isinstance(event.body, kinds.Opaque) else event.body.KIND
    try:
        detail = _difference(board, event, fetched)
    except _Unjudgeable as reason:
        return Judgement(event.seq, kind, "not re-judgeable", str(reason))
    except Exception as error:  # noqa: BLE001 - see above
        said = error.detail if isinstance(error, BlackboardError) else repr(error)
        return Judgement(event.seq, kind, "different", f"no gate has said this: {said}")
    return Judgement(event.seq, kind, "different" if detail else "same", detail)


def _difference(board: Board, event: Event, fetched: Fetched) -> str:
    body = event.body
    if board.format > kinds.FORMAT:
        raise _Unjudgeable(f"the board's format {board.format} is one that this release does not know")
    for need, row in fetched.items():
        # Of what an agent held when it wrote, its revision counts, which no redaction takes.
        counts = need.revision is not None or not isinstance(body, kinds.WriteRejected)
        if counts and row is not None and isinstance(row.body, kinds.Opaque):
            raise _Unjudgeable(f"it rests on event {row.seq}, whose body is gone")
    match body:
        case kinds.WriteRejected():
            return _compared(body, _rejection(board, event, body, fetched), board.head)
        case kinds.ActionChecked():
            return _compared(body, _verdict(board, event, body, fetched), board.head)
        case kinds.CertificateIssued():
            return _compared(body, _certificate(board, event, body, fetched), board.head)
        case kinds.Opaque(text=None):
            raise _Unjudgeable("its body is gone")
        case kinds.Opaque():
            raise _Unjudgeable(f"this release does not know version {body.version} of {body.kind}")
        case _:
            raise AssertionError(body.KIND)


def _rejection(
    board: Board, event: Event, body: kinds.WriteRejected, fetched: Fetched
) -> kinds.WriteRejected | None:
    writes = _attempted(body)
    if body.code == RevisionMissing.code:
        return rejected_unnumbered(board, writes)
    if body.proposal is not None:
        command = ask.AcceptProposal(proposal=body.proposal, restate=body.restate)
        asked = _asked(board, event, Prepared(command, b""), fetched)
        judged = judge_acceptance(asked, command, board.proposals[body.proposal])
    else:
        asked = _asked(board, event, Prepared(ask.WriteBatch(writes=[]), b"", writes), fetched)
        judged = judge(asked, writes)
    if not judged.violations:
        return None
    return rejected(asked, judged, proposal=body.proposal, restate=body.restate)


def _attempted(body: kinds.WriteRejected) -> tuple[PreparedWrite, ...]:
    # The value is not in the log; its status is, which is all of it that a rule looks at.
    return tuple(
        PreparedWrite(
            attempt.key,
            attempt.revision,
            attempt.status,
            b"",
            attempt.payload_hash or "",
            attempt.confidence,
            attempt.deleted,
            attempt.basis,
        )
        for attempt in body.writes
    )


def _verdict(board: Board, event: Event, body: kinds.ActionChecked, fetched: Fetched) -> kinds.ActionChecked:
    command = ask.Check(
        tool=body.tool,
        params=msgspec.json.decode(body.params),
        basis=body.basis,
        allow_unevaluable=body.allow_unevaluable,
    )
    agent = _agent(board, event)
    return verdict(board, agent, prepare(command, agent=agent.id), fetched)


def _certificate(
    board: Board, event: Event, body: kinds.CertificateIssued, fetched: Fetched
) -> kinds.CertificateIssued:
    if body.language != LANGUAGE:
        raise _Unjudgeable(f"its language is version {body.language}, and this release speaks {LANGUAGE}")
    command = ask.IssueCertificate(tool=body.tool)
    prepared = prepare(command, agent=_agent(board, event).id)
    (draft,) = decide_certificate(_asked(board, event, prepared, fetched), command).drafts
    assert isinstance(draft.body, kinds.CertificateIssued)
    return draft.body


def _asked(board: Board, event: Event, prepared: Prepared, fetched: Fetched) -> Asked:
    agent = _agent(board, event)
    return Asked(board, Principal(role="agent", name=agent.id), agent, prepared, fetched, [])


def _agent(board: Board, event: Event) -> AgentState:
    """The agent that acted; one that no event concerned before was unknown to the board."""
    name = event.actor.removeprefix(AGENT)
    assert name != event.actor, f"{event.actor} is no agent, and the gate judges agents"
    return board.agents.get(name) or AgentState(name)


def _compared(recorded: Decided, said: Decided | None, head: int) -> str:
    """What is different, in words; empty where nothing is."""
    if said is None:
        return f"on events 1 to {head} the gate refuses nothing of it"
    if recorded == said or encode_body(recorded) == encode_body(said):
        return ""
    differing = [
        name for name in recorded.__struct_fields__ if getattr(recorded, name) != getattr(said, name)
    ]
    first = differing[0]
    return (
        f"on events 1 to {head} the gate says {first} {_shown(getattr(said, first))}, and recorded is "
        f"{_shown(getattr(recorded, first))}; different: {', '.join(differing)}"
    )


def _shown(value: Any) -> str:
    return shorten(
        value if isinstance(value, str | int | bool) or value is None else msgspec.to_builtins(value)
    )
