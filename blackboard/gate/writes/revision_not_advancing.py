"""Rule 5: a revision that does not advance means that the writer's model is stale.

Source: seed 1, decision boundary, second rule: reject, do not merge, do not fix up.
"""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case

CODE = "revision-not-advancing"


def revision_not_advancing(case: Case) -> Violation | None:
    """Revision <= the current one. Not under advisory revisions, which are recorded only."""
    entry = case.entry
    if entry is None or case.revision > entry.revision or case.policy.revisions == "advisory":
        return None
    detail = (
        f"{case.key!r} is at revision {entry.revision}, written by {entry.writer} in entry:{entry.seq}; "
        f"you wrote revision {case.revision}"
    )
    return case.violation(
        CODE, detail, asserted=case.revision, current=entry.revision, writer=entry.writer, seq=entry.seq
    )
