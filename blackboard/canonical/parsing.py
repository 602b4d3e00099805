"""Strict JSON: what is accepted has one meaning, to every reader."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from math import isinf
from typing import Any, Final, NoReturn

from blackboard.canonical.encoding import beyond_integers, exact, is_plain, too_deep
from blackboard.canonical.faults import Fault
from blackboard.canonical.limits import JSON_DEPTH, NUMBER_LENGTH, SAFE_INTEGER
from blackboard.errors import Malformed

__all__ = ["not_json", "parse", "unicode_text"]

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
    except _DoubtError:
        pass
    try:
        value: object = _THOROUGH.decode(text)
    except RecursionError:
        raise too_deep(depth).at() from None
    except json.JSONDecodeError as fault:
        raise not_json(text, fault) from None
    exact(value, depth=depth)  # raises at the place of the fault, if there is one
    return value


def unicode_text(raw: bytes | str) -> str:
    """Return the text of UTF-8 bytes; raises `Malformed` for other bytes and for a byte order mark."""
    try:
        if isinstance(raw, str):
            raw = raw.encode("utf-8")
        text = raw.decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError) as fault:
        raise Fault(f"not UTF-8: {fault.reason} at {fault.start}", limit="UTF-8").at() from None
    if text.startswith("\ufeff"):
        raise Fault("not JSON: it begins with a byte order mark", limit="UTF-8").at()
    return text


def not_json(text: str, fault: json.JSONDecodeError) -> Malformed:
    """Return the error that says where and why `text` is not JSON."""
    what = f"not JSON: {fault.msg[:1].lower()}{fault.msg[1:]} at character {fault.pos}"
    return Fault(what, limit="RFC 8259", value=text[fault.pos : fault.pos + 20]).at()


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


class _DoubtError(Exception):
    """There may be a fault here; the thorough way decides."""


def _quick(text: str, depth: int) -> object:
    if "\\ud" in text or "\\uD" in text:  # the only way for a lone surrogate to be here
        raise _DoubtError
    try:
        value: object = _QUICK.decode(text)
    except (RecursionError, json.JSONDecodeError):
        raise _DoubtError from None
    if text.count("[") + text.count("{") > depth and not is_plain((value,), depth):
        raise _DoubtError
    return value


def _quick_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DoubtError
    return members


def _quick_integer(literal: str) -> int:
    if len(literal) > _WIDEST_INTEGER or not -SAFE_INTEGER <= (value := int(literal)) <= SAFE_INTEGER:
        raise _DoubtError
    return value


def _quick_number(literal: str) -> float:
    if len(literal) <= NUMBER_LENGTH:
        value = float(literal)
        if not SAFE_INTEGER < abs(value) < _EXPONENT_FROM and _exact(literal, value):
            return value
    raise _DoubtError


def _quick_constant(literal: str) -> NoReturn:
    raise _DoubtError


# ---- the thorough way: a fault stands in the place of the part that has it


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Fault:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
    return Fault("a key appears twice", limit="unique keys", value=twice)


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


def _constant(literal: str) -> Fault:
    return Fault(f"{literal} is not a JSON number", limit="finite numbers")


_QUICK: Final = json.JSONDecoder(
    object_pairs_hook=_quick_object,
    parse_int=_quick_integer,
    parse_float=_quick_number,
    parse_constant=_quick_constant,
)
_THOROUGH: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
)
