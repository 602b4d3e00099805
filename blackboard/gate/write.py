"""A batch of writes in front of the write gate: all accepted, or none, with every reason."""

from __future__ import annotations

from msgspec import Raw, Struct

from blackboard.errors import ERRORS_BY_CODE, BlackboardError, RevisionMissing
from blackboard.events import kinds
from blackboard.events.envelope import Draft
from blackboard.gate.authorize import authorize_licence, authorize_write
from blackboard.gate.case import Case, Need
from blackboard.gate.decision import Asked, Decision, raise_signals
from blackboard.gate.moment import Moment
from blackboard.gate.remedy import find_remedy
from blackboard.gate.turn import check_turn
from blackboard.gate.writes import ORDER, RULES
from blackboard.gate.writes.replay import Replay, needs_earlier, replay
from blackboard.gate.writes.unseen_revision import needs_held
from blackboard.messages.limits import MAX_ITEMS_TOLD
from blackboard.messages.prepare import PreparedWrite
from blackboard.messages.replies import Ack, AckEntry
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.status import status_of


class Judged(Struct, frozen=True):
    """A batch after judgement: what is new, what repeats an accepted write, and what is wrong."""

    writes: tuple[PreparedWrite, ...]
    cases: list[Case]
    replays: dict[str, Replay]
    violations: list[kinds.Violation]

    @property
    def code(self) -> str:
        """The first violated rule in table order, where any is."""
        return min((violation.code for violation in self.violations), key=ORDER.__getitem__)


def needed(board: Board, agent: AgentState, writes: tuple[PreparedWrite, ...]) -> list[Need]:
    """The rows without which these writes cannot be judged: only old revisions and old views need any."""
    found = []
    for write in writes:
        entry = board.ledger.entries.get(write.key)
        if entry is None or write.revision is None:
            continue
        seen = agent.view.observed(write.key)
        if write.revision > entry.revision and (seen >= entry.seq or not seen):
            continue
        case = Case(board, agent, write, {}, write.revision)
        found += [need for need in (needs_earlier(case), needs_held(case)) if need is not None]
    return found


def judge(asked: Asked, writes: tuple[PreparedWrite, ...]) -> Judged:
    """Hold every write against every rule. Writes without a revision are the caller's to refuse."""
    agent, board, rules = asked.agent, asked.board, RULES[asked.board.format]
    cases: list[Case] = []
    replays: dict[str, Replay] = {}
    violations: list[kinds.Violation] = []
    for write in writes:
        assert write.revision is not None
        case = Case(board, agent, write, asked.fetched, write.revision)
        repeated = replay(case)
        if repeated is not None:
            replays[case.key] = repeated
            continue
        cases.append(case)
        for _, rule in rules:
            violation = rule(case)
            if violation is not None:
                violations.append(violation)
    return Judged(writes, cases, replays, violations)


def decide_write(asked: Asked, turn: int | None) -> Decision:
    """Decide a batch that an agent sent. Replays alone are a receipt, whatever turn they name."""
    writes = asked.prepared.writes
    for write in writes:
        authorize_write(asked.principal, write.key)
    missing = [write.key for write in writes if write.revision is None]
    judged = judge(asked, writes) if not missing else None
    if judged is None or judged.cases:
        check_turn(asked.actor, turn)
    if judged is None:
        return _refuse_missing(asked, turn, missing)
    check_licences(asked, judged)
    return refuse(asked, turn, judged) if judged.violations else accept(asked, turn, judged)


def check_licences(asked: Asked, judged: Judged) -> None:
    """Raise `NotAllowed` for a new write of what rules read, without a grant that names it."""
    for case in judged.cases:
        authorize_licence(asked.board, asked.principal, case.key)


def accept(
    asked: Asked, turn: int | None, judged: Judged, before: kinds.ProposalAccepted | None = None
) -> Decision:
    """Every write stands: their events, the receipts, and the signals that they raise."""
    drafts: list[kinds.EventBody | Draft] = [before] if before is not None else []
    seq = asked.next_seq + len(drafts)
    written: dict[str, AckEntry] = {}
    for case in judged.cases:
        draft = _draft(case)
        drafts.append(draft)
        revision = draft.revision or 0
        written[case.key] = AckEntry(key=case.key, revision=revision, id=f"entry:{seq}", seq=seq)
        seq += 1
    entries = [
        written.get(write.key) or receipt(write.key, judged.replays[write.key]) for write in judged.writes
    ]
    answer = acknowledged(entries, replayed=not judged.cases)
    if not drafts:
        return Decision([], answer)
    drafts += raise_signals(asked.board, Moment(agent=asked.agent, turn=turn, cases=judged.cases))
    return asked.decide(drafts, answer)


