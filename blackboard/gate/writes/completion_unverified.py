"""Rule 8: who finishes something unfinished has just read that it is unfinished.

A silent compaction leaves no event, so the read must be recent: within the agent's last few commands.
Source: seed 1, decision boundary, fourth rule.
"""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case, status_of_entry
from blackboard.projections.ledger import Entry
from blackboard.projections.status import classify

CODE = "completion-unverified"


def completion_unverified(case: Case) -> Violation | None:
    """Finished over unfinished without a fresh read of the current revision."""
    entry, policy = case.entry, case.policy
    if entry is None or policy.completion == "off" or case.new_class != "finished":
        return None
    status = status_of_entry(entry, policy)
    if classify(status, policy) != "unfinished":
        return None
    seen = _seen(case)
    if _is_fresh(case, entry, seen):
        return None
    detail = (
        f"{case.key!r} is {status!r} at revision {entry.revision} (entry:{entry.seq}, by {entry.writer}) and "
        f"you write {case.new_status!r}: read it first; a read counts for {policy.completion_window} commands"
    )
    return case.violation(
        CODE,
        detail,
        status=status,
        writer=entry.writer,
        seq=entry.seq,
        current=entry.revision,
        last_read=case.agent.view.last_read(case.key) or None,
        since=case.agent.demotion.latest or None,
        window_start=case.agent.window_start(policy.completion_window) or None,
    )


def _seen(case: Case) -> int:
    view = case.agent.view
    return view.observed(case.key) if case.policy.completion == "view" else view.last_read(case.key)


def _is_fresh(case: Case, entry: Entry, seen: int) -> bool:
    agent = case.agent
    return (
        seen >= entry.seq
        and seen > agent.demotion.latest
        and seen >= agent.window_start(case.policy.completion_window)
    )
