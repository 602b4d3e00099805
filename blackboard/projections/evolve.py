"""The fold: `evolve(board, event)` moves a board on by one event, in place.

Pure in the sense that counts: the same board and event give the same board. It never refuses; what may
happen is decided before. A kind that this release does not know only moves the head.
"""

from __future__ import annotations

from typing import Literal, assert_never

from blackboard import canonical
from blackboard.errors import IntegrityFailure, Malformed
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.events.policy import SignalSetting
from blackboard.projections.agent import AgentState, Checked, Raised, Refused
from blackboard.projections.board import Board, Move, Notable, OpenProposal
from blackboard.projections.certificates import Basis
from blackboard.projections.ledger import Entry
from blackboard.projections.status import status_of_raw
from blackboard.records import EVALUABLE, NEWEST, read_record

BREADTH = "write-breadth"
MALFORMED_ATTEMPT = "revision-missing"
LISTED = 50
"""How many keys of one rejection are remembered."""


def evolve(board: Board, event: Event) -> None:
    """Fold one event, whose seq is `board.head + 1`."""
    actor = event.actor
    agent = board.agent(actor[6:]) if actor.startswith("agent:") else None
    if event.first:
        _begin(board, agent, event)
    _fold(board, agent, event)
    board.head = event.seq


def settle(board: Board) -> None:
    """Complete the turn of a command without a turn number, once that command is over."""
    if board.unsettled is not None:
        board.unsettled.breadth.settle(_breadth_setting(board))
        board.unsettled = None


def _breadth_setting(board: Board) -> SignalSetting:
    return board.policy.signals[BREADTH]


def _begin(board: Board, agent: AgentState | None, event: Event) -> None:
    settle(board)
    if agent is None:
        return
    body = event.body
    agent.counts.commands += 1
    if not (type(body) is kinds.BoardRead and body.page is not None and body.page > 1):
        agent.recent.append(event.seq)
    if event.turn is not None:
        agent.breadth.enter(event.turn, _breadth_setting(board))


def _fold(board: Board, agent: AgentState | None, event: Event) -> None:  # noqa: C901, PLR0912 - a closed union
    body = event.body
    match body:
        case kinds.EntryWritten():
            _written(board, agent, event, body)
        case kinds.BoardRead():
            _read(board, agent, event.seq, body)
        case kinds.WriteRejected():
            _rejected(board, agent, event, body)
        case kinds.AgentCompacted():
            _compacted(board, event, body)
        case kinds.SignalRaised():
            _signal(board, event.seq, body)
        case kinds.MessagePosted():
            _message(agent, event.seq, body)
        case kinds.ActionChecked():
            _checked(agent, event.seq, body)
        case kinds.RecordAdded():
            _record_added(board, agent, event.seq, body)
        case kinds.CertificateIssued():
            _certified(board, event.seq, body)
        case kinds.TurnEnded():
            _turn_ended(board, agent)
        case kinds.WriteProposed():
            _proposed(board, event, body)
        case kinds.ProposalAccepted():
            _decided(board, body.proposal, "accepted", event.seq)
        case kinds.ProposalRefused():
            _decided(board, body.proposal, "refused", event.seq)
        case kinds.AgentJoined():
            _joined(board, event.seq, body)
        case kinds.BoardModeChanged():
            _mode(board, event.seq, body)
        case kinds.BoardPolicyChanged():
            if body.policy.unseen != board.policy.unseen:
                board.unseen_since = event.seq
            board.set_policy(body.policy)
            board.note("policy", Notable(event.seq, "policy", _policy_words(board)))
        case kinds.BoardFormatRaised():
            board.format = body.format
            board.note("format", Notable(event.seq, "format", f"the board's format is now {body.format}"))
        case kinds.BoardOpened():
            board.name, board.format = body.name, body.format
            board.set_policy(body.policy)
            board.opened_at = event.recorded_at
        case kinds.Opaque():
            pass
        case _:
            assert_never(body)


def _written(board: Board, agent: AgentState | None, event: Event, body: kinds.EntryWritten) -> None:
    key, revision, seq = event.key, event.revision, event.seq
    assert key is not None
    assert revision is not None
    ledger = board.ledger
    before = ledger.entries.get(key)
    if before is not None:
        key = before.key
    writer = agent.id if agent is not None else event.actor
    if body.deleted and before is not None and not before.deleted:
        _strike_deleted(board, before, seq)
    ledger.put(
        Entry(
            key,
            bytes(body.value),
            revision,
            writer,
            seq,
            bytes.fromhex(body.payload_hash),
            before.born if before is not None and not before.deleted else seq,
            revision if body.asserted is None else body.asserted,
            body.deleted,
            body.confidence,
            _last_status(before, board) if body.deleted else None,
        )
    )
    board.moves.append(Move(seq, key, revision, writer))
    if key in board.records.ledger_keys:
        board.records.touch_key(key, seq)
    if agent is not None:
        _own_write(board, agent, key, event, body)


