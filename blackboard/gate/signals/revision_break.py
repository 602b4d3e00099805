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
    return _found(off) if off else None


def _refused(moment: Moment) -> Found:
    broken = [case for case in moment.cases if case.key in moment.broken]
    return _found(broken)


def _found(cases: list[Case]) -> Found:
    first = cases[0]
    return Found(
        key=first.key,
        numbers={"asserted": first.revision, "current": first.current, "keys": len(cases)},
        evidence=[case.entry.seq for case in cases if case.entry is not None],
    )
