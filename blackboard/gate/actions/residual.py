"""Partial evaluation: a predicate with everything filled in but the action's parameters.

An atom becomes "compare the parameter; where the action has none, this truth", or a constant where it reads
no parameter. What is left is a predicate over params only: it can be evaluated without any record at hand.
Source: "Compaction certificate" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, assert_never

from msgspec import Struct

from blackboard.records import atoms, predicate
from blackboard.records.atoms import ABSENT, Op
from blackboard.records.faults import Path, fault, read_list, read_object, refuse_others, wrong
from blackboard.records.predicate import Atom, Predicate
from blackboard.records.truth import FALSE, NAMES, TRUE, UNKNOWN, Truth, negate

Params = Mapping[str, Any]
Evaluator = Callable[[Params], Truth]


class Constant(Struct, frozen=True, gc=False):
    """The same for every call."""

    truth: Truth


class Compare(Struct, frozen=True, gc=False):
    """`op value` of the parameter `field`; `absent` where the call has no such parameter."""

    field: str
    op: Op
    value: Any
    absent: Truth


class AllOf(Struct, frozen=True, gc=False):
    """The least of its parts, of which there are two or more."""

    parts: tuple[Residual, ...]


class AnyOf(Struct, frozen=True, gc=False):
    """The greatest of its parts, of which there are two or more."""

    parts: tuple[Residual, ...]


class Not(Struct, frozen=True, gc=False):
    """The mirror of its part."""

    part: Residual


Residual = Constant | Compare | AllOf | AnyOf | Not

CONSTANTS: Final = (Constant(FALSE), Constant(UNKNOWN), Constant(TRUE))
"""The constants, by their truth."""


# ---- from a predicate


def partial(whole: Predicate, lookup: Callable[[Atom], object]) -> Residual:
    """Return what is left of a predicate when all but the params is known.

    `lookup` gives what an atom reads where it reads no parameter: an exact JSON value, or ABSENT.
    """
    return residual(whole, truths(predicate.atoms(whole), lookup))


def truths(read: Iterable[Atom], lookup: Callable[[Atom], object]) -> tuple[Truth, ...]:
    """What each atom says where it reads no parameter: all that a residual knows of the world."""
    return tuple([atoms.test(atom.op, atom.value)(lookup(atom)) for atom in read])


def residual(whole: Predicate, known: Iterable[Truth]) -> Residual:
    """Return the predicate with the `truths` of its atoms filled in, constants folded."""
    return _fill(whole, iter(known))


def _fill(part: Predicate, known: Iterator[Truth]) -> Residual:
    match part:
        case Atom():
            return _atom(part, next(known))
        case predicate.AllOf(parts):
            return _all_of([_fill(inner, known) for inner in parts])
        case predicate.AnyOf(parts):
            return _any_of([_fill(inner, known) for inner in parts])
        case predicate.Not(inner):
            return _not(_fill(inner, known))
        case _:
            assert_never(part)


def _atom(atom: Atom, known: Truth) -> Residual:
    if atom.source in ("fact", "ledger") or _of_any_value(atom) == known:
        return CONSTANTS[known]
    return Compare(atom.field, atom.op, atom.value, known)


def _of_any_value(atom: Atom) -> Truth | None:
    """What the atom says of every value alike, whatever it is."""
    if atom.op == "exists":
        return TRUE if atom.value else FALSE
    if atom.value == () and atom.op in ("in", "not_in"):
        return FALSE if atom.op == "in" else TRUE
    return None


def _all_of(parts: list[Residual]) -> Residual:
    if CONSTANTS[FALSE] in parts:
        return CONSTANTS[FALSE]
    left = _left(parts, TRUE)
    return AllOf(left) if len(left) > 1 else left[0]


def _any_of(parts: list[Residual]) -> Residual:
    if CONSTANTS[TRUE] in parts:
        return CONSTANTS[TRUE]
    left = _left(parts, FALSE)
    return AnyOf(left) if len(left) > 1 else left[0]


def _left(parts: list[Residual], neutral: Truth) -> tuple[Residual, ...]:
    """The parts that have a say: those that are not constant, and one UNKNOWN for all that are."""
    left: list[Residual] = [part for part in parts if not isinstance(part, Constant)]
    if CONSTANTS[UNKNOWN] in parts:
        left.append(CONSTANTS[UNKNOWN])
    return tuple(left) or (CONSTANTS[neutral],)


def _not(part: Residual) -> Residual:
    match part:
        case Constant(truth):
            return CONSTANTS[negate(truth)]
        case Not(inner):
            return inner
        case _:
            return Not(part)


# ---- evaluation


def evaluator(part: Residual) -> Evaluator:
    """Return the function that evaluates the residual: made once, it allocates nothing when it is called."""
    match part:
        case Constant(truth):
            return lambda _params: truth
        case Compare(field, op, value, absent):
            says = atoms.test(op, value)
            return _comparing(field, says) if says(ABSENT) == absent else _defaulting(field, says, absent)
        case AllOf(parts):
            return _least([evaluator(inner) for inner in parts])
        case AnyOf(parts):
            return _greatest([evaluator(inner) for inner in parts])
        case Not(inner):
            return _mirrored(evaluator(inner))
        case _:
            assert_never(part)


def _comparing(field: str, says: atoms.Test) -> Evaluator:
    return lambda params: says(params.get(field, ABSENT))


def _defaulting(field: str, says: atoms.Test, absent: Truth) -> Evaluator:
    def defaulting(params: Params) -> Truth:
        value = params.get(field, ABSENT)
        return absent if value is ABSENT else says(value)

    return defaulting


def _least(parts: list[Evaluator]) -> Evaluator:
    if len(parts) == 2:
        return _lesser(*parts)

    def least(params: Params) -> Truth:
        found: Truth = TRUE
        for says in parts:
            truth = says(params)
            if truth < found:
                if truth == FALSE:
                    return FALSE
                found = truth
        return found

    return least


def _lesser(first: Evaluator, second: Evaluator) -> Evaluator:
    # Two parts are what most rules have, and need no loop.
    def lesser(params: Params) -> Truth:
        one = first(params)
        if one == FALSE:
            return FALSE
        other = second(params)
        return one if one < other else other

    return lesser


def _greatest(parts: list[Evaluator]) -> Evaluator:
    if len(parts) == 2:
        return _greater(*parts)

    def greatest(params: Params) -> Truth:
        found: Truth = FALSE
        for says in parts:
            truth = says(params)
            if truth > found:
                if truth == TRUE:
                    return TRUE
                found = truth
        return found

    return greatest


def _greater(first: Evaluator, second: Evaluator) -> Evaluator:
    def greater(params: Params) -> Truth:
        one = first(params)
        if one == TRUE:
            return TRUE
        other = second(params)
        return one if one > other else other

    return greater


def _mirrored(says: Evaluator) -> Evaluator:
    return lambda params: negate(says(params))


# ---- as JSON


def to_json(part: Residual) -> dict[str, Any]:
    """The residual as it stands in a certificate, with exact numbers."""
    match part:
        case Constant(truth):
            return {"always": NAMES[truth]}
        case Compare(field, op, value, absent):
            written = list(value) if type(value) is tuple else value
            return {"param": field, "op": op, "value": written, "absent": NAMES[absent]}
        case AllOf(parts):
            return {"all": [to_json(inner) for inner in parts]}
        case AnyOf(parts):
            return {"any": [to_json(inner) for inner in parts]}
        case Not(inner):
            return {"not": to_json(inner)}
        case _:
            assert_never(part)


def from_json(value: object, path: Path = ()) -> Residual:
    """Return the residual that a JSON value (exact numbers) writes down.

    Raises `Malformed`, naming the place, for what `to_json` never writes.
    """
    members = read_object(value, path)
    if "always" in members:
        refuse_others(members, {"always"}, path)
        return CONSTANTS[_truth(members["always"], (*path, "always"))]
    if "param" in members:
        return _read_compare(members, path)
    for word in ("all", "any"):
        if word in members:
            refuse_others(members, {word}, path)
            parts = _read_parts(members[word], (*path, word))
            return AllOf(parts) if word == "all" else AnyOf(parts)
    if "not" in members:
        refuse_others(members, {"not"}, path)
        return Not(from_json(members["not"], (*path, "not")))
    raise fault(path, "a residual has `param`, or else `always`, `all`, `any` or `not`")


def _read_parts(value: object, path: Path) -> tuple[Residual, ...]:
    return tuple(from_json(part, (*path, at)) for at, part in enumerate(read_list(value, path)))


def _read_compare(members: dict[str, Any], path: Path) -> Compare:
    refuse_others(members, {"param", "op", "value", "absent"}, path)
    if "absent" not in members:
        raise fault((*path, "absent"), "is required")
    atom = {"field": members["param"]} | {name: members[name] for name in ("op", "value") if name in members}
    read = predicate.read_predicate(atom, path)
    assert isinstance(read, Atom)
    return Compare(read.field, read.op, read.value, _truth(members["absent"], (*path, "absent")))


def _truth(value: object, path: Path) -> Truth:
    if type(value) is not str or value not in _TRUTHS:
        raise wrong(path, f"one of {', '.join(NAMES)}", value)
    return _TRUTHS[value]


_TRUTHS: Final[dict[str, Truth]] = {"FALSE": FALSE, "UNKNOWN": UNKNOWN, "TRUE": TRUE}
