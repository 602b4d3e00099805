"""What a struct looks like as a JSON object."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import NODEFAULT, UNSET

__all__ = ["Shape", "shape_of"]

# Two of these are identical whenever they are equal, so msgspec, which compares by identity, omits
# them exactly when they equal the default.
_SINGLETONS = (None, True, False, UNSET, ())
_OMITTED_WHEN_EMPTY = (list, dict)


class Shape:
    """The encoding of one struct class.

    `watched` are the positions and defaults where msgspec's comparison by identity is not enough: a
    decoded "open" equals the default "open" without being the same object. The bytes of a message must
    not depend on where its members came from, so there a member *equal* to its default is omitted.
    `fast` says whether the sorted encoder can write the class at all.
    """

    __slots__ = ("_fields", "_omits", "_tag", "fast", "watched")

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        config = struct.__struct_config__
        fields = msgspec.structs.fields(struct)
        self._fields = [(one.name, one.encode_name, one.default, one.default_factory) for one in fields]
        self._omits = config.omit_defaults
        self._tag = {} if config.tag_field is None else {config.tag_field: config.tag}
        self.fast = max("".join([*self._tag, *struct.__struct_encode_fields__]), default="") <= "\uffff"
        self.watched = tuple(
            (position, field.default)
            for position, field in enumerate(fields)
            if self._omits and field.default is not NODEFAULT and not _singleton(field.default)
        )

    def members(self, value: msgspec.Struct) -> dict[str, Any]:
        """Return the members of `value` that are written, by the names they have in JSON."""
        members: dict[str, Any] = dict(self._tag)
        for name, written, default, factory in self._fields:
            member = getattr(value, name)
            if member is not UNSET and not (self._omits and _is_default(member, default, factory)):
                members[written] = member
        return members

    def fits(self, members: tuple[Any, ...]) -> bool:
        """Whether msgspec omits the right ones of `members` (all of them, in order of definition)."""
        for position, default in self.watched:
            member = members[position]
            if member is not default and _equal(member, default):
                return False
        return True


@lru_cache(maxsize=1024)
def shape_of(kind: type[Any]) -> Shape | None:
    """Return the shape of a struct class, None for everything that is not written as an object."""
    if not issubclass(kind, msgspec.Struct) or kind.__struct_config__.array_like:
        return None
    return Shape(kind)


def _singleton(default: object) -> bool:
    return any(default is one for one in _SINGLETONS)


def _is_default(member: object, default: object, factory: object) -> bool:
    if default is not NODEFAULT:
        return member is default or _equal(member, default)
    return type(member) is factory and factory in _OMITTED_WHEN_EMPTY and not member


def _equal(member: object, default: object) -> bool:
    """Equality in JSON: 1 and 1.0 are one number, but True is not 1."""
    return (isinstance(member, bool) is isinstance(default, bool)) and member == default
