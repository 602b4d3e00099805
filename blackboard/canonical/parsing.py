"""Strict JSON: what is accepted has one meaning, to every reader."""

from __future__ import annotations

from decimal import Decimal
from math import isinf
from typing import Final

from blackboard.canonical.encoding import beyond_integers, exact, is_plain
from blackboard.canonical.faults import Fault
from blackboard.canonical.hooks import DoubtError, read_quickly, read_thoroughly, reader, unicode_text
from blackboard.canonical.limits import JSON_DEPTH, NUMBER_LENGTH, SAFE_INTEGER

__all__ = ["parse"]

_EXPONENT_FROM: Final = 1e21  # up to here RFC 8785 writes a whole number as an integer
_WIDEST_INTEGER: Final = len("-9007199254740991")


def parse(raw: bytes | str, *, depth: int = JSON_DEPTH) -> object:
    """Return the value of a JSON text, made of dict, list, str, int, float, bool and None.

    Raises `Malformed`, naming the place where there is one, for: what is not JSON (a byte order mark,
    invalid UTF-8, NaN, anything behind the value), a key that appears twice in one object, lone
    surrogates, nesting beyond `depth`, integers outside ±(2^53-1), and numbers that RFC 8785 would write
    as another decimal. Cost and memory are linear in the length of `raw`, whatever it holds.
    """
    text = unicode_text(raw)
    try:
        return _quick(text, depth)
    except DoubtError:
        pass
    value = read_thoroughly(_READER.thorough, text, depth)
    exact(value, depth=depth)  # raises at the place of the fault, if there is one
    return value


def _exact(literal: str, value: float) -> bool:
    """Whether RFC 8785 writes `value` as the decimal that `literal` is: its digits are those of `repr`."""
    if repr(value) == literal:
        return True
    if isinf(value):
        return False
    if value == 0:  # also for 1e-999999999999999999999, which Decimal cannot hold
        return not literal.lower().partition("e")[0].strip("-0.")
    return Decimal(repr(value)) == Decimal(literal)


# ---- the quick way: whatever might be a fault raises


def _quick(text: str, depth: int) -> object:
    value = read_quickly(_READER.quick, text)
    if text.count("[") + text.count("{") > depth and not is_plain((value,), depth):
        raise DoubtError
    return value


def _quick_integer(literal: str) -> int:
    if len(literal) > _WIDEST_INTEGER or not -SAFE_INTEGER <= (value := int(literal)) <= SAFE_INTEGER:
        raise DoubtError
    return value


def _quick_number(literal: str) -> float:
    if len(literal) <= NUMBER_LENGTH:
        value = float(literal)
        if not SAFE_INTEGER < abs(value) < _EXPONENT_FROM and _exact(literal, value):
            return value
    raise DoubtError


# ---- the thorough way: a fault stands in the place of the part that has it


def _integer(literal: str) -> int | Fault:
    return int(literal) if len(literal) <= _WIDEST_INTEGER else beyond_integers(literal)


def _number(literal: str) -> float | Fault:
    if len(literal) > NUMBER_LENGTH:
        what = f"a number is written with {len(literal)} characters"
        return Fault(what, limit=NUMBER_LENGTH, value=literal)
    value = float(literal)
    if _exact(literal, value):
        return value
    return Fault("no double has this value, and it is not rounded", limit="IEEE 754 double", value=literal)


_READER: Final = reader(quick=(_quick_integer, _quick_number), thorough=(_integer, _number))
