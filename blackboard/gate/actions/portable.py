"""Exact values on their way out of this process and back in.

JSON itself has exact numbers; many of its readers do not. In a certificate a whole number within ±(2^53 - 1)
is a JSON number, which every reader keeps, and any other number is `{"decimal": "19.99"}`: plain digits,
without exponent or trailing zeros. No other object of a residual has that member alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from blackboard.canonical import NUMBER_DIGITS, NUMBER_EXPONENT, SAFE_INTEGER, plain
from blackboard.errors import Malformed
from blackboard.records.faults import Path, fault, wrong

MAX_DEPTH: Final = 64
"""How deep a value may nest."""

_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,1200})(?:\.[0-9]{1,1200})?")
_LARGE: Final = 10**NUMBER_DIGITS


def portable(value: Any) -> Any:
    """Return the exact JSON value with every number as any reader of JSON keeps it."""
    if isinstance(value, dict):
        return {name: portable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [portable(item) for item in value]
    if type(value) is int or isinstance(value, Decimal):
        kept = value == int(value) and -SAFE_INTEGER <= value <= SAFE_INTEGER
        return int(value) if kept else {"decimal": plain(value)}
    return value


def exact(value: object, path: Path = ()) -> Any:
    """Return the value that `portable` has made portable. Raises `Malformed` for a decimal that is none."""
    if isinstance(value, dict):
        if value.keys() == {"decimal"}:
            return _decimal(value["decimal"], (*path, "decimal"))
        return {name: exact(member, (*path, name)) for name, member in value.items()}
    if isinstance(value, list):
        return [exact(item, (*path, at)) for at, item in enumerate(value)]
    return value


def _decimal(text: object, path: Path) -> Decimal:
    if type(text) is not str or not _DECIMAL.fullmatch(text):
        raise wrong(path, "a number in plain digits", text)
    return Decimal(text)


def received(value: object, path: Path = (), depth: int = MAX_DEPTH) -> Any:
    """Return an exact copy of a JSON value that came as Python objects: a float is the decimal it shows.

    Raises `Malformed`, naming the place, for whatever JSON cannot say, and for nesting beyond `depth`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, (int, float, Decimal)):
        return _number(value, path)
    if not isinstance(value, (Mapping, list, tuple)):
        raise wrong(path, "a JSON value", type(value).__name__)
    if depth < 1:
        raise fault(path, f"nests more than {MAX_DEPTH} deep", limit=MAX_DEPTH)
    if isinstance(value, Mapping):
        members = [(_key(name, path), member) for name, member in value.items()]
        return {name: received(member, (*path, name), depth - 1) for name, member in members}
    return [received(item, (*path, at), depth - 1) for at, item in enumerate(value)]


def _key(name: object, path: Path) -> str:
    if not isinstance(name, str):
        raise wrong(path, "a string for the name of a member", name)
    return _text(name, (*path, name))


def _text(text: str, path: Path) -> str:
    try:
        return text.encode().decode()
    except UnicodeEncodeError:
        raise fault(path, "a lone surrogate", limit="Unicode scalar values") from None


def _number(number: int | float | Decimal, path: Path) -> int | Decimal:
    if isinstance(number, int):
        if not -_LARGE < number < _LARGE:
            raise _too_long(path)
        return int(number)
    found = Decimal(repr(float(number))) if isinstance(number, float) else number
    _, digits, exponent = found.as_tuple()
    if not isinstance(exponent, int):
        raise fault(path, f"{found} is not a JSON number", limit="finite numbers")
    if len(digits) > NUMBER_DIGITS or abs(exponent) > NUMBER_EXPONENT + NUMBER_DIGITS:
        raise _too_long(path)
    return found


def _too_long(path: Path) -> Malformed:
    return fault(path, f"a number of more than {NUMBER_DIGITS} digits", limit=NUMBER_DIGITS)