def _last_status(before: Entry | None, board: Board) -> str | None:
    if before is None:
        return None
    if before.deleted:
        return before.last_status
    return status_of_raw(before.value, board.policy.status_pointer)


def _own_write(board: Board, agent: AgentState, key: str, event: Event, body: kinds.EntryWritten) -> None:
    view, seq = agent.view, event.seq
    agent.note_habit(key, read_before=view.last_read(key) > view.writes.get(key, 0))
    view.writes[key] = seq
    agent.view_version = seq
    agent.counts.writes += 1
    agent.breadth.tried_one(key, event.turn, seq)
    if event.turn is None:
        board.unsettled = agent
    if body.confidence is not None:
        agent.confidence[key] = (body.confidence, seq)


def _strike_deleted(board: Board, entry: Entry, seq: int) -> None:
    for agent in sorted(board.demoted.values(), key=lambda demoted: demoted.id):
        if agent.demotion.owes(agent.view, entry):
            agent.demotion.owed -= 1
            _restore(board, agent, seq)


def _restore(board: Board, agent: AgentState, seq: int) -> None:
    if agent.demotion.restore():
        del board.demoted[agent.id]
        words = f"{agent.id} has read everything again and is active"
        board.note(f"agent:{agent.id}", Notable(seq, "restored", words))


def _read(board: Board, agent: AgentState | None, seq: int, body: kinds.BoardRead) -> None:
    if agent is None:
        return
    view, demotion = agent.view, agent.demotion
    agent.view_version = seq
    for proposal in body.proposals:
        agent.proposals[proposal] = seq
    if body.records:
        _deliver(board, agent, seq, body.records)
    if board.records.ledger_keys and _reads_for_rules(board, body):
        agent.gate_version = seq
    if body.range is not None:
        _strike_range(board, agent, body.range)
        view.read_range(body.range.after, body.range.through, body.range.prefix, seq)
        agent.counts.reads += body.served
        demotion.served = True
    entries, reads = board.ledger.entries, view.reads
    # Sorted, as the stored body is: the order in which keys were asked for is not in the log.
    for key in sorted(body.keys) if len(body.keys) > 1 else body.keys:
        entry = entries.get(key)
        if entry is not None:
            key = entry.key  # noqa: PLW2901 - one string object a key, however many agents read it
            if demotion.stands and demotion.owes(view, entry):
                demotion.owed -= 1
                agent.counts.rereads += 1
        reads[key] = seq
        agent.counts.reads += 1
        demotion.served = True
    if demotion.stands:
        _restore(board, agent, seq)


def _deliver(board: Board, agent: AgentState, seq: int, records: list[str]) -> None:
    agent.gate_version = seq
    for name in records:
        position = board.records.position(name)
        assert position is not None
        agent.holding.deliver(position, seq, board.records)


def _reads_for_rules(board: Board, body: kinds.BoardRead) -> bool:
    """Whether what was read can hold a key that rules read from the ledger."""
    return body.range is not None or not board.records.ledger_keys.keys().isdisjoint(body.keys)


def _strike_range(board: Board, agent: AgentState, served: kinds.KeyRange) -> None:
    if not agent.demotion.stands:
        return
    for entry in board.ledger.under(served.prefix, served.after):
        if served.through is not None and entry.key > served.through:
            return
        if agent.demotion.owes(agent.view, entry):
            agent.demotion.owed -= 1
            agent.counts.rereads += 1


def _rejected(board: Board, agent: AgentState | None, event: Event, body: kinds.WriteRejected) -> None:
    if agent is None:
        return
    tried = [write.key for write in body.writes if not write.replayed]
    agent.refusals[body.code] = agent.refusals.get(body.code, 0) + 1
    agent.refused.append(Refused(event.seq, body.code, tried[:LISTED]))
    if body.code == MALFORMED_ATTEMPT:
        return
    agent.breadth.tried(tried, event.turn, event.seq)
    if event.turn is None:
        board.unsettled = agent
    for write in body.writes:
        if write.confidence is not None and not write.replayed:
            agent.confidence[write.key] = (write.confidence, event.seq)


