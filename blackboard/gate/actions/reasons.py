"""Why an action is blocked: the code, and everything that somebody needs to check it by hand.

The code follows from the row, the params and the action's digest alone: a certificate finds the same one.
Source: "The verdict" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blackboard.errors import shorten
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.compiling import Compiled, Finding, Row, RowLike
from blackboard.gate.actions.inputs import inputs, words_of
from blackboard.gate.actions.rereading import reread
from blackboard.gate.actions.sides import full_side, held_side
from blackboard.gate.actions.unevaluable import reason_of
from blackboard.records import Approval
from blackboard.records.predicate import words
from blackboard.records.truth import NAMES, UNKNOWN
from blackboard.records.verdict import Reason


def code(row: RowLike, params: Mapping[str, Any], digest: str) -> str:
    """Return the reason code of a row that is dangerous for the action with this digest."""
    dropped = row.dropped or digest in row.dropped_for
    return f"{'dropped' if dropped else 'unseen'}-{_kind(row, params, digest)}"


def _kind(row: RowLike, params: Mapping[str, Any], digest: str) -> str:
    """The sentence of the design that decides the code, clause by clause."""
    if row.held is None:
        return "binding-constraint"
    if digest in row.dead_for or row.ended:
        return "superseder-stale-permit"
    if row.stale or any(field not in params for field in row.stale_fields):
        return "superseder-stale-kept" if row.restrictive else "superseder-stale-permit"
    return "input-kept-rule" if row.restrictive else "input-kept-permit"


def because(compiled: Compiled, finding: Finding, action: Action, digest: str) -> Reason:
    """Return the reason of a rule that is dangerous for the action with this digest."""
    row, full, held = finding
    items = compiled.world.records.items
    read = inputs(compiled.world, row, action.params)
    again = reread(compiled, row, action.params, digest)
    missing = sorted({*row.missing, *row.missing_for.get(digest, ())})
    return Reason(
        code=code(row, action.params, digest),
        id=row.id,
        detail=f"{_what(compiled, finding, digest)}; {words_of(read, compiled.world, action.params)}",
        effect=row.effect,
        predicate=words(row.rule.predicate),
        full=NAMES[full],
        held=None if row.held is None else NAMES[held],
        inputs=read,
        missing=[items[position].id for position in missing],
        reread=[items[position].id for position in again.records],
        keys=list(again.keys),
    )


def sides(finding: Finding, digest: str) -> str:
    """What the rule comes to on both sides, in words."""
    row, full, held = finding
    on_full = f"{NAMES[full]}{' (approved)' if digest in row.full_approved else ''} on the full set"
    on_held = f"{NAMES[held]}{' (approved)' if digest in row.held_approved else ''} on what is held"
    return f"{words(row.rule.predicate)} is {on_full} and {on_held}"


def _what(compiled: Compiled, finding: Finding, digest: str) -> str:
    row, full, _ = finding
    policy, rule = f"policy '{row.id}' ({row.effect})", words(row.rule.predicate)
    if row.held is None:
        delivered = compiled.world.holding.delivered
        lost = "is not held any more" if any(map(delivered, row.full_copies)) else "was never delivered"
        if full == UNKNOWN:
            return f"{policy} {lost} and may bind this call: {rule} is UNKNOWN, and what is unresolved binds"
        return f"{policy} {lost} and binds this call: {rule} is TRUE"
    if digest in row.dead_for:
        return f"{_dead_approval(compiled, row, digest)}; {sides(finding, digest)}"
    if digest in row.held_approved:
        copies = "its held copies are approved for this action, and one that is not held is not"
        return f"{policy} binds more than the agent can see: {copies}; {sides(finding, digest)}"
    if not row.full_copies:
        return (
            f"held {policy} is not in force any more: {superseded(compiled, row)}; {sides(finding, digest)}"
        )
    if row.restrictive:
        return f"held {policy} binds more than the agent can see: {sides(finding, digest)}"
    return f"held {policy} would permit by what is not so any more: {sides(finding, digest)}"


def superseded(compiled: Compiled, row: Row) -> str:
    """What ended a rule that seems to live to its holder."""
    records = compiled.world.records
    newest = row.held_copies[-1]
    superseder = records.superseder(newest)
    assert superseder is not None
    by = records.items[superseder]
    return f"'{by.id}' (seq {by.seq}) supersedes '{records.items[newest].id}' and is not held"


def _dead_approval(compiled: Compiled, row: Row, digest: str) -> str:
    """Which approval the holder counts in vain, and what ended it."""
    records, items = compiled.world.records, compiled.world.records.items
    full, held = full_side(compiled.world), held_side(compiled.world)
    copy = next(
        at for at in reversed(row.held_copies) if held.approved(at, digest) and not full.approved(at, digest)
    )
    counted = held.newest_approval(copy, digest)
    newest = full.newest_approval(copy, digest)
    assert counted is not None
    assert newest is not None
    approval = f"'{items[counted].id}' (seq {items[counted].seq}) of '{items[copy].id}'"
    told = f"the held approval {approval} counts no more"
    if newest != counted:
        later = items[newest]
        assert isinstance(later, Approval)
        word = "grants it anew, in vain" if later.granted else "revokes it"
        word += "" if later.text is None else f" ({shorten(later.text)})"
        return f"{told}: '{later.id}' (seq {later.seq}) {word} and is not held"
    old, end = next(
        (old, end)
        for old in (counted, copy)
        if (end := records.superseder(old)) is not None and not held.holds(end)
    )
    return f"{told}: '{items[end].id}' (seq {items[end].seq}) supersedes '{items[old].id}' and is not held"


def unevaluable(compiled: Compiled, position: int) -> Reason:
    """Return the reason that a record which nobody can evaluate was dropped."""
    return reason_of(compiled.world, position)
