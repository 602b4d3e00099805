"""Rule 9: what a decision rests on must still stand, and the writer must still hold it.

"Release, because A and B are done" must not pass after B moved. Source: seed 1, "compaction may compress
history; it must never compress the precondition of a mutation".
"""

from __future__ import annotations

from typing import Any

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case

CODE = "basis-moved"


def basis_moved(case: Case) -> Violation | None:
    """A key of the basis is not at the named revision, or the view does not hold it."""
    if not case.write.basis:
        return None
    moved = {key: why for key, revision in case.write.basis.items() if (why := _moved(case, key, revision))}
    if not moved:
        return None
    named = ", ".join(sorted(moved)[:5])
    detail = f"the basis of {case.key!r} does not stand: {named}; read these keys, then decide again"
    return case.violation(CODE, detail, moved=moved)


def _moved(case: Case, key: str, revision: int) -> dict[str, Any] | None:
    entry = case.board.ledger.entries.get(key)
    current = 0 if entry is None else entry.revision
    view = case.agent.view
    held = view.holds(key, entry)
    if current == revision and held:
        return None
    found: dict[str, Any] = {"named": revision, "current": current, "held": held}
    if entry is not None:
        found |= {"writer": entry.writer, "seq": entry.seq}
    removed_by = view.removed_by(seen) if (seen := view.observed(key)) else None
    if removed_by is not None:
        found["removed_by"] = removed_by
    return found
