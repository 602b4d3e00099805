"""Rule 9: what a decision rests on must still stand, and the writer must still hold it."""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.basis import moved
from blackboard.gate.case import Case

CODE = "basis-moved"


def basis_moved(case: Case) -> Violation | None:
    """A key of the basis is not at the named revision, or the view does not hold it."""
    found = moved(case.board, case.agent, case.write.basis) if case.write.basis else None
    if not found:
        return None
    named = ", ".join(sorted(found)[:5])
    detail = f"the basis of {case.key!r} does not stand: {named}; read these keys, then decide again"
    return case.violation(CODE, detail, moved=found)
