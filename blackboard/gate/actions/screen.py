"""The screen: finds, without trying every row, the rows that can be dangerous for a call.

A field's values fall into finitely many cells on which every comparison with the field says the same. For
each cell met so far the screen knows which rows it rules out; what no field of a call rules out is left to
be tried. Cost follows the number of fields, not of rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from blackboard.gate.actions.cells import bounds
from blackboard.gate.actions.formula import Formula, Seen, comparisons, holds, stands
from blackboard.gate.actions.residual import Compare
from blackboard.records.atoms import ABSENT, TYPES

Mask = int
"""Rows by their bits."""


class Screen:
    """Which of `formulas`, by their place, may hold for some params. A place not given does not hold."""

    __slots__ = ("_everything", "_fields")

    def __init__(self, formulas: Sequence[Formula]) -> None:
        self._everything: Mask = sum(1 << at for at, one in enumerate(formulas) if one is not False)
        read: defaultdict[str, list[Compare]] = defaultdict(list)
        for formula in formulas:
            for compare in comparisons(formula):
                read[compare.field].append(compare)
        self._fields = [_field(name, found, formulas) for name, found in read.items()]

    def places(self, params: Mapping[str, Any]) -> Iterator[int]:
        """The places of the formulas that may hold, in order; each one that holds is among them."""
        left = self._everything
        for field in self._fields:
            left &= field(params)
            if not left:
                return
        while left:
            lowest = left & -left
            yield lowest.bit_length() - 1
            left ^= lowest


def _field(
    name: str, compares: Iterable[Compare], formulas: Sequence[Formula]
) -> Callable[[Mapping[str, Any]], Mask]:
    """The function that says which formulas the value of one field leaves possible."""
    numbers, strings = bounds(compares)
    known: dict[int | str, Mask] = {}

    def possible(params: Mapping[str, Any]) -> Mask:
        value = params.get(name, ABSENT)
        kind = TYPES.get(type(value))
        cell: int | str
        if kind == "number":
            cell = _cell(numbers, value)
        elif kind == "string":
            cell = ~_cell(strings, value)
        elif kind == "bool":
            cell = "true" if value else "false"
        else:
            cell = "missing" if value is ABSENT else kind or "other"
        mask = known.get(cell)
        if mask is None:
            mask = known[cell] = _possible(name, value, formulas)
        return mask

    return possible


def _possible(name: str, value: Any, formulas: Sequence[Formula]) -> Mask:
    """The formulas that may hold for this value of the field, whatever the rest of the call is."""

    def about(seen: Seen) -> bool:
        return seen.compare.field != name or stands(seen.compare, value) == seen.part

    return sum(1 << at for at, formula in enumerate(formulas) if holds(formula, about))


def _cell(bounds: Sequence[Any], value: Any) -> int:
    """The number of the cell: each bound is one, and so is the space before it and behind the last."""
    at = bisect_left(bounds, value)
    return 2 * at + (at < len(bounds) and bounds[at] == value)
