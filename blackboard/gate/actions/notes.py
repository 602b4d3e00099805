"""What a verdict says beside its reasons: worth knowing, and blocking nothing.

The codes are the words of the truth tables. Source: "The verdict" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from blackboard.canonical import normal
from blackboard.gate.actions import unevaluable
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.compiling import Compiled, Finding, Row
from blackboard.gate.actions.inputs import fact_held, inputs, short, words_of
from blackboard.gate.actions.reasons import sides, superseded
from blackboard.gate.actions.world import World
from blackboard.records.predicate import words
from blackboard.records.truth import FALSE, TRUE, UNKNOWN
from blackboard.records.verdict import Note, Reason

PERMISSIVE: Final = "permissive"
UNUSED: Final = "permission unused"
STALE_SAFE: Final = "stale value, safe direction"
CAUTIOUS: Final = "more cautious"
UNRESOLVED: Final = "unresolved in both views"
BINDS: Final = "binds, and the agent holds it"
SHADOW: Final = "params-shadow-fact"
APPROVER: Final = "approver-test-skipped"
CHATTER: Final = "dropped as chatter"

_RESTRICTIVE: Final = {
    (FALSE, UNKNOWN): CAUTIOUS,
    (FALSE, TRUE): STALE_SAFE,
    (UNKNOWN, UNKNOWN): UNRESOLVED,
    (UNKNOWN, TRUE): CAUTIOUS,
    (TRUE, TRUE): BINDS,
}
"""The cells of a restriction that is no danger and yet notable, as (full, held)."""


def order(note: Note) -> tuple[str, str, str]:
    """How notes are sorted."""
    return note.code, note.id or "", note.detail


def of_rule(compiled: Compiled, finding: Finding, action: Action) -> Note | None:
    """The note about a rule that is no danger, by its cell of the tables; most cells have none."""
    row, full, held = finding
    if row.restrictive:
        word = _RESTRICTIVE.get((full, held))
    elif full == TRUE and held != TRUE:
        word = PERMISSIVE if row.held is None else UNUSED
    else:
        word = None
    if word is None:
        return None
    digest = action.digest if row.answered else ""
    read = words_of(inputs(compiled.world, row, action.params), compiled.world, action.params)
    return Note(code=word, id=row.id, detail=f"{_cell(compiled, word, finding, digest)}; {read}")


def _cell(compiled: Compiled, word: str, finding: Finding, digest: str) -> str:
    row = finding[0]
    policy, rule = f"policy '{row.id}' ({row.effect})", words(row.rule.predicate)
    if word == PERMISSIVE:
        return f"{policy} is not held, and {rule} is TRUE: a lost permission licenses nothing"
    if word == UNUSED:
        return f"held {policy} permits this call, unseen by the agent: {sides(finding, digest)}"
    if word == UNRESOLVED:
        return f"held {policy}: {rule} is UNKNOWN on both sides"
    if word == BINDS:
        return f"held {policy}: {rule} is TRUE"
    ended = "" if row.full_copies else f" ({superseded(compiled, row)})"
    return (
        f"held {policy} makes the agent too cautious, a cost and no danger{ended}: {sides(finding, digest)}"
    )


def of_unseen(reason: Reason) -> Note:
    """A danger that was never delivered, on a board that only notes those."""
    return Note(code=reason.code, id=reason.id, detail=reason.detail)


def of_unevaluable(compiled: Compiled, *, blind: bool) -> Iterator[Note]:
    """Records that nobody can evaluate and that block nothing: held, never delivered, or let pass."""
    return unevaluable.notes(compiled.world, compiled.unevaluable, blind=blind)


def of_compiled(compiled: Compiled, action: Action) -> Iterator[Note]:
    """What is notable whatever the rules say: shadowed facts, a test left out, and what went as chatter."""
    world = compiled.world
    for field, position in compiled.stored:
        if field in action.params:
            fact = fact_held(world, position)
            stored = "no value" if fact.value is None else short(fact.value)
            given = short(normal(action.params[field]))
            instead = f"in place of the stored '{fact.id}' ({stored}, seq {fact.seq})"
            yield Note(code=SHADOW, id=fact.id, detail=f"{field} = {given} of the call is read {instead}")
    if world.actor is None and compiled.answered and _approved(compiled.rows, action.digest):
        yield Note(
            code=APPROVER,
            detail="who acts is not said (`agent`): it may have approved its own action",
        )
    yield of_chatter(world)


def of_chatter(world: World) -> Note:
    """How many of the records that are not held any more were declared inconsequential, and believed."""
    return Note(code=CHATTER, detail=f"{world.holding.chatter_delivered - world.holding.chatter}")


def _approved(rows: Iterable[Row], digest: str) -> bool:
    return any(digest in row.full_approved or digest in row.held_approved for row in rows)
