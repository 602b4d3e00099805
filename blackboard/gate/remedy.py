"""What a refused writer is to do before its next attempt, in words that it can act on."""

from __future__ import annotations

from blackboard.events.kinds import Remedy, Violation
from blackboard.gate.writes.unseen_revision import CODE as UNSEEN
from blackboard.messages.limits import MAX_ITEMS_TOLD
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board

READ_ALL = 'read_all(), or POST reads {"all": true}'
READ_KEYS = 'read_many, or POST reads {"keys": [...]}'
READ_PROPOSALS = "proposals(), or GET proposals"

_NO_READ_HELPS = frozenset({"single-writer", "revision-reused"})


def find_remedy(board: Board, agent: AgentState, violations: list[Violation], code: str) -> Remedy:
    """The way on from a rejection with this code: the keys to read again, and the call."""
    keys: dict[str, None] = {}
    for violation in violations:
        if violation.code not in _NO_READ_HELPS and violation.key is not None:
            keys[violation.key] = None
        keys.update(dict.fromkeys(violation.evidence.get("moved", ())))
    detail, call = _way(board, agent, violations, code)
    named = list(keys)[:MAX_ITEMS_TOLD]
    return Remedy(detail=detail, keys=named, more=len(keys) - len(named), call=call)


def _way(board: Board, agent: AgentState, violations: list[Violation], code: str) -> tuple[str, str]:
    if code == "single-writer" and board.coordinator != agent.id:
        who = board.coordinator or "the coordinator that an operator names"
        return f"propose these writes; {who} decides", "propose"
    if agent.demotion.stands and board.policy.demotion != "off":
        return _demoted(board, agent), READ_ALL
    if code == "revision-reused":
        words = (
            "this revision is taken: decide whether the new value still holds, and write the next revision"
        )
        return words, ""
    if code == "revision-skipped" and board.policy.revisions == "contiguous":
        return "write current + 1", ""
    if code == UNSEEN:
        broken = [violation.evidence for violation in violations if violation.code == UNSEEN]
        if any("proposal" in evidence for evidence in broken):
            return "read the proposals, then decide; nothing is accepted unread", READ_PROPOSALS
        if all("proposer" in evidence for evidence in broken):
            words = "its proposer never saw what it would replace: refuse it, or make its values your own"
            return words, "refuse, or accept with restate: true"
    return "read these keys, decide again on what they hold now, then write current + 1", READ_KEYS


def _demoted(board: Board, agent: AgentState) -> str:
    if board.policy.demotion == "revalidate" and not agent.demotion.suspected_at:
        return "your context was compacted: read these keys again to write them, or everything to be active"
    return "read everything again; no write of yours is accepted before"
