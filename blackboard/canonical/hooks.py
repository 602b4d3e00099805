"""What both readers of JSON share: bytes to text to value in two ways, and what they say of objects.

Most texts have no fault. The quick way raises at whatever might be one, which is cheap to find out; only
then the thorough way goes over the text again and leaves a fault in the place of the part that has it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from blackboard.canonical.encoding import too_deep
from blackboard.canonical.faults import Fault
from blackboard.errors import Malformed

Literal = Callable[[str], Any]
"""Makes a value of a number's literal."""


class DoubtError(Exception):
    """There may be a fault here; the thorough way decides."""


class Reader(NamedTuple):
    """The two ways to read a text."""

    quick: json.JSONDecoder
    thorough: json.JSONDecoder


def reader(*, quick: tuple[Literal, Literal], thorough: tuple[Literal, Literal]) -> Reader:
    """Return a reader with its own numbers: on each way the hook for whole literals and that for others.

    The quick ones raise `DoubtError`, the thorough ones return a `Fault`.
    """
    return Reader(
        json.JSONDecoder(
            object_pairs_hook=_quick_object,
            parse_int=quick[0],
            parse_float=quick[1],
            parse_constant=_quick_constant,
        ),
        json.JSONDecoder(
            object_pairs_hook=_object,
            parse_int=thorough[0],
            parse_float=thorough[1],
            parse_constant=_constant,
        ),
    )


def read_quickly(decoder: json.JSONDecoder, text: str) -> object:
    """Return the value of a text that has no fault, but for its depth; else raise `DoubtError`."""
    if "\\ud" in text or "\\uD" in text:  # the only way for a lone surrogate to be here
        raise DoubtError
    try:
        value: object = decoder.decode(text)
    except (RecursionError, json.JSONDecodeError):
        raise DoubtError from None
    return value


def read_thoroughly(decoder: json.JSONDecoder, text: str, depth: int) -> object:
    """Return the value of a text with its faults inside; raises `Malformed` where there is no value."""
    try:
        value: object = decoder.decode(text)
    except RecursionError:
        raise too_deep(depth).at() from None
    except json.JSONDecodeError as fault:
        raise not_json(text, fault) from None
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


# ---- objects and constants


def _quick_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise DoubtError
    return members


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Fault:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
    return Fault("a key appears twice", limit="unique keys", value=twice)


def _quick_constant(literal: str) -> NoReturn:
    raise DoubtError


def _constant(literal: str) -> Fault:
    return Fault(f"{literal} is not a JSON number", limit="finite numbers")
