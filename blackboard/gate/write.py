"""A batch of writes in front of the write gate: all accepted, or none, with every reason."""

from __future__ import annotations

from msgspec import Raw, Struct

from blackboard.errors import ERRORS_BY_CODE, BlackboardError, NotAllowed, RevisionMissing
from blackboard.events import kinds
from blackboard.events.envelope import Draft
from blackboard.gate.case import Case, Need
from blackboard.gate.decision import Asked, Decision, raise_signals
from blackboard.gate.moment import Moment
from blackboard.gate.writes import ORDER, RULES
from blackboard.gate.writes.replay import Replay, needs_earlier, replay
from blackboard.gate.writes.unseen_revision import needs_held
from blackboard.messages.limits import MAX_ITEMS_TOLD
from blackboard.messages.prepare import PreparedWrite
from blackboard.messages.replies import Ack, AckEntry
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board

READ_ALL = 'read_all(), or POST reads {"all": true}'


class Judged(Struct, frozen=True):
    """A batch after judgement: what is new, what repeats an accepted write, and what is wrong."""

    writes: tuple[PreparedWrite, ...]
    cases: list[Case]
    replays: dict[str, Replay]
    violations: list[kinds.Violation]

    @property
    def code(self) -> str | None:
        """The first violated rule in table order; None: accepted."""
        if not self.violations:
            return None
        return min(self.violations, key=lambda violation: ORDER[violation.code]).code


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


def judge(asked: Asked, agent: AgentState, writes: tuple[PreparedWrite, ...]) -> Judged:
    """Hold every write against every rule. Writes without a revision are the caller's to refuse."""
    board, rules = asked.board, RULES[asked.board.format]
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
        for rule in rules:
            violation = rule(case)
            if violation is not None:
                violations.append(violation)
    return Judged(writes, cases, replays, violations)


def decide_write(asked: Asked, agent: AgentState, turn: int | None) -> Decision:
    """Decide a batch that an agent sent."""
    writes = asked.prepared.writes
    _check_grant(asked, writes)
    missing = [write.key for write in writes if write.revision is None]
    if missing:
        return _refuse_missing(asked, agent, turn, missing)
    judged = judge(asked, agent, writes)
    if judged.violations:
        return refuse(asked, agent, turn, judged)
    return accept(asked, agent, turn, judged)


def _check_grant(asked: Asked, writes: tuple[PreparedWrite, ...]) -> None:
    grants = asked.principal.grants
    if grants.writes is None:
        return
    for write in writes:
        if not grants.may_write(write.key):
            allowed = ", ".join(grants.writes)
            raise NotAllowed(
                f"{asked.principal.actor} may not write {write.key!r}; it may write {allowed}",
                members={"key": write.key},
            )


def accept(
    asked: Asked,
    agent: AgentState,
    turn: int | None,
    judged: Judged,
    before: list[kinds.EventBody] | None = None,
) -> Decision:
    """Every write stands: their events, the receipts, and the signals that they raise."""
    leading = list(before or [])
    seq = asked.next_seq + len(leading)
    written: dict[str, AckEntry] = {}
    drafts: list[kinds.EventBody | Draft] = [*leading]
    for case in judged.cases:
        draft = _draft(case)
        drafts.append(draft)
        revision = draft.revision or 0
        written[case.key] = AckEntry(key=case.key, revision=revision, id=f"entry:{seq}", seq=seq)
        seq += 1
    entries = [written.get(write.key) or _receipt(write.key, judged.replays) for write in judged.writes]
    if judged.cases:
        drafts += raise_signals(asked.board, Moment(agent=agent, turn=turn, cases=judged.cases))
    superseded = next((entry.superseded_by for entry in entries if entry.superseded_by is not None), None)
    ack = Ack(entries=entries, replayed=not judged.cases, superseded_by=superseded)
    if not judged.cases and not leading:
        return Decision([], ack)
    return asked.decide(drafts, ack)


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


def _receipt(key: str, replays: dict[str, Replay]) -> AckEntry:
    repeated = replays[key]
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
    agent: AgentState,
    turn: int | None,
    judged: Judged,
    *,
    proposal: str | None = None,
    restate: bool = False,
) -> Decision:
    """Nothing changes but the log: every violated rule, what was asked for, and the way on."""
    code = judged.code
    assert code is not None
    remedy = _remedy(asked.board, agent, judged, code)
    body = kinds.WriteRejected(
        code=code,
        rules=judged.violations,
        writes=_attempts(asked, judged),
        remedy=remedy,
        proposal=proposal,
        restate=restate,
    )
    broken = frozenset(v.key for v in judged.violations if v.code == code and v.key is not None)
    moment = Moment(agent=agent, turn=turn, cases=judged.cases, code=code, broken=broken)
    keys = [case.key for case in judged.cases]
    return asked.decide(
        [body, *raise_signals(asked.board, moment)], rejection(code, judged.violations, remedy), keys
    )


