"""How a fault in a record is told: as `Malformed`, with the JSON Pointer of its place."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from blackboard.canonical import check_identifier, pointer
from blackboard.canonical.faults import Fault
from blackboard.errors import Malformed, shorten

Path = tuple[str | int, ...]
"""Where a value stands in the document, from its root."""

MAX_NAME_BYTES = 256
"""The longest id, field or tool name, in bytes of UTF-8."""


def fault(path: Path, what: str, *, limit: Any = None, value: Any = None) -> Malformed:
    """The error that `what` is wrong at `path`."""
    return Fault(what, limit=limit, value=value).at(path)


def wrong(path: Path, expected: str, value: object) -> Malformed:
    """The error that something else than `expected` stands at `path`."""
    return fault(path, f"{expected} is needed here, not {shorten(value)}", limit=expected, value=value)


def read_object(value: object, path: Path) -> dict[str, Any]:
    """Return `value` where it is an object."""
    if type(value) is not dict:
        raise wrong(path, "an object", value)
    return value


def read_list(value: object, path: Path) -> list[Any]:
    """Return `value` where it is an array."""
    if type(value) is not list:
        raise wrong(path, "an array", value)
    return value


def is_plain(value: object) -> bool:
    """Whether `value` is a name that needs no closer look."""
    return type(value) is str and value.isascii() and value.isprintable() and 0 < len(value) <= MAX_NAME_BYTES


def read_name(value: object, path: Path) -> str:
    """Return `value` where it can be the name of a thing: see `check_identifier`."""
    if type(value) is not str:
        raise wrong(path, "a string", value)
    if is_plain(value):
        return value  # nearly always: the place is not worth making then
    check_identifier(value, member=pointer(path), max_bytes=MAX_NAME_BYTES)
    return value


def refuse_others(value: Mapping[str, Any], known: Set[str], path: Path) -> None:
    """Raise for the first member not among `known`: a typo must not become a rule that never binds."""
    if not value.keys() <= known:
        name = next(name for name in value if name not in known)
        raise fault((*path, name), f"is not a member here; known are {', '.join(sorted(known))}")
