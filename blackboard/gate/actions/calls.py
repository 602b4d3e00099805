"""Satisfiability by cells: is there a call of a tool for which a formula holds?

The product of the cells of the fields that the formula reads, one field at a time: what a cell leaves of
the formula is worked out at once, and a field that nothing depends on any more is not looked at. Exact up
to `CAP`; beyond it the answer is `MAY`. Source: "Precheck" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count, islice, product
from typing import Any, Final

from blackboard.gate.actions.cells import MISSING, Cell, cells
from blackboard.gate.actions.domain import ANY, Tool, Values
from blackboard.gate.actions.formula import Both, Either, Formula, Part, Seen, both, comparisons, either
from blackboard.gate.actions.residual import Compare
from blackboard.records import atoms
from blackboard.records.atoms import ABSENT, Test
from blackboard.records.digest import action_digest

CAP: Final = 20_000
"""How much is tried for one formula: each cell costs as much as the formula has comparisons left."""

KNOWABLE: Final = 256
"""A tool with at most so many calls of which a formula holds has them all looked at, where an approval of
one action matters, of which no more is known than its digest."""

Params = dict[str, Any]


class May:
    """The answer that there may be such a call, and none can be shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MAY"


MAY: Final = May()


def find_call(
    calls: Calls, formula: Formula, *, never: frozenset[str] = frozenset(), only: frozenset[str] | None = None
) -> Params | May | None:
    """Return the params of a call of which the formula holds, None where there is no such call.

    The call's digest is not among `never`, and among `only` if that is given. `MAY`: not all was tried
    that could be, or the call is one of `only`, of which nobody can tell what it is.
    """
    if formula is False or calls.none or (only is not None and not only):
        return None
    if only and calls.unlimited:
        return MAY if find_call(calls, formula) is not None else None
    search = Search(calls, formula, KNOWABLE if only else len(never) + 1, whole=bool(only))
    for params in search.found():
        digest = action_digest(calls.tool.name, params) if only or never else ""
        if digest not in never and (not only or digest in only):
            return params
    return MAY if search.cut else None


class Calls:
    """The calls that a tool takes. `none`: there are none; `unlimited`: there is no end of them."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.domain = tool.domain
        needed = () if self.domain is None else sorted(self.domain.required)
        first = {name: next(cells((), self.values(name), optional=False), MISSING) for name in needed}
        self.required = {name: cell.members(1)[0] for name, cell in first.items()}
        self.none = ABSENT in self.required.values()
        self.unlimited = self.domain is None or self.domain.others is not None

    def values(self, name: str) -> Values | None:
        """What a parameter of a call may be; None where it cannot be given."""
        return ANY if self.domain is None else self.domain.values(name)

    def cells(self, name: str, compares: Sequence[Compare] = ()) -> Iterator[Cell]:
        """The cells of a parameter that these comparisons read."""
        optional = self.domain is None or name not in self.domain.required
        return cells(compares, self.values(name), optional=optional)


class Search:
    """One search for calls of which a formula holds.

    `variety` 1: one call for each way in which the formula comes to hold; more: up to so many calls,
    also such that differ in nothing the formula sees; `whole`: unless those are all there are, none.
    `cut`: there may be other calls than those found.
    """

    def __init__(self, calls: Calls, formula: Formula, variety: int = 1, *, whole: bool = False) -> None:
        self.cut = False
        self._calls = calls
        self._formula = formula
        self._variety = variety
        self._whole = whole
        self._left = CAP
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
        if isinstance(formula, bool):
            if formula:
                yield chosen
            return
        compares = list(comparisons(formula))
        name = compares[0].field
        read = [compare for compare in compares if compare.field == name]
        told: set[tuple[Part, ...]] = set()
        for cell in self._calls.cells(name, read):
            self._left -= len(compares)
            if self._left < 0:
                self.cut = True
                return
            parts = self._parts(read, cell.members(1)[0])
            if self._variety == 1:
                # A cell of which the formula says what it says of another one gives no other way.
                told_of = tuple(parts.values())
                if told_of in told:
                    continue
                told.add(told_of)
            yield from self._ways(_given(formula, name, parts), chosen | {name: cell})

    def _parts(self, read: Sequence[Compare], value: Any) -> dict[int, Part]:
        """Where the value stands to each of the comparisons, by their identity."""
        if value is ABSENT:
            return {id(compare): "missing" for compare in read}
        return {id(compare): _PARTS[self._test(compare)(value)] for compare in read}

    def _test(self, compare: Compare) -> Test:
        known = self._tests.get(id(compare))
        if known is None:
            known = self._tests[id(compare)] = atoms.test(compare.op, compare.value)
        return known

    def _varied(self, way: dict[str, Cell]) -> Iterator[Params]:
        """The calls of one way: its fields with members of their cells, the others with all they may be."""
        calls, most = self._calls, self._variety + 1
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
        cell = next(cells((), others, optional=True))
        read = {compare.field for compare in comparisons(self._formula)}
        names = (name for at in count(1) if (name := f"other{at}") not in read and name not in pools)
        return (
            [{}] if cell is MISSING else [{}, *({name: cell.members(1)[0]} for name in islice(names, most))]
        )


_PARTS: Final[tuple[Part, Part, Part]] = ("fails", "other", "passes")


def _given(formula: Formula, name: str, parts: dict[int, Part]) -> Formula:
    """What is left of the formula when the field stands so to its comparisons."""
    match formula:
        case Seen(compare, part):
            return formula if compare.field != name else parts[id(compare)] == part
        case Both(inner):
            return both(_given(one, name, parts) for one in inner)
        case Either(inner):
            return either(_given(one, name, parts) for one in inner)
        case _:
            return formula


def _without_absent(params: Params) -> Params:
    return {name: value for name, value in params.items() if value is not ABSENT}
