"""`completion-over-open`: something is called finished while a part that it covers is not."""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.case import Case, status_of_entry
from blackboard.gate.moment import Found, Moment
from blackboard.projections.status import classify, resolve_pointer

MOST_COVERED = 1000


def completion_over_open(moment: Moment, _setting: SignalSetting) -> Found | None:
    """An accepted finished value covers a key that is unfinished, or superseded since the cited revision."""
    if moment.code is not None:
        return None
    together = {case.key: case for case in moment.cases}
    for case in moment.cases:
        if case.new_class == "finished" and (found := _uncovered(case, together)) is not None:
            return found
    return None


def _uncovered(case: Case, together: dict[str, Case]) -> Found | None:
    opened, evidence = {}, []
    for reference in references(case):
        key, cited = _parse(case, reference)
        if key == case.key:
            continue
        entry, beside = case.board.ledger.entries.get(key), together.get(key)
        if beside is not None:
            kind = beside.new_class
        else:
            kind = classify(status_of_entry(entry, case.policy), case.policy)
        if kind == "unfinished":
            opened[key] = "unfinished"
        elif entry is not None and cited is not None and cited < entry.revision:
            opened[key] = f"cited at revision {cited}, now at {entry.revision}"
        else:
            continue
        if entry is not None:
            evidence.append(entry.seq)
    return Found(key=case.key, numbers={"open": opened}, evidence=evidence) if opened else None


def references(case: Case) -> list[str]:
    """What a value covers: the list that the policy's pointer names, or `key@revision` in a text."""
    value = case.write.value
    if isinstance(value, str):
        return [word for word in value.split() if "@" in word][:MOST_COVERED]
    covered = resolve_pointer(value, case.policy.covers_pointer)
    if not isinstance(covered, list):
        return []
    return [item for item in covered[:MOST_COVERED] if isinstance(item, str)]


def _parse(case: Case, reference: str) -> tuple[str, int | None]:
    if reference in case.board.ledger.entries:
        return reference, None
    key, at, revision = reference.strip(".,;:()").rpartition("@")
    if at and revision.isascii() and revision.isdigit() and len(revision) < 17:
        return key, int(revision)
    return reference, None
