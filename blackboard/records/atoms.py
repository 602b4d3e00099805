"""What one atom says of one value: the table of operators.

Nothing is coerced: a bool is no number, and `"8400" gt 5000` is UNKNOWN. Numbers are int or Decimal and
compare exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal

from blackboard.records.truth import FALSE, TRUE, UNKNOWN, Truth, negate

Op = Literal["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "prefix", "exists"]
Test = Callable[[Any], Truth]


class Absent:
    """The value of a field that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()

TYPES: Final[dict[type, str]] = {
    int: "number",
    Decimal: "number",
    str: "string",
    bool: "bool",
    type(None): "null",
}
"""The type of a scalar, as the operators know it; arrays and objects have none."""


def test(op: Op, constant: Any) -> Test:
    """Return what the atom `op constant` says of a value: an exact JSON value, or ABSENT.

    `constant` is of a type that the operator accepts, as `read_predicate` has made sure.
    """
    return _TESTS[op](constant)


def _eq(constant: Any) -> Test:
    kind = TYPES[type(constant)]

    def eq(value: Any) -> Truth:
        found = TYPES.get(type(value))
        if found == kind:
            return TRUE if value == constant else FALSE
        if value is ABSENT:
            return UNKNOWN
        # Null compares with everything, arrays and objects included.
        return FALSE if kind == "null" or found == "null" else UNKNOWN

    return eq


def _ne(constant: Any) -> Test:
    return _mirrored(_eq(constant))


def _in(constant: Any) -> Test:
    # The scalars are of one type, null aside, so one look at the type stands for `eq` with each.
    kinds = {TYPES[type(item)] for item in constant}
    elsewhere: Truth = UNKNOWN if kinds - {"null"} else FALSE
    members = frozenset(constant)

    def one_of(value: Any) -> Truth:
        found = TYPES.get(type(value))
        if found in kinds:
            return TRUE if value in members else FALSE
        if value is ABSENT:
            return UNKNOWN
        return FALSE if found == "null" else elsewhere

    return one_of


def _not_in(constant: Any) -> Test:
    return _mirrored(_in(constant))


def _mirrored(inner: Test) -> Test:
    def mirrored(value: Any) -> Truth:
        return negate(inner(value))

    return mirrored


def _lt(constant: Any) -> Test:
    kind = TYPES[type(constant)]

    def lt(value: Any) -> Truth:
        return (TRUE if value < constant else FALSE) if TYPES.get(type(value)) == kind else UNKNOWN

    return lt


def _le(constant: Any) -> Test:
    kind = TYPES[type(constant)]

    def le(value: Any) -> Truth:
        return (TRUE if value <= constant else FALSE) if TYPES.get(type(value)) == kind else UNKNOWN

    return le


def _gt(constant: Any) -> Test:
    kind = TYPES[type(constant)]

    def gt(value: Any) -> Truth:
        return (TRUE if value > constant else FALSE) if TYPES.get(type(value)) == kind else UNKNOWN

    return gt


def _ge(constant: Any) -> Test:
    kind = TYPES[type(constant)]

    def ge(value: Any) -> Truth:
        return (TRUE if value >= constant else FALSE) if TYPES.get(type(value)) == kind else UNKNOWN

    return ge


def _prefix(constant: Any) -> Test:
    def prefix(value: Any) -> Truth:
        return (TRUE if value.startswith(constant) else FALSE) if type(value) is str else UNKNOWN

    return prefix


def _exists(constant: Any) -> Test:
    def exists(value: Any) -> Truth:
        return TRUE if (value is not ABSENT) is constant else FALSE

    return exists


_TESTS: Final[dict[Op, Callable[[Any], Test]]] = {
    "eq": _eq,
    "ne": _ne,
    "lt": _lt,
    "le": _le,
    "gt": _gt,
    "ge": _ge,
    "in": _in,
    "not_in": _not_in,
    "prefix": _prefix,
    "exists": _exists,
}


def at_pointer(value: Any, pointer: str) -> Any:
    """Return the part of a JSON value that an RFC 6901 pointer names, ABSENT where there is none."""
    for name in _tokens(pointer):
        if isinstance(value, dict):
            value = value.get(name, ABSENT)
        elif (
            isinstance(value, list) and name.isascii() and name.isdigit() and (name == "0" or name[0] != "0")
        ):
            value = value[int(name)] if len(name) < 10 and int(name) < len(value) else ABSENT
        else:
            return ABSENT
    return value


@lru_cache(maxsize=256)
def _tokens(pointer: str) -> tuple[str, ...]:
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])
