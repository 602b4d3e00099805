"""What a predicate comes to, and the normal form of an action, as the specification reads.

The lower half of the oracle: JSON values with numbers as `int` or `Decimal`, three truths, and operators.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

Record = dict[str, Any]

FALSE, UNKNOWN, TRUE = 0, 1, 2
ABSENT: Any = object()


# ------------------------------------------------------------------------------------------------ normal form


def plain(number: int | Decimal) -> str:
    """A number in plain decimals: no exponent, no trailing zeros, one zero."""
    text = format(number, "f") if isinstance(number, Decimal) else str(number)
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def normal(value: Any) -> str:
    """The normal form of a JSON value: two values have the same one iff they are the same value."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{normal(name)}:{normal(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(normal, value)) + "]"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return plain(value)
    assert not isinstance(value, float), "no binary float takes part in a verdict"
    return json.dumps(value, ensure_ascii=False)


def action_digest(tool: str, params: Mapping[str, Any]) -> str:
    """SHA-256, in hex, over the domain tag, a NUL and the normal form of the action."""
    body = normal({"tool": tool, "params": dict(params)})
    return hashlib.sha256(b"blackboard/action/1\0" + body.encode()).hexdigest()


# ------------------------------------------------------------------------------------------------- predicates


def truth_of(claim: bool) -> int:
    return TRUE if claim else FALSE


def type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):  # before numbers: in Python a bool is an int
        return "boolean"
    if isinstance(value, int | Decimal):
        return "number"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names[type(value)]


def equal(value: Any, constant: Any) -> int:
    """`eq`: same type, null against everything, otherwise UNKNOWN."""
    if value is None or constant is None:
        return truth_of(value is None and constant is None)
    if type_of(value) != type_of(constant):
        return UNKNOWN
    return truth_of(value == constant)


def compare(op: str, value: Any, constant: Any) -> int:
    """The table of operators. `value` is what the field resolved to, or ABSENT."""
    if op == "exists":
        return truth_of((value is not ABSENT) == constant)
    if value is ABSENT:
        return UNKNOWN
    if op == "eq":
        return equal(value, constant)
    if op == "ne":
        return TRUE - equal(value, constant)
    if op == "in":
        return max((equal(value, element) for element in constant), default=FALSE)
    if op == "not_in":
        return TRUE - compare("in", value, constant)
    if op == "prefix":
        return truth_of(value.startswith(constant)) if isinstance(value, str) else UNKNOWN
    if type_of(value) != type_of(constant) or type_of(value) not in {"number", "string"}:
        return UNKNOWN
    orders = {
        "lt": value < constant,
        "le": value <= constant,
        "gt": value > constant,
        "ge": value >= constant,
    }
    return truth_of(orders[op])


def evaluate(predicate: Record, value_of: Callable[[Record], Any]) -> int:
    """Kleene's logic. `value_of` tells what an atom's field resolves to."""
    if "all" in predicate:
        return min((evaluate(part, value_of) for part in predicate["all"]), default=TRUE)
    if "any" in predicate:
        return max((evaluate(part, value_of) for part in predicate["any"]), default=FALSE)
    if "not" in predicate:
        return TRUE - evaluate(predicate["not"], value_of)
    return compare(predicate["op"], value_of(predicate), predicate["value"])


def atoms(predicate: Record) -> Iterator[Record]:
    """Every comparison in a predicate, whether or not its truth depends on it."""
    if "field" in predicate:
        yield predicate
    for part in predicate.get("all", []) + predicate.get("any", []):
        yield from atoms(part)
    if "not" in predicate:
        yield from atoms(predicate["not"])


def at_pointer(value: Any, pointer: str) -> Any:
    """What a JSON Pointer (RFC 6901) names in a value, or ABSENT."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name in map(str, range(len(value))):
            value = value[int(name)]
        else:
            return ABSENT
    return value
