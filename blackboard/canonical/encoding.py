"""RFC 8785 bytes: a lean proof that the fast encoder is exact, else the exact and slower way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import msgspec
import rfc8785

from blackboard.canonical.faults import Fault
from blackboard.canonical.limits import JSON_DEPTH, SAFE_INTEGER
from blackboard.canonical.shapes import shape_of
from blackboard.errors import Malformed

__all__ = ["beyond_integers", "encode", "exact", "is_plain", "too_deep"]

_fast: Final = msgspec.json.Encoder(order="sorted").encode

# Written alike by both encoders whatever their value. A lone surrogate, and UNSET outside a struct,
# make the fast encoder raise.
_ATOMS: Final = frozenset({str, bool, type(None), msgspec.UnsetType, msgspec.Raw})
_ARRAYS: Final = frozenset({list, tuple})
_WORDS: Final = {None: b"null", True: b"true", False: b"false"}


def encode(value: object, *, depth: int = JSON_DEPTH, member: str = "") -> bytes:
    """Return the RFC 8785 bytes of a JSON value.

    `value` is made of dict, list, tuple, str, int, float, bool and None, of msgspec structs (a member
    equal to its default is left out where the struct says `omit_defaults`, UNSET always), and of
    `msgspec.Raw`, which holds canonical bytes already and is embedded as it is.

    Raises `Malformed`, naming the place, for everything else: other types and keys, NaN and infinities,
    lone surrogates, numbers that are written as an integer outside ±(2^53-1), and nesting beyond `depth`.
    `member` is the pointer of `value` in what the caller sent: places are named from there.
    """
    if is_plain((value,), depth):
        try:
            return _fast(value)
        except (UnicodeEncodeError, TypeError):
            pass  # the exact way names the place
    return exact(value, depth=depth, member=member)


def is_plain(values: Iterable[Any], depth: int) -> bool:
    """Whether the fast encoder writes the RFC 8785 bytes of each value, or else raises.

    It differs from RFC 8785 in three things only: the format of some floats, the order of keys beyond
    U+FFFF (UTF-8 order is not UTF-16 order there), and types that it accepts although JSON has none.
    """
    for value in values:
        kind: Any = type(value)
        if kind in _ATOMS:
            continue
        if kind is int:
            if not -SAFE_INTEGER <= value <= SAFE_INTEGER:
                return False
        elif kind is float:
            if not _plain_float(value):
                return False
        elif depth < 1:
            return False
        elif kind is dict:
            if not (_plain_keys(value) and is_plain(value.values(), depth - 1)):
                return False
        elif not (is_plain(value, depth - 1) if kind in _ARRAYS else _plain_struct(value, depth - 1)):
            return False
    return True


def _plain_struct(value: Any, depth: int) -> bool:
    kind: Any = type(value)
    shape = shape_of(kind)
    if shape is None or not shape.fast:
        return False
    members = msgspec.structs.astuple(value)
    return is_plain(members, depth) and (not shape.watched or shape.fits(members))


def _plain_float(value: float) -> bool:
    """Where both write the shortest digits of a double without exponent, and there is a fraction."""
    return 1e-4 <= abs(value) < 1e15 and not value.is_integer()


def _plain_keys(members: dict[Any, Any]) -> bool:
    try:
        keys = "".join(members)
    except TypeError:
        return False
    return keys.isascii() or max(keys) <= "\uffff"


def exact(value: object, *, depth: int = JSON_DEPTH, member: str = "") -> bytes:
    """Return what `encode` returns, by the reference for whatever the two could write differently."""
    return _Exact(depth, member).write(value)


class _Exact:
    """One exact encoding; `path` is where it stands, and its length the depth."""

    def __init__(self, depth: int, member: str) -> None:
        self.depth = depth
        self.root = member
        self.path: list[str | int] = []

    def fail(self, fault: Fault) -> Malformed:
        return fault.at(self.path, self.root)

    def write(self, value: Any) -> bytes:
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool):
            return _WORDS[value]
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, float):
            return self.number(value)
        if isinstance(value, msgspec.Raw):
            return bytes(value)
        return self.container(value)

    def container(self, value: Any) -> bytes:
        if isinstance(value, (list, tuple)):
            return self.array(value)
        if isinstance(value, dict):
            return self.object(value)
        if isinstance(value, Fault):
            raise self.fail(value)
        kind: Any = type(value)
        shape = shape_of(kind)
        if shape is None:
            raise self.fail(Fault(f"{kind.__name__} is not a JSON type", limit="JSON types"))
        return self.object(shape.members(value))

    def array(self, items: Sequence[Any]) -> bytes:
        self.descend()
        return b"[" + b",".join([self.within(index, item) for index, item in enumerate(items)]) + b"]"

    def object(self, members: Mapping[Any, Any]) -> bytes:
        self.descend()
        for key in members:
            if not isinstance(key, str):
                raise self.fail(Fault(f"keys are strings, not {type(key).__name__}", limit="string keys"))
        keys = sorted(members, key=_utf16)
        return b"{" + b",".join([self.member(key, members[key]) for key in keys]) + b"}"

    def descend(self) -> None:
        if len(self.path) >= self.depth:
            raise self.fail(too_deep(self.depth))

    def member(self, key: str, value: Any) -> bytes:
        return self.text(key) + b":" + self.within(key, value)

    def within(self, segment: str | int, value: Any) -> bytes:
        self.path.append(segment)
        written = self.write(value)
        self.path.pop()
        return written

    def text(self, text: str) -> bytes:
        """Both encoders write every string alike: a test compares them on every code point."""
        try:
            return _fast(str.__str__(text))
        except UnicodeEncodeError:
            fault = Fault("a lone surrogate is not a character", limit="Unicode text", value=text)
            raise self.fail(fault) from None

    def integer(self, value: int) -> bytes:
        if -SAFE_INTEGER <= value <= SAFE_INTEGER:
            return b"%d" % value
        raise self.fail(beyond_integers(str(value) if value.bit_length() < 256 else "over 256 bits"))

    def number(self, value: float) -> bytes:
        if not isfinite(value):
            raise self.fail(Fault(f"{value} is not a JSON number", limit="finite numbers"))
        if value.is_integer() and abs(value) <= SAFE_INTEGER:
            return b"%d" % value
        written = rfc8785.dumps(value)
        if abs(value) > SAFE_INTEGER and b"e" not in written:
            # Read again, it would be an integer beyond the limit.
            raise self.fail(beyond_integers(written.decode()))
        return written


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def beyond_integers(written: str) -> Fault:
    """The fault of an integer that readers of JSON would round, each in its own way."""
    return Fault("integers lie within ±(2^53-1)", limit=SAFE_INTEGER, value=written)


def too_deep(depth: int) -> Fault:
    """The fault of nesting beyond `depth`."""
    return Fault(f"arrays and objects are nested more than {depth} deep", limit=depth)
