"""JSON whose numbers are decimals: what the action gate reads, compares and digests.

`parse` makes doubles of literals and refuses those that no double holds. Rules compare amounts, so here a
literal keeps every digit: whole literals become `int`, the others `decimal.Decimal`, and 5000, 5000.0 and
5e3 are equal. Bounds on digits and exponents keep every comparison cheap.
Source: "Predicates" of the action gate's design.
"""

from __future__ import annotations

import json
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from blackboard.canonical.encoding import too_deep
from blackboard.canonical.faults import Fault
from blackboard.canonical.hooks import DoubtError, read_quickly, read_thoroughly, reader, unicode_text
from blackboard.errors import Malformed

__all__ = [
    "EXACT_DEPTH",
    "NUMBER_DIGITS",
    "NUMBER_EXPONENT",
    "doubles",
    "exactly",
    "normal",
    "parse_exact",
    "plain",
]

EXACT_DEPTH: Final = 64
"""How deep a file of records may nest: a predicate of depth 16 takes up to 35 levels."""

NUMBER_DIGITS: Final = 100
"""How many digits a number may be written with."""

NUMBER_EXPONENT: Final = 1000
"""The largest magnitude of an exponent."""

_string: Final = json.JSONEncoder(ensure_ascii=False).encode


def parse_exact(raw: bytes | str, *, depth: int = EXACT_DEPTH) -> Any:
    """Return the value of a JSON text, made of dict, list, str, int, Decimal, bool and None.

    Raises `Malformed`, naming the place where there is one, for: what is not JSON (a byte order mark,
    invalid UTF-8, NaN, infinities, anything behind the value), a key that appears twice in one object,
    lone surrogates, nesting beyond `depth`, numbers of more than 100 digits or an exponent beyond ±1000.
    """
    text = unicode_text(raw)
    try:
        return _quick(text, depth)
    except DoubtError:
        pass
    value = read_thoroughly(_READER.thorough, text, depth)
    found = _first_fault(value, depth)
    if found is not None:
        raise found
    return value


def exactly(value: object, path: tuple[str | int, ...] = ()) -> Any:
    """Return a JSON value with every float as the decimal that RFC 8785 writes for it.

    Raises `Malformed`, naming the place from `path` on, for what is no JSON value.
    """
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None or kind is Decimal:
        return value
    if isinstance(value, float) and isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str:
                raise Fault("a key is not a string", limit="JSON", value=key).at(path)
        return {key: exactly(member, (*path, key)) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [exactly(item, (*path, at)) for at, item in enumerate(value)]
    raise Fault("is not a JSON value", limit="JSON", value=value).at(path)


def doubles(value: Any) -> Any:
    """Return an exact value with every decimal as a double: the way back to RFC 8785 bytes.

    It loses nothing of what was read from such bytes, where a decimal is one that a double is written as.
    """
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: doubles(member) for key, member in value.items()}
    return [doubles(item) for item in value] if isinstance(value, (list, tuple)) else value


def plain(number: int | Decimal) -> str:
    """Return the number without exponent, trailing zeros or a sign on zero: 5e3 is 5000."""
    if isinstance(number, int):
        return str(number)
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def normal(value: object) -> str:
    """Return the normal form of an exact value: JSON text, members sorted by code point, `plain` numbers.

    Two values are equal, bool and number told apart, iff their normal forms are.
    """
    if isinstance(value, str):
        return _string(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return plain(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{normal(value[key])}" for key in sorted(value)) + "}"
    assert isinstance(value, (list, tuple)), type(value)
    return "[" + ",".join(map(normal, value)) + "]"


# ---- the quick way: whatever might be a fault raises


def _quick(text: str, depth: int) -> object:
    value = read_quickly(_READER.quick, text)
    if _deeper(value, depth):
        raise DoubtError
    return value


def _deeper(value: object, depth: int) -> bool:
    level = [value]
    while level:
        depth -= 1
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += [member for member in item.values() if isinstance(member, (dict, list))]
            elif isinstance(item, list):
                inner += [member for member in item if isinstance(member, (dict, list))]
        if inner and depth < 1:
            return True
        level = inner
    return False


def _quick_integer(literal: str) -> int:
    if len(literal) > NUMBER_DIGITS:
        raise DoubtError
    return int(literal)


def _quick_number(literal: str) -> Decimal:
    found = _number(literal)
    if isinstance(found, Fault):
        raise DoubtError
    return found


# ---- the thorough way: a fault stands in the place of the part that has it


def _integer(literal: str) -> int | Fault:
    return int(literal) if len(literal.lstrip("-")) <= NUMBER_DIGITS else _too_long(literal)


def _number(literal: str) -> Decimal | Fault:
    digits, _, exponent = literal.lower().partition("e")
    if len(digits.lstrip("-")) - ("." in digits) > NUMBER_DIGITS:
        return _too_long(literal)
    # The length first: int() of a very long exponent is slow, and refused from 4,300 digits on.
    if exponent and (len(exponent) > NUMBER_DIGITS or abs(int(exponent)) > NUMBER_EXPONENT):
        what = f"a number's exponent is beyond ±{NUMBER_EXPONENT}"
        return Fault(what, limit=NUMBER_EXPONENT, value=literal)
    return Decimal(literal)


def _too_long(literal: str) -> Fault:
    what = f"a number is written with more than {NUMBER_DIGITS} digits"
    return Fault(what, limit=NUMBER_DIGITS, value=literal)


def _first_fault(root: object, depth: int) -> Malformed | None:
    """The first fault of a value, in document order, with its place."""
    waiting: list[tuple[list[str | int], object]] = [([], root)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Fault):
            return value.at(path)
        elif isinstance(value, str):
            if _lone(value):
                return Fault("a lone surrogate", limit="Unicode scalar values").at(path)
        elif isinstance(value, (dict, list)):
            if len(path) >= depth:
                return too_deep(depth).at(path)
            members = value.items() if isinstance(value, dict) else enumerate(value)
            inside: list[tuple[list[str | int], object]] = []
            for key, member in members:
                place = [*path, key]
                if isinstance(key, str) and _lone(key):
                    inside.append((place, Fault("a lone surrogate in a key", limit="Unicode scalar values")))
                inside.append((place, member))
            waiting.extend(reversed(inside))
    return None


def _lone(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


_READER: Final = reader(quick=(_quick_integer, _quick_number), thorough=(_integer, _number))