def rejection(code: str, violations: list[kinds.Violation], remedy: kinds.Remedy | None) -> BlackboardError:
    """The error that a rejection is raised as."""
    first = next(violation for violation in violations if violation.code == code)
    more = len(violations) - 1
    detail = first.detail + (f" (and {more} more violations)" if more else "")
    members = {"rules": violations, "evidence": first.evidence, "remedy": remedy}
    return ERRORS_BY_CODE[code](detail, members=members)


def _attempts(asked: Asked, judged: Judged) -> list[kinds.AttemptedWrite]:
    status = {case.key: case.new_status for case in judged.cases}
    return [
        kinds.AttemptedWrite(
            key=write.key,
            revision=write.revision,
            payload_hash=write.payload_hash,
            status=status.get(write.key),
            confidence=write.confidence,
            deleted=write.deleted,
            basis=write.basis,
            replayed=write.key in judged.replays,
        )
        for write in judged.writes
    ]


def _remedy(board: Board, agent: AgentState, judged: Judged, code: str) -> kinds.Remedy:
    keys: dict[str, None] = {}
    for violation in judged.violations:
        if violation.code not in {"single-writer", "revision-reused"} and violation.key is not None:
            keys[violation.key] = None
        keys.update(dict.fromkeys(violation.evidence.get("moved", ())))
    named = list(keys)[:MAX_ITEMS_TOLD]
    more = len(keys) - len(named)
    if code == "single-writer" and board.coordinator != agent.id:
        who = board.coordinator or "the coordinator that an operator names"
        return kinds.Remedy(
            detail=f"propose these writes; {who} decides", keys=named, more=more, call="propose"
        )
    if agent.demotion.stands and board.policy.demotion != "off":
        detail = _demoted_way_back(board, agent)
        return kinds.Remedy(detail=detail, keys=named, more=more, call=READ_ALL)
    if code == "revision-reused":
        detail = (
            "this revision is taken: decide whether the new value still holds, and write the next revision"
        )
        return kinds.Remedy(detail=detail, keys=named, more=more, call="")
    if code == "revision-skipped" and board.policy.revisions == "contiguous":
        return kinds.Remedy(detail="write current + 1", keys=named, more=more, call="")
    detail = "read these keys, decide again on what they hold now, then write current + 1"
    return kinds.Remedy(detail=detail, keys=named, more=more, call='read_many, or POST reads {"keys": [...]}')


def _demoted_way_back(board: Board, agent: AgentState) -> str:
    if board.policy.demotion == "revalidate" and not agent.demotion.suspected_at:
        return "your context was compacted: read these keys again to write them, or everything to be active"
    return "read everything again; no write of yours is accepted before"


def _refuse_missing(asked: Asked, agent: AgentState, turn: int | None, missing: list[str]) -> Decision:
    violations = [
        kinds.Violation(
            code=RevisionMissing.code, key=key, detail=f"the write of {key!r} names no revision", evidence={}
        )
        for key in missing
    ]
    judged = Judged(asked.prepared.writes, [], {}, violations)
    attempts = [
        kinds.AttemptedWrite(
            key=write.key,
            revision=write.revision,
            confidence=write.confidence,
            deleted=write.deleted,
            basis=write.basis,
        )
        for write in judged.writes
    ]
    body = kinds.WriteRejected(code=RevisionMissing.code, rules=violations, writes=attempts)
    moment = Moment(agent=agent, turn=turn, code=RevisionMissing.code, missing=missing)
    return asked.decide([body, *raise_signals(asked.board, moment)], missing_revision(missing), missing)


def missing_revision(missing: list[str]) -> RevisionMissing:
    """The error for writes that name no revision."""
    return RevisionMissing(
        f"the write of {missing[0]!r} names no revision: read the key and write its revision + 1 "
        "(an absent key is at revision 0)",
        member="/writes/*/revision",
        members={"keys": missing[:MAX_ITEMS_TOLD]},
    )
