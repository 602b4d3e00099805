"""`revision-break`: a revision that the writer cannot have read. Source: seed 1, first signal."""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.case import Case
from blackboard.gate.moment import Found, Moment

CODES = frozenset({"revision-not-advancing", "revision-skipped", "unseen-revision"})


def revision_break(moment: Moment, _setting: SignalSetting) -> Found | None:
    """A rejection by rule 5, 6 or 7, a write without a revision, or an accepted one off current + 1."""
    if moment.missing:
        return Found(key=moment.missing[0], numbers={"missing": len(moment.missing)})
    if moment.code is not None:
        return _refused(moment) if moment.code in CODES else None
    off = [case for case in moment.cases if case.revision != case.current + 1]
    return _found(off, [case.entry.seq for case in off if case.entry is not None]) if off else None


def _refused(moment: Moment) -> Found:
    keys = {violation.key for violation in moment.broken}
    seqs = [violation.evidence["seq"] for violation in moment.broken if "seq" in violation.evidence]
    return _found([case for case in moment.cases if case.key in keys], list(dict.fromkeys(seqs)))


def _found(cases: list[Case], evidence: list[int]) -> Found:
    if not cases:  # a proposal that was not read: its seq is the evidence
        return Found(numbers={"keys": 0}, evidence=evidence)
    first = cases[0]
    numbers = {"asserted": first.revision, "current": first.current, "keys": len(cases)}
    return Found(key=first.key, numbers=numbers, evidence=evidence)
