"""Typed decoding of what arrives, as strict as `parse` and nearly as fast as msgspec."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar, overload

import msgspec

from blackboard.canonical.encoding import encode
from blackboard.canonical.faults import Fault
from blackboard.canonical.limits import JSON_DEPTH
from blackboard.canonical.parsing import parse
from blackboard.errors import Malformed, TooLarge

__all__ = ["decode", "decode_with_canonical"]

T = TypeVar("T")

_PLACE: Final = re.compile(r" - at (?:`key` in )?`(\$[^`]*)`\Z")
_SEGMENT: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_MEMBER: Final = re.compile(r"Object (missing required|contains unknown) field `(.*)`\Z", re.DOTALL)
_ABSENT: Final = object()


@overload
def decode(
    raw: bytes, into: type[T], *, max_bytes: int, depth: int = JSON_DEPTH, member: str = "body"
) -> T: ...
@overload
def decode(
    raw: bytes, into: Any, *, max_bytes: int, depth: int = JSON_DEPTH, member: str = "body"
) -> Any: ...
def decode(raw: bytes, into: Any, *, max_bytes: int, depth: int = JSON_DEPTH, member: str = "body") -> Any:
    """Return the first of what `decode_with_canonical` returns, and raise what it raises."""
    return decode_with_canonical(raw, into, max_bytes=max_bytes, depth=depth, member=member)[0]


@overload
def decode_with_canonical(
    raw: bytes, into: type[T], *, max_bytes: int, depth: int = JSON_DEPTH, member: str = "body"
) -> tuple[T, bytes]: ...
@overload
def decode_with_canonical(
    raw: bytes, into: Any, *, max_bytes: int, depth: int = JSON_DEPTH, member: str = "body"
) -> tuple[Any, bytes]: ...
def decode_with_canonical(
    raw: bytes, into: Any, *, max_bytes: int, depth: int = JSON_DEPTH, member: str = "body"
) -> tuple[Any, bytes]:
    """Return the value of a JSON text as type `into` (a struct, a union, ...), and its canonical bytes.

    Raises `TooLarge` above `max_bytes`, naming `member`; `Malformed` for what `parse` refuses and for what
    is not an `into`, naming the place and what was expected there. `msgspec.Raw` may not occur in `into`
    (TypeError): what has not been decoded has not been checked.

    Input that is canonical already (what this project's client sends) is proved strict by being equal to
    its own re-encoding; other input is parsed a second time, strictly.
    """
    if len(raw) > max_bytes:
        raise TooLarge(
            f"{member} has {len(raw)} bytes; at most {max_bytes} are accepted",
            member=member,
            limit=max_bytes,
            value=len(raw),
        )
    try:
        value = _decoder(into)(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise _explained(fault, parse(raw, depth=depth), into) from None
    canonical = encode(value, depth=depth)
    if canonical != raw:
        parse(raw, depth=depth)
    return value, canonical


@lru_cache(maxsize=1024)
def _decoder(into: Any) -> Callable[[bytes], Any]:
    if _mentions_raw(msgspec.inspect.type_info(into)):
        raise TypeError(f"{into} contains msgspec.Raw, which is not checked when it is decoded")
    return msgspec.json.Decoder(into).decode


def _mentions_raw(root: msgspec.inspect.Type) -> bool:
    waiting: list[Any] = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, msgspec.inspect.RawType):
            return True
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)) and id(node) not in seen:
            seen.add(id(node))
            waiting.extend(getattr(node, name) for name in node.__struct_fields__)
    return False


def _explained(fault: Exception, value: object, into: Any) -> Malformed:
    """Say in our words what msgspec found in `value`, which is strict JSON but not an `into`."""
    said = str(fault)
    place = _PLACE.search(said)
    path: list[str | int] = []
    if place is not None:
        said = said[: place.start()]
        path = [_segment(*found) for found in _SEGMENT.findall(place[1])]
    member = _MEMBER.match(said)
    if member is not None:
        what = "is required" if member[1].startswith("missing") else "is not a member here"
        return Fault(what, limit="members of the message").at([*path, member[2]])
    what = said[:1].lower() + said[1:200].replace("`", "")
    if what.startswith("invalid enum value"):
        what += f"; it is one of {', '.join(_choices(into, path))}"
    found = _found(value, path)
    return Fault(what, limit=what, value=None if found is _ABSENT else found).at(path)


def _choices(into: Any, path: list[str | int]) -> list[str]:
    """The words of which one may stand at `path` in an `into`."""
    nodes = _flat(msgspec.inspect.type_info(into))
    for segment in path:
        nodes = [inner for node in nodes for inner in _inside(node, segment)]
    return [
        repr(word) for node in nodes if isinstance(node, msgspec.inspect.LiteralType) for word in node.values
    ]


def _inside(node: msgspec.inspect.Type, segment: str | int) -> list[msgspec.inspect.Type]:
    if isinstance(node, msgspec.inspect.StructType):
        return [kind for field in node.fields if field.encode_name == segment for kind in _flat(field.type)]
    inner = getattr(node, "value_type", None) or getattr(node, "item_type", None)
    return [] if inner is None else _flat(inner)


def _flat(node: msgspec.inspect.Type) -> list[msgspec.inspect.Type]:
    if isinstance(node, msgspec.inspect.Metadata):
        return _flat(node.type)
    return list(node.types) if isinstance(node, msgspec.inspect.UnionType) else [node]


def _segment(name: str, index: str) -> str | int:
    if name:
        return name
    return int(index) if index != "..." else "*"


def _found(value: Any, path: list[str | int]) -> Any:
    for segment in path:
        try:
            value = value[segment]
        except (KeyError, IndexError, TypeError):
            return _ABSENT
    return value
