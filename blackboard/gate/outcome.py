"""The answer to a command whose idempotency key is in the log: the outcome of then, the standing of now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blackboard.errors import BlackboardError, RevisionMissing
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.gate.case import Fetched, Need
from blackboard.gate.decide import filled, told_signal
from blackboard.gate.telling import context
from blackboard.gate.write import missing_revision, rejection
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Call, Principal
from blackboard.projections.board import Board


def outcome_needs(board: Board, prepared: Prepared, events: Sequence[Event]) -> list[Need]:
    """The rows that the receipt of a mixed batch needs: its writes that were replays even then."""
    if not isinstance(prepared.command, ask.WriteBatch):
        return []
    written = {event.key for event in events}
    return [
        Need(write.key, revision=write.revision)
        for write in prepared.writes
        if write.revision is not None and write.key not in written
    ]


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
    members |= context(board, principal, call.seen)
    return filled(board, _reply(board, prepared, events, fetched), members)


def _reply(
    board: Board, prepared: Prepared, events: Sequence[Event], fetched: Fetched
) -> say.Reply | BlackboardError:
    for event in events:
        body = event.body
        match body:
            case kinds.WriteRejected():
                return _rejected(body)
            case kinds.EntryWritten():
                return _ack(board, prepared, events, fetched)
            case kinds.AgentCompacted():
                return say.CompactReply(
                    agents=body.agents,
                    base_seq=body.base_seq,
                    unknown_kept=body.unknown,
                    mode=_mode(board, events),
                )
            case kinds.MessagePosted():
                return say.SayReply(cited=body.cited)
            case kinds.WriteProposed():
                return say.ProposeReply(proposal=f"proposal:{event.seq}")
            case kinds.BoardOpened() if isinstance(prepared.command, ask.OpenBoard):
                return say.BoardReply(created=True)
            case _:
                continue
    return say.Done(replayed=True)


def _rejected(body: kinds.WriteRejected) -> BlackboardError:
    if body.code == RevisionMissing.code:
        return missing_revision([rule.key for rule in body.rules if rule.key is not None])
    return rejection(body.code, body.rules, body.remedy)


def _mode(board: Board, events: Sequence[Event]) -> kinds.Mode:
    changed = [event.body.mode for event in events if isinstance(event.body, kinds.BoardModeChanged)]
    return changed[0] if changed else board.mode


def _ack(board: Board, prepared: Prepared, events: Sequence[Event], fetched: Fetched) -> say.Ack:
    written = {event.key: event for event in events if isinstance(event.body, kinds.EntryWritten)}
    keys = [write.key for write in prepared.writes] or [key for key in written if key is not None]
    asked = {write.key: write.revision for write in prepared.writes}
    entries = [
        _receipt(board, event)
        for key in keys
        if (event := written.get(key) or fetched.get(Need(key, revision=asked.get(key)))) is not None
    ]
    superseded = next((entry.superseded_by for entry in entries if entry.superseded_by is not None), None)
    return say.Ack(entries=entries, replayed=True, superseded_by=superseded)


def _receipt(board: Board, event: Event) -> say.AckEntry:
    key = event.key or ""
    entry = board.ledger.entries.get(key)
    later = entry.seq if entry is not None and entry.seq != event.seq else None
    return say.AckEntry(
        key=key,
        revision=event.revision or 0,
        id=f"entry:{event.seq}",
        seq=event.seq,
        replayed=True,
        superseded_by=later,
    )
