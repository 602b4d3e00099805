"""The answer to a command whose idempotency key is in the log: the outcome of then, the standing of now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blackboard.canonical import parse_exact
from blackboard.errors import BlackboardError, RevisionMissing
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.gate.case import Case, Fetched, Need
from blackboard.gate.certify import issued_before
from blackboard.gate.decide import filled, told_signal
from blackboard.gate.record import added
from blackboard.gate.sight import compile_needs
from blackboard.gate.telling import context
from blackboard.gate.write import acknowledged, missing_revision, receipt, rejection
from blackboard.gate.writes.replay import Replay, needs_earlier, replay
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.prepare import Prepared, PreparedWrite
from blackboard.messages.principal import Call, Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.records import AnyRecord


def outcome_needs(board: Board, prepared: Prepared, events: Sequence[Event]) -> list[Need]:
    """The rows that the receipt of an accepted batch needs: its writes that were replays even then."""
    found: list[Need] = []
    written = {event.key for event in events if isinstance(event.body, kinds.EntryWritten)}
    for event in events:
        if isinstance(event.body, kinds.ProposalAccepted):
            found += [Need(key, revision=revision) for key, revision in event.body.repeats.items()]
        if isinstance(event.body, kinds.CertificateIssued):
            agent = board.agents[event.body.agent]
            found += compile_needs(board, agent, event.body.tool)
    if written:
        cases = (_case(board, events, write, {}) for write in prepared.writes if write.key not in written)
        found += [need for case in cases if (need := needs_earlier(case)) is not None]
    return found


def outcome(
    board: Board,
    principal: Principal,
    prepared: Prepared,
    call: Call,
    events: Sequence[Event],
    *,
    fetched: Fetched,
) -> say.Reply | BlackboardError:
    """Rebuild the reply from the command's events; standing, notices and head are current."""
    signals = [told_signal(e.body, e.seq) for e in events if isinstance(e.body, kinds.SignalRaised)]
    members: dict[str, Any] = {"seq": events[-1].seq, "signals": signals}
    members |= context(board, principal, call.seen, [write.key for write in prepared.writes])
    reply = _reply(board, prepared, events, fetched)
    if isinstance(reply, BlackboardError):
        reply.members["replayed"] = True
    else:
        members["replayed"] = True
    return filled(board, reply, members)


def _reply(
    board: Board, prepared: Prepared, events: Sequence[Event], fetched: Fetched
) -> say.Reply | BlackboardError:
    for event in events:
        body = event.body
        match body:
            case kinds.WriteRejected():
                return _rejected(body)
            case kinds.EntryWritten():
                return acknowledged(_written(board, prepared, events, fetched), replayed=True)
            case kinds.ProposalAccepted():
                return acknowledged(_accepted(board, body, events, fetched), replayed=True)
            case kinds.AgentCompacted():
                return _compacted(body, events)
            case kinds.MessagePosted():
                return say.SayReply(cited=body.cited)
            case kinds.WriteProposed():
                return say.ProposeReply(proposal=f"proposal:{event.seq}")
            case kinds.RecordAdded():
                return added(_record(board, body))
            case kinds.CertificateIssued():
                return issued_before(board, body, event.seq, fetched)
            case kinds.BoardOpened() if isinstance(prepared.command, ask.OpenBoard):
                return say.BoardReply(created=True)
            case _:
                continue
    return say.Done()


def _record(board: Board, body: kinds.RecordAdded) -> AnyRecord:
    found = board.records.get(parse_exact(bytes(body.record))["id"])
    assert found is not None
    return found


def _rejected(body: kinds.WriteRejected) -> BlackboardError:
    if body.code == RevisionMissing.code:
        return missing_revision([rule.key for rule in body.rules if rule.key is not None])
    return rejection(body.code, body.rules, body.remedy)


def _compacted(body: kinds.AgentCompacted, events: Sequence[Event]) -> say.CompactReply:
    modes = [event.body.mode for event in events if isinstance(event.body, kinds.BoardModeChanged)]
    return say.CompactReply(
        agents=body.agents,
        base_seq=body.base_seq,
        unknown_kept=body.unknown,
        lost_kept=body.lost,
        mode=modes[0] if modes else None,
    )


def _written(
    board: Board, prepared: Prepared, events: Sequence[Event], fetched: Fetched
) -> list[say.AckEntry]:
    found = _new(board, events)
    entries = []
    for write in prepared.writes:
        if write.key in found:
            entries.append(found[write.key])
        elif (repeated := replay(_case(board, events, write, fetched))) is not None:
            entries.append(receipt(write.key, repeated))
    return entries


def _accepted(
    board: Board, body: kinds.ProposalAccepted, events: Sequence[Event], fetched: Fetched
) -> list[say.AckEntry]:
    repeated = [fetched.get(Need(key, revision=revision)) for key, revision in body.repeats.items()]
    known = [_entry(board, event) for event in repeated if event is not None]
    return [*_new(board, events).values(), *known]


def _new(board: Board, events: Sequence[Event]) -> dict[str, say.AckEntry]:
    found = [_entry(board, event) for event in events if isinstance(event.body, kinds.EntryWritten)]
    return {entry.key: entry for entry in found}


def _entry(board: Board, event: Event) -> say.AckEntry:
    assert event.key is not None
    assert event.revision is not None
    current = board.ledger.entries[event.key].seq
    superseded_by = current if current != event.seq else None
    return receipt(event.key, Replay(event.seq, event.revision, superseded_by))


def _case(board: Board, events: Sequence[Event], write: PreparedWrite, fetched: Fetched) -> Case:
    author = AgentState(events[0].actor.removeprefix("agent:"))
    return Case(board, author, write, fetched, write.revision or 0)
