"""A formula as a short list of cases, for whoever reads it.

Each case is a conjunction that says of every comparison where its parameter may stand. What cannot be is
left out, what another case says already too, and two cases that differ in one comparison become one.
"""

from __future__ import annotations

from typing import Final, assert_never

from blackboard.canonical import normal
from blackboard.gate.actions.formula import Both, Either, Formula, Part, Seen, Told, both, either, parts_of
from blackboard.gate.actions.residual import Compare

MOST: Final = 64
"""A formula of more cases is left as it is."""

_TOLD: Final[frozenset[Part]] = frozenset(("passes",))

About = Compare | Told
Case = dict[str, tuple[About, frozenset[Part]]]
"""What must hold, by the normal form of what it is about: Python takes True for 1, JSON does not."""


class _TooManyError(Exception):
    """The formula has more cases than anybody would read."""


def simplified(formula: Formula) -> Formula:
    """Return a formula that holds for the same calls, and is False where its comparisons exclude each other.

    Each comparison is taken by itself: that an amount above 9 is above 5 is not seen.
    """
    try:
        cases = _cases(formula)
    except _TooManyError:
        return formula
    return either(both(_literal(about, parts) for about, parts in case.values()) for case in cases)


def _literal(about: About, parts: frozenset[Part]) -> Formula:
    if isinstance(about, Told):
        return about
    return either(Seen(about, part) for part in _places(about) if part in parts)


def _places(compare: Compare) -> tuple[Part, ...]:
    return (*parts_of(compare), "missing")


def _cases(formula: Formula) -> list[Case]:
    match formula:
        case bool():
            return [{}] if formula else []
        case Seen(compare, part):
            return [{_name(compare): (compare, frozenset((part,)))}]
        case Told(text):
            return [{text: (formula, _TOLD)}]
        case Either(parts):
            return _reduced([case for inner in parts for case in _cases(inner)])
        case Both(parts):
            found: list[Case] = [{}]
            for inner in parts:
                more = _cases(inner)
                met = (_meet(one, other) for one in found for other in more)
                found = _reduced([case for case in met if case is not None])
            return found
        case _:
            assert_never(formula)


def _name(compare: Compare) -> str:
    return normal([compare.field, compare.op, compare.value])


def _meet(one: Case, other: Case) -> Case | None:
    """Both cases as one, None where they exclude each other."""
    met = dict(one)
    for name, (about, parts) in other.items():
        common = parts & met[name][1] if name in met else parts
        if not common:
            return None
        met[name] = (about, common)
    return met


def _reduced(cases: list[Case]) -> list[Case]:
    """The cases without those that another covers, joined where two differ in one comparison alone."""
    left: list[Case] = []
    waiting = cases[::-1]
    while waiting:
        case = waiting.pop()
        if any(_covers(other, case) for other in left):
            continue
        left = [other for other in left if not _covers(case, other)]
        at = next((at for at, other in enumerate(left) if _joined(other, case) is not None), None)
        if at is None:
            left.append(case)
        else:
            joined = _joined(left.pop(at), case)
            assert joined is not None
            waiting.append(joined)
        if len(left) > MOST:
            raise _TooManyError
    return left


def _covers(wide: Case, narrow: Case) -> bool:
    """Whether whatever is so in the narrow case is so in the wide one."""
    return all(name in narrow and narrow[name][1] <= parts for name, (_, parts) in wide.items())


def _joined(one: Case, other: Case) -> Case | None:
    """The case that is both of them, where they differ in one comparison."""
    if one.keys() != other.keys():
        return None
    differing = [name for name, (_, parts) in one.items() if other[name][1] != parts]
    if len(differing) != 1:
        return None
    (name,) = differing
    about, parts = one[name]
    every = parts | other[name][1]
    if isinstance(about, Compare) and every.issuperset(_places(about)):
        return {other: said for other, said in one.items() if other != name}
    return {**one, name: (about, every)}
