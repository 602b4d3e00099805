"""Satisfiability by cells: is there a call of a tool for which a formula holds?

The product of the cells of the fields that the formula reads, one field at a time: what a cell leaves of
the formula is worked out at once, and a field that nothing depends on any more is not looked at. Exact as
far as the work goes that may be done (see `work`); beyond it the answer is `MAY`.
Source: "Precheck" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, count, islice, product
from typing import Any, Final

from blackboard.gate.actions.approving import Digests
from blackboard.gate.actions.cells import MISSING, Cell, cells
from blackboard.gate.actions.domain import ANY, Tool, Values
from blackboard.gate.actions.formula import (
    PARTS,
    Both,
    Either,
    Formula,
    Part,
    Seen,
    comparisons,
    constants,
    holds,
    stands,
)
from blackboard.gate.actions.residual import Compare
from blackboard.gate.actions.work import CAP, CELL, DIGEST, Work
from blackboard.records import atoms
from blackboard.records.atoms import ABSENT, Test
from blackboard.records.digest import action_digest

KNOWABLE: Final = 256
"""A tool with at most so many calls of which a formula holds has them all looked at, where an approval of
one action matters, of which no more is known than its digest."""

_LARGE: Final = 16
"""A formula with more comparisons is tried on the least call first: it may be as good as any."""

Params = dict[str, Any]


class May:
    """The answer that there may be such a call, and none can be shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MAY"


MAY: Final = May()


def find_call(
    calls: Calls,
    formula: Formula,
    *,
    never: Set[str] = frozenset(),
    only: Set[str] | None = None,
    bare: bool = False,
    work: Work | None = None,
) -> Params | May | None:
    """Return the params of a call of which the formula holds, None where there is no such call.

    The call's digest is not among `never`, and among `only` if that is given. `MAY`: not all was tried
    that could be, or the call is one of `only`, of which nobody can tell what it is. `bare`: calls with
    fewer params are tried first. `work` is what may be done for it, no more than for one formula.
    """
    if formula is False or calls.none or (only is not None and not only):
        return None
    if only and calls.unlimited:
        return MAY if find_call(calls, formula, bare=bare, work=work) is not None else None
    if not only and not never and _least(calls, formula, work):
        return {**calls.required}
    work = Work(CAP, within=work)
    variety = KNOWABLE if only else _at_most(never) + 1
    search = Search(calls, formula, variety, whole=bool(only), bare=bare, work=work)
    for params in search.found():
        if not only and not never:
            return params
        if not work.spend(DIGEST):
            return MAY
        digest = action_digest(calls.tool.name, params)
        if digest not in never and (not only or digest in only):
            return params
    return MAY if search.cut else None


def _at_most(never: Set[str]) -> int:
    return never.at_most() if isinstance(never, Digests) else len(never)


def _least(calls: Calls, formula: Formula, work: Work | None) -> bool:
    """Whether a large formula holds of the least call."""
    size = len(comparisons(formula))
    if size <= _LARGE or (work is not None and not work.spend(CELL * size)):
        return False
    return _holds(formula, calls.required)


