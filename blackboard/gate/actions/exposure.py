"""Which facts the holder of some rules needs: without them a call may bind more than it can see.

Lacking a fact makes a rule more cautious as often as less, and two missing facts can make up for one
another, so every set of facts has to be tried on its own. The general problem is NP-hard.
Source: "Must-keep and repair" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from blackboard.gate.actions.calls import Calls, find_call
from blackboard.gate.actions.formula import Formula, at_least, danger
from blackboard.gate.actions.residual import evaluator, residual, truths
from blackboard.gate.actions.sides import Side
from blackboard.records import Rule
from blackboard.records.atoms import ABSENT
from blackboard.records.predicate import Atom, Predicate, atoms
from blackboard.records.truth import UNKNOWN

EXACT: Final = 12
"""Among so many facts that bear on one another a smallest set that will do is found; among more, one from
which nothing can be left out."""

_FEW: Final = 4

Fields = frozenset[str]


class Restriction:
    """A restriction in force: its `copies`, the actions that it is `approved` for, the `fields` of facts
    that it reads. `calls` are those of the tools that it covers, each of which takes some.
    """

    __slots__ = ("_calls", "_exposed", "_full", "_known", "_lacking", "approved", "copies", "fields", "rule")

    def __init__(self, full: Side, rule: Rule, copies: Sequence[int], calls: Sequence[Calls]) -> None:
        read = list(atoms(rule.predicate))
        self.rule = rule
        self.copies = copies
        self.approved = full.approved_digests(copies)
        self.fields = fields_of(rule.predicate)
        self._known = truths(read, full.value)
        self._lacking = [
            (at, atom.field, truth)
            for at, (atom, truth) in enumerate(zip(read, truths(read, _nothing), strict=True))
            if atom.source in (None, "fact")
        ]
        self._full = residual(rule.predicate, self._known)
        self._calls = list(calls) if self.approved else _differing(calls)
        self._exposed: dict[Fields, bool] = {}

    def binds(self) -> bool:
        """Whether there may be a call that it binds, for who does not hold it."""
        return self._some_call(at_least(self._full, UNKNOWN))

    def exposed(self, lost: Fields) -> bool:
        """Whether some call may be dangerous for who holds it and lacks the facts of just these fields."""
        mine = lost & self.fields
        found = self._exposed.get(mine)
        if found is None:
            found = self._exposed[mine] = self._tried(mine)
        return found

    def _tried(self, lost: Fields) -> bool:
        known = list(self._known)
        for at, field, truth in self._lacking:
            if field in lost:
                known[at] = truth
        if tuple(known) == self._known:
            return False
        held = residual(self.rule.predicate, known)
        # The least call is tried first: that is cheap, and what is left to the facts shows there.
        least = self._calls[0].required
        if not self.approved and evaluator(self._full)(least) > evaluator(held)(least):
            return True
        return self._some_call(danger(self._full, held, restrictive=True))

    def _some_call(self, formula: Formula) -> bool:
        found = (find_call(calls, formula, never=self.approved, bare=True) for calls in self._calls)
        return any(call is not None for call in found)


def fields_of(predicate: Predicate) -> Fields:
    """The fields that a predicate may read from facts."""
    return frozenset([atom.field for atom in atoms(predicate) if atom.source in (None, "fact")])


def _nothing(_atom: Atom) -> object:
    return ABSENT


def _differing(calls: Sequence[Calls]) -> list[Calls]:
    """The tools without those that take what another takes: of two that take everything, one."""
    free = [one for one in calls if one.domain is None]
    return [*free[:1], *(one for one in calls if one.domain is not None)]


# ---- the facts that will do


def least_facts(wanted: Sequence[str], restrictions: Sequence[Restriction]) -> tuple[list[str], bool]:
    """Return which of the `wanted` fields the holder of the restrictions needs the facts of.

    With just those, none of the restrictions is exposed. Of two fields that would do, the one that comes
    first in `wanted` is taken. The second part tells whether no smaller set would do.
    """
    chosen: set[str] = set()
    smallest = True
    for fields, group in _groups(frozenset(wanted), restrictions):
        ordered = [field for field in wanted if field in fields]
        if len(ordered) <= EXACT:
            chosen |= _smallest(ordered, group)
        else:
            smallest = False
            chosen |= _irredundant(ordered, group)
    return [field for field in wanted if field in chosen], smallest


def _groups(wanted: Fields, restrictions: Iterable[Restriction]) -> list[tuple[Fields, list[Restriction]]]:
    """The restrictions in groups that have no wanted field in common, with their wanted fields."""
    groups: list[tuple[Fields, list[Restriction]]] = []
    for restriction in restrictions:
        fields, members = restriction.fields & wanted, [restriction]
        apart = []
        for group in groups:
            if fields.isdisjoint(group[0]):
                apart.append(group)
            else:
                fields, members = fields | group[0], [*group[1], *members]
        groups = [*apart, (fields, members)] if fields else groups
    return groups


def _smallest(wanted: Sequence[str], group: Sequence[Restriction]) -> set[str]:
    """The smallest set of the fields that will do, the first in order of `wanted` among several."""
    needed = {field for field in wanted if any(_needs(one, field, frozenset(wanted)) for one in group)}
    open_fields = [field for field in wanted if field not in needed]
    sets = (
        needed.union(more) for size in range(len(open_fields) + 1) for more in combinations(open_fields, size)
    )
    return next(chosen for chosen in sets if _will_do(frozenset(wanted) - chosen, group))


def _needs(restriction: Restriction, field: str, wanted: Fields) -> bool:
    """Whether the restriction is exposed without the field whatever else is kept; not asked of large ones."""
    others = restriction.fields & wanted - {field}
    if field not in restriction.fields or len(others) >= _FEW:
        return False
    lost = ({field, *more} for size in range(len(others) + 1) for more in combinations(sorted(others), size))
    return all(restriction.exposed(frozenset(one)) for one in lost)


def _irredundant(wanted: Sequence[str], group: Sequence[Restriction]) -> set[str]:
    """Fields that will do and of which none can be left out, by leaving out one after another."""
    every, chosen = frozenset(wanted), set(wanted)
    while True:
        before = len(chosen)
        for field in reversed(wanted):
            lost = every - chosen | {field}
            if field in chosen and _will_do(lost, [one for one in group if field in one.fields]):
                chosen.remove(field)
        if len(chosen) == before:
            return chosen


def _will_do(lost: Fields, group: Iterable[Restriction]) -> bool:
    return not any(restriction.exposed(lost) for restriction in group)