def acknowledged(entries: list[AckEntry], *, replayed: bool) -> Ack:
    """The answer to an accepted batch; the first superseded entry speaks for the whole."""
    superseded = next((entry.superseded_by for entry in entries if entry.superseded_by is not None), None)
    return Ack(entries=entries, replayed=replayed, superseded_by=superseded)


def _draft(case: Case) -> Draft:
    write = case.write
    revision = case.revision
    if case.policy.revisions == "advisory":
        revision = max(case.revision, case.current + 1)
    body = kinds.EntryWritten(
        payload_hash=write.payload_hash,
        value=Raw(write.raw),
        asserted=case.revision if case.revision != revision else None,
        basis=write.basis,
        confidence=write.confidence,
        deleted=write.deleted,
    )
    return Draft(body, case.key, revision)


def receipt(key: str, repeated: Replay) -> AckEntry:
    """The answer to a write that repeats an accepted one."""
    return AckEntry(
        key=key,
        revision=repeated.revision,
        id=f"entry:{repeated.seq}",
        seq=repeated.seq,
        replayed=True,
        superseded_by=repeated.superseded_by,
    )


def refuse(
    asked: Asked,
    turn: int | None,
    judged: Judged,
    *,
    proposal: str | None = None,
    restate: bool = False,
) -> Decision:
    """Nothing changes but the log: every violated rule, what was asked for, and the way on."""
    body = rejected(asked, judged, proposal=proposal, restate=restate)
    broken = [violation for violation in judged.violations if violation.code == body.code]
    moment = Moment(agent=asked.agent, turn=turn, cases=judged.cases, code=body.code, broken=broken)
    keys = [case.key for case in judged.cases]
    return asked.decide(
        [body, *raise_signals(asked.board, moment)], rejection(body.code, body.rules, body.remedy), keys
    )


def rejected(
    asked: Asked, judged: Judged, *, proposal: str | None = None, restate: bool = False
) -> kinds.WriteRejected:
    """What is recorded of a refused batch."""
    return kinds.WriteRejected(
        code=judged.code,
        rules=judged.violations,
        writes=[
            _attempt(asked.board, write, replayed=write.key in judged.replays) for write in judged.writes
        ],
        remedy=find_remedy(asked.board, asked.agent, judged.violations, judged.code),
        proposal=proposal,
        restate=restate,
    )


def rejection(code: str, violations: list[kinds.Violation], remedy: kinds.Remedy | None) -> BlackboardError:
    """The error that a rejection is raised as."""
    first = next(violation for violation in violations if violation.code == code)
    more = len(violations) - 1
    detail = first.detail + (f" (and {more} more: see rules)" if more else "")
    members = {"rules": violations, "evidence": first.evidence, "remedy": remedy}
    return ERRORS_BY_CODE[code](detail, members=members)


def _attempt(board: Board, write: PreparedWrite, *, replayed: bool = False) -> kinds.AttemptedWrite:
    return kinds.AttemptedWrite(
        key=write.key,
        revision=write.revision,
        payload_hash=write.payload_hash if write.revision is not None else None,
        status=None if replayed or write.deleted else status_of(write.value, board.policy.status_pointer),
        confidence=write.confidence,
        deleted=write.deleted,
        basis=write.basis,
        replayed=replayed,
    )


def _refuse_missing(asked: Asked, turn: int | None, missing: list[str]) -> Decision:
    body = rejected_unnumbered(asked.board, asked.prepared.writes)
    moment = Moment(agent=asked.agent, turn=turn, code=body.code, missing=missing)
    return asked.decide([body, *raise_signals(asked.board, moment)], missing_revision(missing), missing)


def rejected_unnumbered(board: Board, writes: tuple[PreparedWrite, ...]) -> kinds.WriteRejected:
    """What is recorded of a batch with writes that name no revision: nothing else of it is judged."""
    code = RevisionMissing.code
    violations = [
        kinds.Violation(
            code=code, key=write.key, detail=f"the write of {write.key!r} names no revision", evidence={}
        )
        for write in writes
        if write.revision is None
    ]
    return kinds.WriteRejected(
        code=code, rules=violations, writes=[_attempt(board, write) for write in writes]
    )


def missing_revision(missing: list[str]) -> RevisionMissing:
    """The error for writes that name no revision."""
    return RevisionMissing(
        f"the write of {missing[0]!r} names no revision: read the key and write its revision + 1 "
        "(an absent key is at revision 0)",
        member="/writes/*/revision",
        members={"keys": missing[:MAX_ITEMS_TOLD]},
    )
