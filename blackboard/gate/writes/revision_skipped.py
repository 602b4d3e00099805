"""Rule 6: a revision must not leave a gap that nobody can explain."""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case

CODE = "revision-skipped"

MOST_SKIPPED = 1_000_000
"""A fabricated revision must not lock the key for everyone."""


def revision_skipped(case: Case) -> Violation | None:
    """Under contiguous revisions more than one above the current one; always, more than a million."""
    most = 1 if case.policy.revisions == "contiguous" else MOST_SKIPPED
    if case.revision <= case.current + most:
        return None
    detail = (
        f"{case.key!r} is at revision {case.current}; you wrote {case.revision}, and at most "
        f"{case.current + most} is accepted: the next revision is {case.current + 1}"
    )
    seq = case.entry.seq if case.entry is not None else None
    return case.violation(
        CODE, detail, asserted=case.revision, current=case.current, highest=case.current + most, seq=seq
    )
