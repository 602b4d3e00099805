"""The precheck: could any record that the holder lacks bind some call of these tools? No action is read.

Never PASS where some call binds: where that cannot be found out, a rule "may bind". Every reason that can
have one carries a witness, parameters with which the gate blocks.
Source: "Precheck" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from blackboard.canonical import normal
from blackboard.gate.actions import notes, reasons
from blackboard.gate.actions.calls import MAY, Calls, May, Params, callable_tools, find_call
from blackboard.gate.actions.compiling import Compiled, Row, compile_tool
from blackboard.gate.actions.domain import Domain, Tool, read_tools
from blackboard.gate.actions.formula import Formula, at_least, danger, dangerous
from blackboard.gate.actions.inputs import inputs, short, words_of
from blackboard.gate.actions.judging import Unseen
from blackboard.gate.actions.residual import CONSTANTS, Evaluator
from blackboard.gate.actions.work import BUILD, TOTAL, Work
from blackboard.gate.actions.world import World
from blackboard.records.digest import action_digest
from blackboard.records.predicate import words
from blackboard.records.truth import FALSE, NAMES, UNKNOWN
from blackboard.records.verdict import Note, Reason, VerdictWord

__all__ = ["MAY", "Domain", "Precheck", "Tool", "possible", "precheck", "read_tools"]

CODE: Final = "may-bind-some-action"

Differing = tuple[Evaluator, Evaluator, Row]
"""A row of `Compiled.differing`."""


class Precheck(NamedTuple):
    """What is so of every call: the verdict, the sorted reasons with their witnesses, the sorted notes."""

    verdict: VerdictWord
    reasons: tuple[Reason, ...]
    notes: tuple[Note, ...]


class Threat(NamedTuple):
    """A row that is dangerous for some call of a tool: `call` are its params, or it may be so.

    `says` is what it says of a call on the full set, and on what is held.
    """

    compiled: Compiled
    row: Row
    call: Params | May
    says: tuple[Evaluator, Evaluator]


def precheck(
    world: World,
    tools: Sequence[Tool],
    *,
    unseen: Unseen = "block",
    allow_unevaluable: bool = False,
    total: int = TOTAL,
) -> Precheck:
    """Return whether some call of one of the tools would be blocked, with one reason for each record.

    The options are those of `judge`. `total` is the work that may be done (see `work`): what there is not
    enough for, may bind.
    """
    asked = list(_compiled(world, tools))
    every = _threats(asked, "block", Work(total))
    threats = every if unseen == "block" else _threats(asked, unseen, Work(total))
    blocking = {threat.row.id for threat in threats}
    found = _because(threats)
    if asked and not allow_unevaluable:
        found += _unevaluable(*asked[0])
    told = [
        *map(notes.of_unseen, _because([threat for threat in every if threat.row.id not in blocking])),
        *_notes(world, [compiled for _, compiled in asked], blind=allow_unevaluable),
    ]
    return Precheck(
        "BLOCK" if found else "PASS",
        tuple(sorted(found, key=lambda reason: (reason.code, reason.id))),
        tuple(sorted(told, key=notes.order)),
    )


def possible(
    row: Row, calls: Calls, unseen: Unseen = "block", *, work: Work | None = None
) -> Params | May | None:
    """Return params for which the gate blocks because of this row, None where there are none.

    `MAY`: there may be some. That is so beyond what may be tried (`work`, and for one formula), and where
    the holder counts an approval that does not count any more: it is for the one action that has its
    digest.
    """
    if row.alike or (row.held is None and not row.restrictive):
        return None
    if row.full is not row.held and work is not None and not work.spend(BUILD * len(row.rule.atoms)):
        return MAY
    counting = None if unseen == "block" or row.dropped else row.dropped_for
    # What a kept rule reads in facts differs where the params leave it to the facts.
    bare = row.held is not None
    found = find_call(calls, _danger(row), never=row.full_approved, only=counting, bare=bare, work=work)
    lost = row.held_approved - row.full_approved
    if lost and (found is None or found is MAY):
        # For those actions the holder takes the rule for FALSE.
        only = lost if counting is None else lost & counting
        other = find_call(calls, at_least(row.full, UNKNOWN), only=only, work=work)
        found = found if other is None else other
    return found


def _danger(row: Row) -> Formula:
    """When the row is dangerous, approvals apart: never where both sides are one, however large it is."""
    if row.full is row.held:
        return False
    held = CONSTANTS[FALSE] if row.held is None else row.held
    return danger(row.full, held, restrictive=row.restrictive)


# ---- over all tools


def _compiled(world: World, tools: Sequence[Tool]) -> Iterator[tuple[Calls, Compiled]]:
    """The tools that can be called, each compiled; those with the same rules are compiled once."""
    known: dict[tuple[int, ...], Compiled] = {}
    for calls in callable_tools(tools):
        name = calls.tool.name
        rules = tuple(map(id, world.records.rules_for(name)))
        if rules not in known:
            known[rules] = compile_tool(world, name)
        yield calls, known[rules]._replace(tool=name)


def _threats(asked: Sequence[tuple[Calls, Compiled]], unseen: Unseen, work: Work) -> list[Threat]:
    """The rows that may be dangerous, those of one rule in the order of the tools.

    Small rules come first, so that large ones do not use up their work; and whatever is asked beside some
    tools, they are come to in the same order and with no more work left.
    """
    rows = [(calls, compiled, differing) for calls, compiled in asked for differing in compiled.differing]
    rows.sort(key=lambda one: (len(one[2][2].rule.atoms), one[2][2].rule.copies[0]))
    found: list[Threat] = []
    known: dict[int, Params | May | None] = {}  # of rules for tools that take every call: the same for all
    for calls, compiled, differing in rows:
        row = differing[2]
        rule = id(row.rule)
        if calls.domain is not None or row.full_approved or row.held_approved:
            call = _call(calls, differing, unseen, work)
        else:
            if rule not in known:
                known[rule] = _call(calls, differing, unseen, work)
            call = known[rule]
        if call is not None:
            found.append(Threat(compiled, row, call, differing[:2]))
    return found


def _call(calls: Calls, differing: Differing, unseen: Unseen, work: Work) -> Params | May | None:
    """What `possible` returns. The least call is tried first where it is held: there the facts decide."""
    says, says_held, row = differing
    if (
        row.held is not None
        and (unseen == "block" or row.dropped)
        and dangerous(row, says(calls.required), says_held(calls.required))
        and not row.full_approved
        and not row.held_approved
    ):
        return {**calls.required}
    return possible(row, calls, unseen, work=work)


def _notes(world: World, compiled: Sequence[Compiled], *, blind: bool) -> Iterator[Note]:
    for one in compiled[:1]:  # whichever the tool, these are the same
        yield from notes.of_unevaluable(one, blind=blind)
    if world.actor is None and any(one.approvals for one in compiled):
        yield Note(
            code=notes.APPROVER, detail="who acts is not said (`agent`): it may have approved its own actions"
        )
    dropped = world.holding.chatter_delivered - world.holding.chatter
    yield Note(code=notes.CHATTER, detail=f"{dropped}")


# ---- reasons


def _unevaluable(calls: Calls, compiled: Compiled) -> list[Reason]:
    """The reasons that lost records cannot be evaluated: they block every call, so the least will do."""
    witness, tool = normal(calls.required), calls.tool.name
    found = [reasons.unevaluable(compiled, position) for position in compiled.dropped_unevaluable]
    return [replace(reason, witness=witness, tool=tool) for reason in found]


def _because(threats: Sequence[Threat]) -> list[Reason]:
    """One reason for each rule, with a witness from the first tool that has one."""
    of_rule: dict[str, list[Threat]] = {}
    for threat in threats:
        of_rule.setdefault(threat.row.id, []).append(threat)
    return [_reason(found) for found in of_rule.values()]


def _reason(found: Sequence[Threat]) -> Reason:
    threat = next((threat for threat in found if threat.call is not MAY), found[0])
    compiled, row, call, (says, says_held) = threat
    items = compiled.world.records.items
    missing = _missing(row)
    subject = _subject(compiled, row, _tools(found))
    reason = Reason(
        code=CODE,
        id=row.id,
        detail=f"{subject}; it may bind some call: {_doubt(row)}" if isinstance(call, May) else subject,
        effect=row.effect,
        predicate=words(row.rule.predicate),
        missing=[items[position].id for position in missing],
        reread=[items[position].id for position in _again(compiled, row, missing)],
        keys=list(row.missing_keys),
        tool=compiled.tool,
    )
    if isinstance(call, May):
        return reason
    digest = _digest(threat)
    full = FALSE if digest in row.full_approved else says(call)
    held = FALSE if digest in row.held_approved else says_held(call)
    read, witness = inputs(compiled.world, row, call), normal(call)
    told = f"{reasons.sides((row, full, held), digest)}; {words_of(read, compiled.world, call)}"
    return replace(
        reason,
        detail=f"{subject}; some call would be blocked, for one {short(witness)}: {told}",
        full=NAMES[full],
        held=None if row.held is None else NAMES[held],
        inputs=read,
        witness=witness,
    )


def _subject(compiled: Compiled, row: Row, tools: str) -> str:
    policy = f"policy '{row.id}' ({row.effect})"
    if row.held is not None:
        return f"held {policy} covers {tools}, and not all that it rests on is held as it stands"
    delivered = any(map(compiled.world.holding.delivered, row.full_copies))
    return f"{policy} {'is not held any more' if delivered else 'was never delivered'} and covers {tools}"


def _tools(found: Sequence[Threat]) -> str:
    more = len(found) - 1
    return f"{found[0].compiled.tool}{f' and {more} more of the tools' if more else ''}"


def _doubt(row: Row) -> str:
    """Why no call can be shown."""
    if row.held_approved - row.full_approved:
        return "an approval that the agent counts is none any more; its action is known by its digest only"
    return "there is more to try than the cap allows"


def _digest(threat: Threat) -> str:
    row, call = threat.row, threat.call
    if isinstance(call, May) or not (row.full_approved or row.held_approved):
        return ""
    return action_digest(threat.compiled.tool, call)


def _missing(row: Row) -> list[int]:
    """The records that the rule rests on and the holder lacks."""
    lost = row.held_approved - row.full_approved
    return sorted({*row.missing, *(position for digest in lost for position in row.missing_for[digest])})


def _again(compiled: Compiled, row: Row, missing: Sequence[int]) -> list[int]:
    """The records that lift the danger of every call when they are read."""
    if not row.full_copies or not set(row.full_copies).isdisjoint(row.held_copies):
        return list(missing)
    # None of the copies in force is held: one is enough, unless approvals are held that would count then.
    records, holding = compiled.world.records, compiled.world.holding
    approvals = [records.approvals(records.items[copy].id) for copy in row.full_copies]
    counting = [answers for of in approvals for answers in of.values() if any(map(holding.holds, answers))]
    ends = {end for answers in counting for end in (answers[-1], records.superseder(answers[-1]))}
    copies = row.full_copies if counting else row.full_copies[-1:]
    needed = {*missing} - {*row.full_copies} | {*copies} | {end for end in ends if end is not None}
    return sorted(position for position in needed if not holding.holds(position))
