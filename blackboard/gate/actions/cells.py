"""The cells of a field: finitely many sets of values, on each of which every comparison says the same.

The cells of numbers are the constants that the field is compared with and the open spaces between them and
beyond both ends; those of strings likewise, a prefix bounding a space at itself and where its strings end.
Every other type is a cell, null, true, false and the missing value are one each. So one member of each
cell stands for all values there are. Source: "Precheck" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import islice, pairwise
from math import ceil, floor
from typing import Any, Final, NamedTuple

from blackboard.gate.actions.domain import ANY, Values
from blackboard.gate.actions.formula import constants
from blackboard.gate.actions.residual import Compare
from blackboard.records.atoms import ABSENT, TYPES

Number = int | Decimal

_EXACT: Final = Context(prec=10_000, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Loses no digit of any number that can be written."""

_LAST: Final = "\U0010ffff"
_BEFORE_SURROGATES: Final = "\ud7ff"
_BEHIND_SURROGATES: Final = "\ue000"


class Point(NamedTuple):
    """One value, or ABSENT."""

    value: Any

    def members(self, _most: int) -> Sequence[Any]:
        """Distinct members: `most` of them, or all where there are fewer."""
        return (self.value,)


class Numbers(NamedTuple):
    """What lies between two numbers, both left out; None: nothing bounds it there."""

    low: Number | None
    high: Number | None
    whole: bool

    def members(self, most: int) -> Sequence[Any]:
        """Distinct members, as short as they come: `most` of them, or all where there are fewer."""
        low, high = self.low, self.high
        if low is None:
            start = most if high is None else ceil(high)
            return range(start - 1, start - 1 - most, -1)
        whole = _multiples(low, high, 0, most)
        if high is None or self.whole or len(whole) == most:
            return whole
        width = _EXACT.subtract(Decimal(high), Decimal(low))
        places = max(0, -width.adjusted())
        found: list[Number] = []
        while len(found) < most:
            found = _multiples(low, high, places, most)
            places += 1
        return found


def _multiples(low: Number, high: Number | None, places: int, most: int) -> list[Number]:
    """The first multiples of 10 to the -`places` that lie between the two."""
    step = floor(_EXACT.scaleb(Decimal(low), places)) + 1
    found: list[Number] = []
    while len(found) < most:
        number: Number = _EXACT.scaleb(Decimal(step), -places) if places else step
        if high is not None and number >= high:
            break
        found.append(number)
        step += 1
    return found


class Strings(NamedTuple):
    """What lies between two strings in the order of code points, both left out; `high` None: no bound."""

    low: str
    high: str | None

    def members(self, most: int) -> Sequence[Any]:
        """Distinct members, readable ones first: `most` of them, or all where there are fewer."""
        # Where a readable one lies beyond, the first strings behind `low` are those with NULs at its end.
        readable = ("a", "-", *(str(number) for number in range(most - 2)))
        endings = (*readable, *("\0" * length for length in range(1, most + 1)))
        found = (self.low + ending for ending in endings)
        return tuple(islice((one for one in found if self.high is None or one < self.high), most))


class Arrays(NamedTuple):
    """Every array."""

    def members(self, most: int) -> Sequence[Any]:
        """As many as asked for."""
        return [[], *([at] for at in range(most - 1))]


class Objects(NamedTuple):
    """Every object."""

    def members(self, most: int) -> Sequence[Any]:
        """As many as asked for."""
        return [{}, *({"a": at} for at in range(most - 1))]


Cell = Point | Numbers | Strings | Arrays | Objects

MISSING: Final = Point(ABSENT)
"""The call has no such parameter."""

_SINGLE: Final = (Point(True), Point(False), Point(None), Arrays(), Objects())


def cells(compares: Sequence[Compare], values: Values | None) -> Iterator[Cell]:
    """The cells of a field that these comparisons read and that may have these values, none of them empty.

    `values` None: the field cannot be given. What the comparisons are about comes first; that the field is
    missing is left to the caller.
    """
    if values is None:
        return
    if values.choices is not None:
        yield from map(Point, values.choices)
        return
    for cell in _typed(compares, values):
        if values is ANY or any(map(values.allows, cell.members(1))):
            yield cell


def _typed(compares: Sequence[Compare], values: Values) -> Iterator[Cell]:
    numbers, strings = bounds(compares)
    about_numbers = _of_numbers(numbers, values)
    if numbers:
        yield from about_numbers
    if strings:
        yield from _of_strings(strings)
    if not numbers:
        yield from about_numbers
    if not strings:
        yield from _of_strings(strings)
    yield from _SINGLE


def bounds(compares: Iterable[Compare]) -> tuple[list[Number], list[str]]:
    """Where one cell of numbers, and of strings, ends and the next begins, sorted."""
    numbers: set[Number] = set()
    strings: set[str] = set()
    for compare in compares:
        for constant in constants(compare):
            if TYPES[type(constant)] == "number":
                numbers.add(constant)
            elif type(constant) is str:
                strings.add(constant)
                if compare.op == "prefix" and (after := behind(constant)) is not None:
                    strings.add(after)
    return sorted(numbers), sorted(strings)


def behind(prefix: str) -> str | None:
    """The first string behind all that begin with `prefix`, None where nothing is."""
    start = prefix.rstrip(_LAST)
    if not start:
        return None
    last = start[-1]
    # No string has a surrogate in it: what comes behind is what comes behind all of them.
    return start[:-1] + (_BEHIND_SURROGATES if last == _BEFORE_SURROGATES else chr(ord(last) + 1))


def _of_numbers(compared: Iterable[Number], values: Values) -> Iterator[Cell]:
    points = sorted({*compared, *(bound for _, bound in values.limits)})
    if not points:
        yield Numbers(None, None, values.whole)
        return
    yield Numbers(None, points[0], values.whole)
    for low, high in pairwise([*points, None]):
        assert low is not None
        yield Point(low)
        yield Numbers(low, high, values.whole)


def _of_strings(compared: Iterable[str]) -> Iterator[Cell]:
    for low, high in pairwise([*sorted({"", *compared}), None]):
        assert low is not None
        yield Point(low)
        if high != low + "\0":  # nothing lies between a string and itself with a NUL behind it
            yield Strings(low, high)