def _compacted(board: Board, event: Event, body: kinds.AgentCompacted) -> None:
    found = (board.records.position(name) for name in body.kept or ())
    kept = [position for position in found if position is not None]
    for name in body.agents:
        agent = board.agent(name)
        agent.view.compact(body.base_seq, event.seq)
        agent.holding.compact(body.base_seq, kept, board.records)
        agent.view_version = agent.gate_version = event.seq
        agent.counts.compactions += 1
        why = f"compacted ({body.cause}), declared by {_DECLARERS[body.declared_by]} in event {event.seq}"
        _demote(board, agent, event.seq, why, suspected=False)


_DECLARERS = {"self": "itself", "peer": "a peer", "operator": "an operator"}


def _signal(board: Board, seq: int, body: kinds.SignalRaised) -> None:
    agent = board.agent(body.agent)
    agent.signals[body.signal] = agent.signals.get(body.signal, 0) + 1
    agent.raised.append(Raised(seq, body.signal, body.effect, list(body.evidence)))
    if body.effect == "suspect":
        why = f"suspected of a silent compaction: signal {body.signal} in event {seq}"
        _demote(board, agent, seq, why, suspected=True)


def _demote(board: Board, agent: AgentState, seq: int, why: str, *, suspected: bool) -> None:
    agent.demotion.demote(board.ledger, seq, why, suspected=suspected)
    board.demoted[agent.id] = agent
    what = agent.demotion.state
    board.note(f"agent:{agent.id}", Notable(seq, "suspected" if what == "suspected" else "compacted", why))


def _message(agent: AgentState | None, seq: int, body: kinds.MessagePosted) -> None:
    if agent is not None:
        agent.counts.messages += 1
        agent.citations.append((seq, len(body.cited)))


def _record_added(board: Board, agent: AgentState | None, seq: int, body: kinds.RecordAdded) -> None:
    raw = bytes(body.record)
    try:
        known = EVALUABLE.get(board.format, NEWEST)
        record = read_record(canonical.parse_exact(raw) | {"seq": seq}, known=known)
        board.records.check(record)
    except Malformed as error:
        raise IntegrityFailure(
            f"the record in event {seq} is none: {error.detail}", members={"kind": body.KIND, "seq": seq}
        ) from error
    position = board.records.add(record)
    board.recorded = canonical.digest(board.recorded, seq.to_bytes(8, "big"), raw)
    if agent is not None:
        agent.holding.deliver(position, seq, board.records)
        agent.view_version = agent.gate_version = seq


def _checked(agent: AgentState | None, seq: int, body: kinds.ActionChecked) -> None:
    if agent is not None:
        agent.verdicts[body.verdict] = agent.verdicts.get(body.verdict, 0) + 1
        codes = [reason.code for reason in body.reasons[:LISTED]]
        agent.checked.append(Checked(seq, body.tool, body.verdict, codes))


def _certified(board: Board, seq: int, body: kinds.CertificateIssued) -> None:
    basis = Basis(body.agent, body.tool, seq, body.view, body.clock, body.language, body.valid_until_seq)
    board.certificates.issue(seq, body.as_of, basis)


def _turn_ended(board: Board, agent: AgentState | None) -> None:
    if agent is not None:
        agent.breadth.end(_breadth_setting(board))


def _proposed(board: Board, event: Event, body: kinds.WriteProposed) -> None:
    proposer = event.actor.removeprefix("agent:")
    board.proposals[f"proposal:{event.seq}"] = OpenProposal(
        event.seq, proposer, list(body.writes), body.reason
    )


def _decided(board: Board, proposal: str, decision: Literal["accepted", "refused"], seq: int) -> None:
    board.proposals.pop(proposal, None)
    for agent in board.agents.values():
        agent.proposals.pop(proposal, None)
    board.closed[proposal] = (decision, seq)


def _joined(board: Board, seq: int, body: kinds.AgentJoined) -> None:
    agent = board.agent(body.agent)
    agent.joined = True
    agent.demotion.rebound(board.ledger, agent.view, body.prefix)
    _restore(board, agent, seq)


def _mode(board: Board, seq: int, body: kinds.BoardModeChanged) -> None:
    board.mode = body.mode
    board.coordinator = body.coordinator if body.mode == "single-writer" else None
    pen = f"; {body.coordinator or 'nobody'} coordinates" if body.mode == "single-writer" else ""
    why = f" ({body.why})" if body.why else ""
    board.note("mode", Notable(seq, "mode", f"the board is in {body.mode} mode{pen}{why}"))


def _policy_words(board: Board) -> str:
    off = board.legs_off
    return "the policy changed" + (f"; switched off: {', '.join(off)}" if off else "")