class Calls:
    """The calls that a tool takes. `none`: there are none; `unlimited`: there is no end of them."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.domain = tool.domain
        needed = () if self.domain is None else sorted(self.domain.required)
        first = {name: next(cells((), self.values(name)), MISSING) for name in needed}
        self.required = {name: cell.members(1)[0] for name, cell in first.items()}
        self.none = ABSENT in self.required.values()
        self.unlimited = self.domain is None or self.domain.others is not None

    def values(self, name: str) -> Values | None:
        """What a parameter of a call may be; None where it cannot be given."""
        return ANY if self.domain is None else self.domain.values(name)

    def cells(self, name: str, compares: Sequence[Compare] = (), *, bare: bool = True) -> Iterator[Cell]:
        """The cells of a parameter that these comparisons read: its absence first (`bare`), or last."""
        given = cells(compares, self.values(name))
        if name in self.required:
            return given
        return chain((MISSING,), given) if bare else chain(given, (MISSING,))


def callable_tools(tools: Iterable[Tool]) -> Iterator[Calls]:
    """The tools of which there is a call at all, by name."""
    for tool in sorted(tools, key=lambda tool: tool.name):
        calls = Calls(tool)
        if not calls.none:
            yield calls


class Search:
    """One search for calls of which a formula holds.

    `variety` 1: one call for each way in which the formula comes to hold; more: up to so many calls,
    also such that differ in nothing the formula sees; `whole`: unless those are all there are, none; `bare`:
    those with fewer params first. `cut`: there may be other calls than those found.
    """

    def __init__(
        self,
        calls: Calls,
        formula: Formula,
        variety: int = 1,
        *,
        whole: bool = False,
        bare: bool = False,
        work: Work,
    ) -> None:
        self.cut = False
        self._calls = calls
        self._formula = formula
        self._variety = variety
        self._whole = whole
        self._bare = bare
        self._work = work
        self._tests: dict[int, Test] = {}

    def found(self) -> Iterator[Params]:
        """The params of the calls, each once."""
        ways = self._ways(self._formula, {})
        if self._variety == 1:
            for way in ways:
                given = {name: cell.members(1)[0] for name, cell in way.items()}
                yield _without_absent(self._calls.required | given)
            return
        calls = chain.from_iterable(map(self._varied, ways))
        yield from islice(calls, self._variety)
        self.cut = self.cut or next(calls, None) is not None

    def _ways(self, formula: Formula, chosen: dict[str, Cell]) -> Iterator[dict[str, Cell]]:
        """Which cells of which fields make the formula hold, whatever the other fields are."""
        if formula is True:
            yield chosen
            return
        if (
            self._variety == 1
            and isinstance(formula, Either)
            and any(isinstance(one, Both) for one in formula.parts)
        ):
            # One at a time: they have fewer fields than all together, and none has to be found twice.
            for part in formula.parts:
                yield from self._ways(part, chosen)
            return
        compares = comparisons(formula)
        name = _decisive(formula, compares).field
        read = {id(compare): compare for compare in compares if compare.field == name}
        told: set[tuple[Part, ...]] = set()
        compared = sum(len(constants(compare)) for compare in read.values())
        # Cells that no value of a domain lies in are made too, and left out.
        if not self._work.spend(compared if self._calls.domain is None else 2 * CELL * (8 + compared)):
            self.cut = True
            return
        for cell in self._calls.cells(name, list(read.values()), bare=self._bare):
            if not self._work.spend(CELL + len(compares)):
                self.cut = True
                return
            parts = self._parts(read, cell.members(1)[0])
            if self._variety == 1:
                # A cell of which the formula says what it says of another one gives no other way.
                told_of = tuple(parts.values())
                if told_of in told:
                    continue
                told.add(told_of)
            left = _given(formula, name, parts)
            if left is not False:
                yield from self._ways(left, chosen | {name: cell})

    def _parts(self, read: Mapping[int, Compare], value: Any) -> dict[int, Part]:
        """Where the value stands to each of the comparisons, by their identity."""
        if value is ABSENT:
            return dict.fromkeys(read, "missing")
        tests = self._tests
        for key, compare in read.items():
            if key not in tests:
                tests[key] = atoms.test(compare.op, compare.value)
        return {key: PARTS[tests[key](value)] for key in read}

    def _varied(self, way: dict[str, Cell]) -> Iterator[Params]:
        """The calls of one way: its fields with members of their cells, the others with all they may be."""
        calls, most = self._calls, self._variety + 1
        fields = len(way) + (0 if calls.domain is None else len(calls.domain.declared))
        if not self._work.spend(CELL * most * (fields + 1)):
            self.cut = True
            return
        pools: dict[str, Sequence[Any]] = {name: cell.members(most) for name, cell in way.items()}
        for name in () if calls.domain is None else sorted(calls.domain.declared):
            if name not in pools:
                members = (member for cell in calls.cells(name) for member in cell.members(most))
                pools[name] = list(islice(members, most))
        if self._whole and any(len(pool) == most for pool in pools.values()):
            self.cut = True
            return
        for *values, more in product(*pools.values(), self._more(pools, most)):
            yield _without_absent(dict(zip(pools, values, strict=True)) | more)

    def _more(self, pools: dict[str, Sequence[Any]], most: int) -> Sequence[Params]:
        """Parameters that nothing declares or reads: none, and one at a time where there can be any."""
        others = ANY if self._calls.domain is None else self._calls.domain.others
        cell = next(cells((), others), MISSING)
        read = {compare.field for compare in comparisons(self._formula)}
        names = (name for at in count(1) if (name := f"other{at}") not in read and name not in pools)
        return (
            [{}] if cell is MISSING else [{}, *({name: cell.members(1)[0]} for name in islice(names, most))]
        )


def _holds(formula: Formula, params: Params) -> bool:
    """Whether the formula holds of a call."""

    def about(seen: Seen) -> bool:
        return stands(seen.compare, params.get(seen.compare.field, ABSENT)) == seen.part

    return holds(formula, about)


def _decisive(formula: Formula, compares: Sequence[Compare]) -> Compare:
    """The comparison to settle first: one that has to come out one way, if there is any."""
    parts = formula.parts if isinstance(formula, Both) else ()
    return next((part.compare for part in parts if isinstance(part, Seen)), compares[0])


def _given(formula: Formula, name: str, parts: Mapping[int, Part]) -> Formula:
    """What is left of the formula when the field stands so to its comparisons."""
    if isinstance(formula, Seen):
        compare = formula.compare
        return formula if compare.field != name else parts[id(compare)] == formula.part
    assert isinstance(formula, (Both, Either))
    kind = type(formula)
    neutral = kind is Both
    left: list[Formula] = []
    for inner in formula.parts:
        found = _given(inner, name, parts)
        if found is (not neutral):
            return found
        if isinstance(found, kind):
            left += found.parts
        elif found is not neutral:
            left.append(found)
    return kind(tuple(left)) if len(left) > 1 else left[0] if left else neutral


def _without_absent(params: Params) -> Params:
    return {name: value for name, value in params.items() if value is not ABSENT}
