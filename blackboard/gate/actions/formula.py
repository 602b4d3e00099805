"""When a rule is dangerous, as a formula over what can be seen of a call.

A residual is three-valued; danger is not. A formula says for which calls a rule binds more on the full set
than on what is held: by where a parameter stands to a comparison (it passes, it fails, it is of another
type, it is missing), joined by "both" and "either" alone. There is no negation, so whatever is not known of
a call can be taken as true, and the formula then errs towards danger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Protocol, assert_never

from msgspec import Struct

from blackboard.gate.actions.residual import AllOf, AnyOf, Compare, Constant, Not, Residual
from blackboard.records import atoms
from blackboard.records.atoms import ABSENT
from blackboard.records.truth import FALSE, TRUE, UNKNOWN, Truth

Part = Literal["passes", "fails", "other", "missing"]
"""Where a parameter can stand to a comparison; `other`: it is of a type that the operator does not know."""

PARTS: Final[tuple[Part, Part, Part]] = ("fails", "other", "passes")
"""Where a parameter stands that is given, by what the comparison says of it."""

_TRUTHS: Final[dict[Part, Truth]] = {"fails": FALSE, "other": UNKNOWN, "passes": TRUE}


class Seen(Struct, frozen=True, gc=False):
    """The parameter of `compare` stands in `part` to it."""

    compare: Compare
    part: Part


class Told(Struct, frozen=True, gc=False):
    """Something about the call that no parameter shows, in words."""

    text: str


class Both(Struct, frozen=True, gc=False):
    """Every part, of which there are two or more."""

    parts: tuple[Formula, ...]


class Either(Struct, frozen=True, gc=False):
    """At least one part, of which there are two or more."""

    parts: tuple[Formula, ...]


Formula = Seen | Told | Both | Either | bool


class Restricting(Protocol):
    """A rule, or what stands for one."""

    @property
    def restrictive(self) -> bool:
        """Whether it can only forbid; else it permits."""


def dangerous(rule: Restricting, full: Truth, held: Truth) -> bool:
    """Whether a decision on what is held could be more permissive than one on the full set.

    A restriction endangers where it says more than the holder sees; a permission where it is seen to
    permit and does not. Source: "The verdict" of the action gate's design.
    """
    return full > held if rule.restrictive else held == TRUE and full != TRUE


def danger(full: Residual, held: Residual, *, restrictive: bool) -> Formula:
    """When the rule that comes to `full` on the full set and to `held` on what is held is `dangerous`."""
    if not restrictive:
        return both((at_least(held, TRUE), below(full, TRUE)))
    perhaps = both((at_least(full, UNKNOWN), below(held, UNKNOWN)))
    if held == Constant(FALSE):
        return perhaps  # which says all that `certainly` would
    certainly = both((at_least(full, TRUE), below(held, TRUE)))
    return either((certainly, perhaps))


def at_least(residual: Residual, level: Truth) -> Formula:
    """When the residual comes to `level` (UNKNOWN or TRUE) or more."""
    return _formula(residual, level, wanted=True)


def below(residual: Residual, level: Truth) -> Formula:
    """When the residual comes to less than `level` (UNKNOWN or TRUE)."""
    return _formula(residual, level, wanted=False)


def _formula(residual: Residual, level: Truth, *, wanted: bool) -> Formula:
    match residual:
        case Constant(truth):
            return (truth >= level) is wanted
        case Compare():
            return _seen(residual, level, wanted=wanted)
        case Not(part):
            # The mirror of t is at least `level` where t is below 3 - level.
            return _formula(part, TRUE if level == UNKNOWN else UNKNOWN, wanted=not wanted)
        case AllOf(parts):
            inner = (_formula(part, level, wanted=wanted) for part in parts)
            return both(inner) if wanted else either(inner)
        case AnyOf(parts):
            inner = (_formula(part, level, wanted=wanted) for part in parts)
            return either(inner) if wanted else both(inner)
        case _:
            assert_never(residual)


def _seen(compare: Compare, level: Truth, *, wanted: bool) -> Formula:
    given = parts_of(compare)
    found = [Seen(compare, part) for part in given if (_TRUTHS[part] >= level) is wanted]
    if (compare.absent >= level) is wanted:
        if len(found) == len(given):
            return True
        found.append(Seen(compare, "missing"))
    return Either(tuple(found)) if len(found) > 1 else found[0] if found else False


def parts_of(compare: Compare) -> tuple[Part, ...]:
    """Where a parameter that is given can stand to the comparison."""
    if compare.op == "exists":
        return ("passes",) if compare.value else ("fails",)
    compared = constants(compare)
    if not compared:
        return ("fails",) if compare.op == "in" else ("passes",)
    return PARTS if any(constant is not None for constant in compared) else ("passes", "fails")


def constants(compare: Compare) -> tuple[Any, ...]:
    """What the comparison compares with; of `exists` its bool, which is no value of the parameter."""
    return compare.value if type(compare.value) is tuple else (compare.value,)


def both(parts: Iterable[Formula]) -> Formula:
    """The conjunction, as short as constants make it."""
    return _joined(parts, Both, neutral=True)


def either(parts: Iterable[Formula]) -> Formula:
    """The disjunction, as short as constants make it."""
    return _joined(parts, Either, neutral=False)


def _joined(parts: Iterable[Formula], make: type[Both] | type[Either], *, neutral: bool) -> Formula:
    found: list[Formula] = []
    for part in parts:
        if part is (not neutral):
            return part
        if part is not neutral:
            found += part.parts if isinstance(part, make) else (part,)
    return make(tuple(found)) if len(found) > 1 else found[0] if found else neutral


# ---- of a call


def comparisons(formula: Formula) -> list[Compare]:
    """The comparisons of a formula, in order, some of them more than once."""
    found: list[Compare] = []
    _gather(formula, found)
    return found


def _gather(formula: Formula, found: list[Compare]) -> None:
    if isinstance(formula, Seen):
        found.append(formula.compare)
    elif isinstance(formula, (Both, Either)):
        for part in formula.parts:
            _gather(part, found)


def holds(formula: Formula, about: Callable[[Seen], bool], told: Callable[[Told], bool] = bool) -> bool:
    """Whether the formula is true of a call of which `about` and `told` know; by default all told is true."""
    match formula:
        case bool():
            return formula
        case Seen():
            return about(formula)
        case Told():
            return told(formula)
        case Both(parts):
            return all(holds(part, about, told) for part in parts)
        case Either(parts):
            return any(holds(part, about, told) for part in parts)
        case _:
            assert_never(formula)


def stands(compare: Compare, value: Any) -> Part:
    """Where a value, ABSENT for a missing parameter, stands to the comparison."""
    return "missing" if value is ABSENT else PARTS[atoms.test(compare.op, compare.value)(value)]
