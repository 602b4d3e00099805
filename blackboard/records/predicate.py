"""Predicates: what a rule asks of fields, as a small tree of atoms.

`{"field", "op", "value"}` with, optionally, `source` (`param`, `fact` or `ledger`) and, for `ledger`, `at`
(a JSON Pointer into the entry's value); `{"all": [..]}`, `{"any": [..]}`, `{"not": p}`. Any other member is
malformed. Source: "Predicates" of the action gate's design.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, assert_never, get_args

from msgspec import Struct

from blackboard.canonical import normal
from blackboard.records.atoms import TYPES, Op
from blackboard.records.faults import Path, fault, read_list, read_name, read_object, refuse_others, wrong

MAX_DEPTH: Final = 16
"""How deep a predicate may nest; an atom alone has depth 1."""

MAX_ATOMS: Final = 256
"""How many atoms a predicate may have."""

_ATOM: Final = frozenset(("field", "op", "value", "source", "at"))
_BARE: Final = re.compile(r"(?!(?:true|false|null)\Z)[A-Za-z_][\w./:@-]*")

Source = Literal["param", "fact", "ledger"]


class Atom(Struct, frozen=True, gc=False):
    """One comparison. `value` is an exact scalar, a tuple of them (`in`, `not_in`), or a bool (`exists`).

    `source` None: the action's parameter where it has one, else the newest fact. `at` is a JSON Pointer
    into a ledger entry's value, "" for all of it.
    """

    field: str
    op: Op
    value: Any
    source: Source | None = None
    at: str = ""


class AllOf(Struct, frozen=True, gc=False):
    """TRUE where every part is; of no parts TRUE."""

    parts: tuple[Predicate, ...]


class AnyOf(Struct, frozen=True, gc=False):
    """TRUE where one part is; of no parts FALSE."""

    parts: tuple[Predicate, ...]


class Not(Struct, frozen=True, gc=False):
    """The mirror of its part."""

    part: Predicate


Predicate = Atom | AllOf | AnyOf | Not


def read_predicate(value: object, path: Path) -> Predicate:
    """Return the predicate that a JSON value (exact numbers) writes down.

    Raises `Malformed`, naming the place: unknown members or operators, a constant that the operator does
    not take, more than 256 atoms, nesting beyond 16.
    """
    return _Reader().read(value, path, 1)


class _Reader:
    """Counts the atoms of one predicate while it is read."""

    def __init__(self) -> None:
        self.atoms = 0

    def read(self, value: object, path: Path, depth: int) -> Predicate:
        if depth > MAX_DEPTH:
            raise fault(path, f"a predicate nests at most {MAX_DEPTH} deep", limit=MAX_DEPTH)
        members = read_object(value, path)
        if "field" in members:
            return self._atom(members, path)
        for word, make in (("all", AllOf), ("any", AnyOf)):
            if word in members:
                refuse_others(members, {word}, path)
                parts = read_list(members[word], (*path, word))
                inner = (self.read(part, (*path, word, at), depth + 1) for at, part in enumerate(parts))
                return make(tuple(inner))
        if "not" in members:
            refuse_others(members, {"not"}, path)
            return Not(self.read(members["not"], (*path, "not"), depth + 1))
        raise fault(path, "a predicate has `field`, `op` and `value`, or else `all`, `any` or `not`")

    def _atom(self, members: dict[str, Any], path: Path) -> Atom:
        self.atoms += 1
        if self.atoms > MAX_ATOMS:
            raise fault(path, f"a predicate has at most {MAX_ATOMS} atoms", limit=MAX_ATOMS)
        refuse_others(members, _ATOM, path)
        for word in ("op", "value"):
            if word not in members:
                raise fault((*path, word), "is required")
        field = read_name(members["field"], (*path, "field"))
        op = members["op"]
        if type(op) is not str or op not in _CONSTANTS:
            raise wrong((*path, "op"), f"one of {', '.join(_CONSTANTS)}", op)
        source = members.get("source")
        if "source" in members and (type(source) is not str or source not in get_args(Source)):
            raise wrong((*path, "source"), f"one of {', '.join(get_args(Source))}", source)
        constant = _CONSTANTS[op](members["value"], (*path, "value"))
        return Atom(field, op, constant, source, self._at(members, source, path))

    def _at(self, members: dict[str, Any], source: Source | None, path: Path) -> str:
        if "at" not in members:
            return ""
        if source != "ledger":
            raise fault((*path, "at"), "only an atom with `source: ledger` looks inside a value")
        at = members["at"]
        if type(at) is not str or (at and not at.startswith("/")) or _dangling(at):
            raise wrong((*path, "at"), "a JSON Pointer, as in `/status`,", at)
        return at


def _dangling(pointer: str) -> bool:
    # RFC 6901: a tilde stands only in ~0 and ~1.
    return any(not part.startswith(("0", "1")) for part in pointer.split("~")[1:])


def _scalar(value: object, path: Path) -> Any:
    if type(value) not in TYPES:
        raise wrong(path, "a string, number, bool or null", value)
    return value


def _ordered(value: object, path: Path) -> Any:
    if TYPES.get(type(value)) not in ("number", "string"):
        raise wrong(path, "a number or string", value)
    return value


def _scalars(value: object, path: Path) -> tuple[Any, ...]:
    items = tuple(_scalar(item, (*path, at)) for at, item in enumerate(read_list(value, path)))
    if len({TYPES[type(item)] for item in items if item is not None}) > 1:
        raise fault(path, "the scalars of a list are of one type, null aside")
    return items


def _string(value: object, path: Path) -> str:
    if type(value) is not str:
        raise wrong(path, "a string", value)
    return value


def _bool(value: object, path: Path) -> bool:
    if type(value) is not bool:
        raise wrong(path, "true or false", value)
    return value


_CONSTANTS: Final[dict[Op, Callable[[object, Path], Any]]] = {
    "eq": _scalar,
    "ne": _scalar,
    "lt": _ordered,
    "le": _ordered,
    "gt": _ordered,
    "ge": _ordered,
    "in": _scalars,
    "not_in": _scalars,
    "prefix": _string,
    "exists": _bool,
}


def atoms(predicate: Predicate) -> Iterator[Atom]:
    """The atoms, in the order in which they are written."""
    match predicate:
        case Atom():
            yield predicate
        case Not(part):
            yield from atoms(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from atoms(part)
        case _:
            assert_never(predicate)


def to_json(predicate: Predicate) -> dict[str, Any]:
    """The predicate as it is written down, with exact numbers."""
    match predicate:
        case Atom(field, op, value, source, at):
            written: dict[str, Any] = {
                "field": field,
                "op": op,
                "value": list(value) if type(value) is tuple else value,
            }
            if source is not None:
                written["source"] = source
            if at:
                written["at"] = at
            return written
        case AllOf(parts):
            return {"all": [to_json(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [to_json(part) for part in parts]}
        case Not(part):
            return {"not": to_json(part)}
        case _:
            assert_never(predicate)


def words(predicate: Predicate) -> str:
    """The predicate for a reader: `amount gt 5000 and (tier eq gold or not region exists true)`."""
    return _words(predicate, nested=False)


def _constant(value: Any) -> str:
    # A word stands bare; whatever could be taken for a number, a constant or several words is quoted.
    return value if type(value) is str and _BARE.fullmatch(value) else normal(value)


def _words(predicate: Predicate, *, nested: bool) -> str:
    match predicate:
        case Atom(field, op, value, source, at):
            place = field if source is None else f"{source}:{field}{at}"
            return f"{place} {op} {_constant(value)}"
        case Not(part):
            return f"not {_words(part, nested=True)}"
        case AllOf(parts):
            return _joined(" and ", parts, nested=nested) or "always"
        case AnyOf(parts):
            return _joined(" or ", parts, nested=nested) or "never"
        case _:
            assert_never(predicate)


def _joined(word: str, parts: tuple[Predicate, ...], *, nested: bool) -> str:
    joined = word.join(_words(part, nested=True) for part in parts)
    return f"({joined})" if nested and len(parts) > 1 else joined
