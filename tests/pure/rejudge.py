"""Judging again: every rejection, verdict and certificate in a log follows from the log before it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from blackboard.events import kinds
from blackboard.events.envelope import Event, Row, unseal
from blackboard.gate.case import Need
from blackboard.gate.certify import decide_certificate
from blackboard.gate.check import verdict
from blackboard.gate.decision import Asked
from blackboard.gate.propose import _unread, accept_needs, as_coordinator
from blackboard.gate.sight import compile_needs
from blackboard.gate.write import judge, needed
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared, PreparedWrite, prepare
from blackboard.messages.principal import Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve, settle


def commands(rows: Iterable[Row]) -> Iterator[list[Event]]:
    """The events of a log, command by command."""
    found: list[Event] = []
    for row in rows:
        event = unseal(row)
        if event.first and found:
            yield found
            found = []
        found.append(event)
    if found:
        yield found


def everything_follows(rows: list[Row]) -> Counter[str]:
    """Judge every rejection, verdict and certificate again on its prefix; return how many there were."""
    board, count = Board(), Counter[str]()
    log: list[Event] = []
    for events in commands(rows):
        settle(board)
        for event in events:
            match event.body:
                case kinds.WriteRejected():
                    follows(board, log, event, event.body)
                case kinds.ActionChecked():
                    verdict_follows(board, log, event, event.body)
                case kinds.CertificateIssued():
                    certificate_follows(board, log, event, event.body)
                case _:
                    continue
            count[event.body.KIND] += 1
        for event in events:
            evolve(board, event)
        log += events
    return count


def follows(board: Board, log: list[Event], event: Event, body: kinds.WriteRejected) -> None:
    """Hold what was recorded against what the gate says of the same attempt on this board."""
    if body.code == "revision-missing":
        missing = [attempt.key for attempt in body.writes if attempt.revision is None]
        assert missing == [violation.key for violation in body.rules]
        return
    asked = _asked(board, log, event, body)
    judged = judge(asked, asked.prepared.writes)
    violations = list(judged.violations)
    if body.proposal is not None:
        command = ask.AcceptProposal(proposal=body.proposal, restate=body.restate)
        violations += _unread(asked, command, board.proposals[body.proposal], judged)
    assert violations == body.rules
    assert {attempt.key for attempt in body.writes if attempt.replayed} == set(judged.replays)


def verdict_follows(board: Board, log: list[Event], event: Event, body: kinds.ActionChecked) -> None:
    """Hold a recorded verdict against what the gate says on this board, compiled anew."""
    assert body.head == board.head
    agent = _afresh(board, event)
    command = ask.Check(
        tool=body.tool,
        params=msgspec.json.decode(body.params),
        basis=body.basis,
        allow_unevaluable=body.allow_unevaluable,
    )
    prepared = prepare(command, agent=agent.id)
    assert verdict(board, agent, prepared, _fetch(compile_needs(board, agent, body.tool), log)) == body


def certificate_follows(board: Board, log: list[Event], event: Event, body: kinds.CertificateIssued) -> None:
    """Issue the certificate again on this board."""
    assert body.as_of == board.head
    agent = _afresh(board, event)
    command = ask.IssueCertificate(tool=body.tool)
    fetched = _fetch(compile_needs(board, agent, body.tool), log)
    principal = Principal(role="agent", name=agent.id)
    asked = Asked(board, principal, agent, prepare(command, agent=agent.id), fetched, [])
    (draft,) = decide_certificate(asked, command).drafts
    assert draft.body == body


def _afresh(board: Board, event: Event) -> AgentState:
    """The agent of the event, with nothing remembered."""
    agent = board.agent(event.actor.removeprefix("agent:"))
    board.remembered.clear()
    return agent


def _asked(board: Board, log: list[Event], event: Event, body: kinds.WriteRejected) -> Asked:
    name = event.actor.removeprefix("agent:")
    agent = board.agent(name)
    if body.proposal is not None:
        writes = as_coordinator(agent, board.proposals[body.proposal])
        wanted = accept_needs(board, agent, body.proposal)
    else:
        writes = tuple(_attempted(attempt) for attempt in body.writes)
        wanted = needed(board, agent, writes)
    prepared = Prepared(ask.WriteBatch(writes=[]), b"", writes)
    return Asked(board, Principal(role="agent", name=name), agent, prepared, _fetch(wanted, log), [])


def _attempted(attempt: kinds.AttemptedWrite) -> PreparedWrite:
    # The value is not in the log; its status is, which is all of it that a rule looks at.
    return PreparedWrite(
        attempt.key,
        attempt.revision,
        attempt.status,
        b"",
        attempt.payload_hash or "",
        attempt.confidence,
        attempt.deleted,
        attempt.basis,
    )


def _fetch(wanted: list[Need], log: list[Event]) -> Mapping[Need, Event | None]:
    return {need: _find(need, log) for need in wanted}


def _find(need: Need, log: list[Event]) -> Event | None:
    for event in reversed(log):
        by_revision = need.revision is not None and event.revision == need.revision
        by_seq = need.as_of is not None and event.seq <= need.as_of
        if event.key == need.key and (by_revision or by_seq):
            return event
    return None
