"""Rule 7: who replaces an entry must hold it.

Monotonic is not compare-and-set: a writer that guesses a higher revision over an entry that it never saw
loses that entry's content. Source: seed 1, "a summary is never a substitute for a read at write time".
"""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case, Need

CODE = "unseen-revision"


def unseen_revision(case: Case) -> Violation | None:
    """The key exists and the view does not hold its current revision."""
    entry = case.entry
    if entry is None or not case.policy.require_view or case.agent.view.holds(case.key, entry):
        return None
    view = case.agent.view
    seen = view.observed(case.key)
    held, removed_by = case.held_revision(), view.removed_by(seen) if seen else None
    return case.violation(
        CODE,
        f"you do not hold revision {entry.revision} of {case.key!r} (entry:{entry.seq}, by {entry.writer}): "
        + _why(held, removed_by),
        current=entry.revision,
        writer=entry.writer,
        seq=entry.seq,
        held=held,
        held_since=seen or None,
        removed_by=removed_by,
    )


def _why(held: int | None, removed_by: int | None) -> str:
    if held is None:
        return "you never read it"
    if removed_by is None:
        return f"you last saw revision {held}"
    return f"you last saw revision {held}, and the compaction in event {removed_by} took it out"


def needs_held(case: Case) -> Need | None:
    """The row that tells which older revision the agent saw; None where this rule does not ask."""
    return needs_observed(case) if case.policy.require_view else None


def needs_observed(case: Case) -> Need | None:
    """The row that `Case.held_revision` needs; None where memory is enough."""
    entry = case.entry
    if entry is None:
        return None
    seen = case.agent.view.observed(case.key)
    return Need(case.key, as_of=seen) if 0 < seen < entry.seq else None
