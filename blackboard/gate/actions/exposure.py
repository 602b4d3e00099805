"""Which facts the holder of some rules needs: without them a call may bind more than it can see.

Lacking a fact makes a rule more cautious as often as less, and two missing facts can make up for one
another, so every set of facts has to be tried on its own. The general problem is NP-hard: where the work
that may be done does not suffice, more facts are named than are needed, and never fewer.
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
from blackboard.gate.actions.work import BUILD, DIGEST, Work
from blackboard.records import Rule
from blackboard.records.atoms import ABSENT
from blackboard.records.predicate import Atom
from blackboard.records.truth import UNKNOWN

EXACT: Final = 12
"""Among so many facts that bear on one another a smallest set that will do is found; among more, one from
which nothing can be left out."""

_FEW: Final = 4
_LOOK: Final = 5  # what it costs to look at a restriction

Fields = frozenset[str]


class Restriction:
    """A restriction in force: its `copies`, the actions that it is `approved` for, the `fields` of facts
    that it reads. `calls` are those of the tools that it covers, each of which takes some; `answers` is how
    many actions approvals of it are about. Not `known`: there is not enough `work` to look into it, so it
    may bind any call, and needs each of its facts.
    """

    __slots__ = (
        "_calls",
        "_exposed",
        "_full",
        "_lacking",
        "_truths",
        "approved",
        "copies",
        "fields",
        "known",
        "rule",
    )

    def __init__(
        self,
        full: Side,
        rule: Rule,
        copies: Sequence[int],
        calls: Sequence[Calls],
        *,
        answers: int,
        work: Work,
    ) -> None:
        read = rule.atoms
        self.rule = rule
        self.copies = copies
        self.fields = fields_of(read)
        self.approved: frozenset[str] = frozenset()
        self._exposed: dict[Fields, bool] = {}
        self.known = work.spend(BUILD * len(read) + 2 * DIGEST * answers * len(copies))
        if not self.known:
            return
        if answers:
            self.approved = full.approved_digests(copies)
        self._truths = truths(read, full.value)
        self._lacking = [
            (at, atom.field, truth)
            for at, (atom, truth) in enumerate(zip(read, truths(read, _nothing), strict=True))
            if atom.source in (None, "fact")
        ]
        self._full = residual(rule.predicate, self._truths)
        self._calls = list(calls) if self.approved else _differing(calls)

    def binds(self, work: Work) -> bool:
        """Whether there may be a call that it binds, for who does not hold it."""
        return not self.known or self._some_call(at_least(self._full, UNKNOWN), work)

    def exposed(self, lost: Fields, work: Work) -> bool:
        """Whether some call may be dangerous for who holds it and lacks the facts of just these fields."""
        mine = lost & self.fields
        if not mine:
            return False
        found = self._exposed.get(mine)
        if found is None:
            found = not self.known or self._tried(mine, work)
            if not work.out:  # with more work the answer may be another one
                self._exposed[mine] = found
        return found

    def _tried(self, lost: Fields, work: Work) -> bool:
        if not work.spend(BUILD * len(self._truths)):
            return True
        known = list(self._truths)
        for at, field, truth in self._lacking:
            if field in lost:
                known[at] = truth
        if tuple(known) == self._truths:
            return False
        held = residual(self.rule.predicate, known)
        # The least call is tried first: that is cheap, and what is left to the facts shows there.
        least = self._calls[0].required
        if not self.approved and evaluator(self._full)(least) > evaluator(held)(least):
            return True
        return self._some_call(danger(self._full, held, restrictive=True), work)

    def _some_call(self, formula: Formula, work: Work) -> bool:
        """Whether there may be such a call.

        Each tool costs what it costs a precheck, which must be able to find out the same.
        """
        for calls in self._calls:
            if not work.spend(BUILD * len(self._truths)):
                return True
            if find_call(calls, formula, never=self.approved, bare=True, work=work) is not None:
                return True
        return False


def fields_of(read: Iterable[Atom]) -> Fields:
    """The fields that atoms may read from facts."""
    return frozenset([atom.field for atom in read if atom.source in (None, "fact")])


def _nothing(_atom: Atom) -> object:
    return ABSENT


def _differing(calls: Sequence[Calls]) -> list[Calls]:
    """The tools without those that take what another takes: of two that take everything, one."""
    free = [one for one in calls if one.domain is None]
    return [*free[:1], *(one for one in calls if one.domain is not None)]


# ---- the facts that will do


def least_facts(
    wanted: Sequence[str], restrictions: Sequence[Restriction], work: Work
) -> tuple[list[str], bool]:
    """Return which of the `wanted` fields the holder of the restrictions needs the facts of.

    With just those, none of the restrictions is exposed. Of two fields that would do, the one that comes
    first in `wanted` is taken. The second part tells whether no smaller set would do. Half of the `work` that
    is left may go into a smallest set; then one is taken from which nothing can be left out, as far as can
    be found out with the rest.
    """
    groups = _groups(frozenset(wanted), restrictions, work)
    if groups is None:
        return list(wanted), False
    chosen: set[str] = set()
    smallest = True
    rank = {field: at for at, field in enumerate(wanted)}
    for fields, group in groups:
        ordered = sorted(fields, key=rank.__getitem__)
        few = _smallest(ordered, group, Work(work.left // 2, within=work)) if len(fields) <= EXACT else None
        smallest = smallest and few is not None
        chosen |= _irredundant(ordered, group, work) if few is None else few
    return sorted(chosen, key=rank.__getitem__), smallest and not work.out


def _groups(
    wanted: Fields, restrictions: Iterable[Restriction], work: Work
) -> list[tuple[Fields, list[Restriction]]] | None:
    """The restrictions in groups that have no wanted field in common, with their wanted fields.

    None where there is too much of that to be told apart.
    """
    groups: list[tuple[Fields, list[Restriction]]] = []
    for restriction in restrictions:
        fields, members = restriction.fields & wanted, [restriction]
        apart = []
        for group in groups:
            if not work.spend(_LOOK + len(fields)):
                return None
            if fields.isdisjoint(group[0]):
                apart.append(group)
            else:
                work.spend(len(group[0]))
                fields, members = fields | group[0], [*group[1], *members]
        groups = [*apart, (fields, members)] if fields else groups
    return groups


def _smallest(wanted: Sequence[str], group: Sequence[Restriction], work: Work) -> set[str] | None:
    """The smallest set of the fields that will do, the first in order of `wanted` among several.

    None where there is not enough work to find it.
    """
    every = frozenset(wanted)
    needed = {field for field in wanted if any(_needs(one, field, every, work) for one in group)}
    open_fields = [field for field in wanted if field not in needed]
    sets = (
        needed.union(more) for size in range(len(open_fields) + 1) for more in combinations(open_fields, size)
    )
    found = next(chosen for chosen in sets if work.out or _will_do(every - chosen, group, work))
    return None if work.out else found


def _needs(restriction: Restriction, field: str, wanted: Fields, work: Work) -> bool:
    """Whether the restriction is exposed without the field whatever else is kept; not asked of large ones."""
    others = restriction.fields & wanted - {field}
    if field not in restriction.fields or len(others) >= _FEW:
        return False
    lost = ({field, *more} for size in range(len(others) + 1) for more in combinations(sorted(others), size))
    return all(restriction.exposed(frozenset(one), work) for one in lost)


def _irredundant(wanted: Sequence[str], group: Sequence[Restriction], work: Work) -> set[str]:
    """Fields that will do and of which none can be left out, by leaving out one after another.

    Where there is not enough work to find out whether one can be, it stays.
    """
    every, chosen = frozenset(wanted), set(wanted)
    while True:
        before = len(chosen)
        for field in reversed(wanted):
            if not work.spend(len(wanted) + len(group)):
                return chosen
            lost = every - chosen | {field}
            if field in chosen and _will_do(lost, [one for one in group if field in one.fields], work):
                chosen.remove(field)
        if len(chosen) == before:
            return chosen


def _will_do(lost: Fields, group: Sequence[Restriction], work: Work) -> bool:
    # What it costs to look is spent before, so that whoever lacks nothing is never exposed for want of work.
    work.spend(_LOOK * len(group))
    return not any(restriction.exposed(lost, work) for restriction in group)
