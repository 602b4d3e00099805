"""Single-writer mode: propose, accept, refuse. Source: seed 1, last decision boundary.

An accepted proposal is judged by every rule as of now, as the coordinator's write. Because that alone would
let a proposer overwrite what it never saw, a proposal records what its proposer held, and nothing is accepted
unread.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from blackboard import canonical
from blackboard.errors import NotAllowed, ProposalClosed, UnknownProposal
from blackboard.events import kinds
from blackboard.gate.authorize import authorize_write
from blackboard.gate.case import Case, Need
from blackboard.gate.decision import Asked, Decision
from blackboard.gate.write import Judged, accept, check_licences, judge, missing_revision, needed, refuse
from blackboard.gate.writes.unseen_revision import CODE as UNSEEN
from blackboard.gate.writes.unseen_revision import needs_observed
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.prepare import PreparedWrite
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board, OpenProposal


def decide_propose(asked: Asked, command: ask.Propose) -> Decision:
    """Record a proposal: any standing may propose, nothing is judged before the coordinator decides."""
    writes = asked.prepared.writes
    missing = [write.key for write in writes if write.revision is None]
    if missing:
        raise missing_revision(missing)
    proposed = [
        kinds.ProposedWrite(
            key=write.key,
            revision=write.revision or 0,
            value=Raw(write.raw),
            held=_held(asked, write),
            confidence=write.confidence,
            deleted=write.deleted,
            basis=write.basis,
        )
        for write in writes
    ]
    body = kinds.WriteProposed(writes=proposed, reason=command.reason)
    return asked.decide([body], say.ProposeReply(proposal=f"proposal:{asked.next_seq}"))


def propose_needs(board: Board, agent: AgentState, writes: tuple[PreparedWrite, ...]) -> list[Need]:
    """The rows that tell which revisions the proposer held."""
    found = (needs_observed(Case(board, agent, write, {}, write.revision or 0)) for write in writes)
    return [need for need in found if need is not None]


def _held(asked: Asked, write: PreparedWrite) -> int | None:
    view = asked.agent.view
    if view.observed(write.key) <= view.base:
        return None
    return Case(asked.board, asked.agent, write, asked.fetched, write.revision or 0).held_revision()


def decide_refuse(asked: Asked, command: ask.RefuseProposal) -> Decision:
    """Refuse an open proposal; that needs no reading."""
    _open(asked.board, command.proposal)
    _check_coordinator(asked, "refuse")
    return asked.decide([kinds.ProposalRefused(proposal=command.proposal, reason=command.reason)], say.Done())


def decide_accept(asked: Asked, command: ask.AcceptProposal) -> Decision:
    """Accept an open proposal as the coordinator's own write. A failed acceptance leaves it open."""
    proposal = _open(asked.board, command.proposal)
    _check_coordinator(asked, "accept")
    writes = as_coordinator(asked.agent, proposal)
    for write in writes:
        authorize_write(asked.principal, write.key)
    judged = judge_acceptance(asked, command, proposal)
    check_licences(asked, judged)
    if judged.violations:
        return refuse(asked, command.turn, judged, proposal=command.proposal, restate=command.restate)
    accepted = kinds.ProposalAccepted(
        proposal=command.proposal,
        repeats={key: repeated.revision for key, repeated in judged.replays.items()},
        restate=command.restate,
    )
    # What the log has events for comes first, so that a replay of this command lists it alike.
    ordered = tuple(sorted(writes, key=lambda write: write.key in judged.replays))
    return accept(asked, command.turn, msgspec.structs.replace(judged, writes=ordered), accepted)


def judge_acceptance(asked: Asked, command: ask.AcceptProposal, proposal: OpenProposal) -> Judged:
    """Hold the proposal's writes against every rule, as the coordinator's, and against what was read."""
    judged = judge(asked, as_coordinator(asked.agent, proposal))
    violations = [*judged.violations, *_unread(asked, command, proposal, judged)]
    return msgspec.structs.replace(judged, violations=violations)


def as_coordinator(agent: AgentState, proposal: OpenProposal) -> tuple[PreparedWrite, ...]:
    """The proposal's writes as the coordinator's own: the payload hash is over the coordinator's name."""
    return tuple(_as_own(agent.id, write) for write in proposal.writes)


def _as_own(agent: str, write: kinds.ProposedWrite) -> PreparedWrite:
    raw = bytes(write.value)
    confidence = None if write.confidence is None else canonical.encode(write.confidence)
    payload = canonical.payload_hash(agent, write.key, write.revision, raw, write.deleted, confidence)
    return PreparedWrite(
        write.key,
        write.revision,
        msgspec.json.decode(raw),
        raw,
        payload.hex(),
        write.confidence,
        write.deleted,
        write.basis,
    )


def accept_needs(board: Board, agent: AgentState, proposal: str) -> list[Need]:
    """The rows that judging an acceptance needs."""
    found = board.proposals.get(proposal)
    return needed(board, agent, as_coordinator(agent, found)) if found is not None else []


def _unread(
    asked: Asked, command: ask.AcceptProposal, proposal: OpenProposal, judged: Judged
) -> list[kinds.Violation]:
    """What the coordinator, or the proposer, did not see."""
    found = []
    if not asked.agent.holds_proposal(command.proposal):
        detail = f"you do not hold {command.proposal} (nothing is accepted unread): read the proposals first"
        evidence = {"proposal": command.proposal, "seq": proposal.seq}
        found.append(kinds.Violation(code=UNSEEN, detail=detail, evidence=evidence))
    if not command.restate:
        new = (write for write in proposal.writes if write.key not in judged.replays)
        stale = (_stale(asked.board, proposal, write) for write in new)
        found += [violation for violation in stale if violation is not None]
    return found


def _stale(board: Board, proposal: OpenProposal, write: kinds.ProposedWrite) -> kinds.Violation | None:
    entry = board.ledger.entries.get(write.key)
    if entry is None or write.held == entry.revision:
        return None
    held = "never read it" if write.held is None else f"held revision {write.held}"
    return kinds.Violation(
        code=UNSEEN,
        key=write.key,
        detail=(
            f"{write.key!r} is at revision {entry.revision}, and its proposer {proposal.proposer} {held}: "
            "refuse, or accept with restate to make the value your own"
        ),
        evidence={
            "current": entry.revision,
            "writer": entry.writer,
            "seq": entry.seq,
            "held": write.held,
            "proposer": proposal.proposer,
        },
    )


def _open(board: Board, proposal: str) -> OpenProposal:
    found = board.proposals.get(proposal)
    if found is not None:
        return found
    closed = board.closed.get(proposal)
    if closed is not None:
        decision, seq = closed
        raise ProposalClosed(
            f"{proposal} was {decision} in event {seq}; a proposal is decided once",
            members={"proposal": proposal, "decision": decision, "decided_seq": seq},
        )
    raise UnknownProposal(
        f"there is no proposal {proposal!r} on this board; list the open ones", members={"proposal": proposal}
    )


def _check_coordinator(asked: Asked, verb: str) -> None:
    board, agent = asked.board, asked.agent
    coordinator = board.coordinator if board.mode == "single-writer" else board.policy.coordinator
    if coordinator != agent.id:
        raise NotAllowed(
            f"only the coordinator ({coordinator or 'none named'}) may {verb} a proposal; you are {agent.id}",
            members={"coordinator": coordinator},
        )
