"""Rule 1: one agent writes one revision of a key once. Evidence: the accepted write."""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case, entry_payload

CODE = "revision-reused"


def revision_reused(case: Case) -> Violation | None:
    """Same agent, key and revision as an accepted write, another payload (a replay is told apart before)."""
    accepted = _accepted(case)
    if accepted is None:
        return None
    seq, payload_hash = accepted
    detail = (
        f"you have written revision {case.revision} of {case.key!r} with another payload (entry:{seq}); "
        f"the next revision is {case.current + 1}"
    )
    return case.violation(
        CODE, detail, seq=seq, revision=case.revision, payload_hash=payload_hash, current=case.current
    )


def _accepted(case: Case) -> tuple[int, str] | None:
    entry = case.entry
    if entry is None or case.revision > entry.revision:
        return None
    if case.revision == entry.asserted and entry.writer == case.agent.id:
        return entry.seq, entry.payload_hash.hex()
    event = case.earlier(case.revision)
    written = entry_payload(event)
    if event is None or written is None or written[0] != case.agent.id or written[1].asserted is not None:
        return None  # one stored under advisory revisions was asserted under another number
    return event.seq, written[1].payload_hash
