"""What a certificate says, in words: "safe unless amount > 5000, or amount is missing or not a number".

The sentence is the formula, and the formula is exact: what it does not name is safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, assert_never

from blackboard.canonical import normal
from blackboard.gate.actions.formula import Both, Either, Formula, Part, Seen, Told
from blackboard.gate.actions.residual import Compare
from blackboard.records.atoms import TYPES, Op

_SIGNS: Final = {"gt": (">", "<="), "ge": (">=", "<"), "lt": ("<", ">="), "le": ("<=", ">")}
_MIRRORED: Final[dict[Op, Op]] = {"ne": "eq", "not_in": "in"}
_SWAPPED: Final[dict[Part, Part]] = {"passes": "fails", "fails": "passes", "other": "other"}
_BARE: Final = re.compile(r"(?!(?:and|or|is|unless)\Z)[A-Za-z_][\w./:@-]*", re.ASCII)


def sentence(dangers: Formula) -> str:
    """The sentence about a certificate that blocks the calls of which `dangers` holds."""
    if isinstance(dangers, bool):
        return "no call is safe" if dangers else "safe for every call"
    parts = dangers.parts if isinstance(dangers, Either) else (dangers,)
    return "safe unless " + ", or ".join(_clauses(parts))


def _clauses(parts: Sequence[Formula], *, nested: bool = False) -> list[str]:
    """The alternatives, each once; those about the type or the absence of a field as one, at the end."""
    firm: list[str] = []
    loose: dict[str, set[str]] = {}
    for part in _widest(parts):
        if isinstance(part, Seen) and part.part in ("other", "missing"):
            loose.setdefault(part.compare.field, set()).add(_phrase(part).removeprefix("is "))
        else:
            text = _text(part)
            firm.append(f"({text})" if nested and isinstance(part, Both) else text)
    firm += [f"{_name(field)} is {' or '.join(sorted(found))}" for field, found in loose.items()]
    return list(dict.fromkeys(firm))


def _widest(parts: Sequence[Formula]) -> Iterable[Formula]:
    """The alternatives, with one bound in the place of several that point the same way: the widest."""
    found: dict[object, Formula] = {}
    for at, part in enumerate(parts):
        sign = _sign(part)
        if sign is None or not isinstance(part, Seen):
            found[at] = part
            continue
        constant = part.compare.value
        name = (part.compare.field, sign, TYPES[type(constant)])
        other = found.get(name)
        if not isinstance(other, Seen) or (
            constant < other.compare.value if sign in (">", ">=") else constant > other.compare.value
        ):
            found[name] = part
    return found.values()


def _sign(formula: Formula) -> str | None:
    """The sign of a bound that a parameter has to be above or below."""
    if not isinstance(formula, Seen) or formula.compare.op not in _SIGNS:
        return None
    passes, fails = _SIGNS[formula.compare.op]
    return {"passes": passes, "fails": fails}.get(formula.part)


def _text(formula: Formula) -> str:
    assert not isinstance(formula, bool)  # constants are folded away inside a formula
    match formula:
        case Seen(compare):
            return f"{_name(compare.field)} {_phrase(formula)}"
        case Told(text):
            return text
        case Both(parts):
            return " and ".join([_text(part) for part in parts])
        case Either(parts):
            return f"({' or '.join(_clauses(parts, nested=True))})"
        case _:
            assert_never(formula)


def _name(field: str) -> str:
    # Whatever could be taken for the sentence around it is quoted.
    return field if _BARE.fullmatch(field) else normal(field)


# ---- phrases


def _phrase(seen: Seen) -> str:
    """What follows the parameter's name."""
    return "is missing" if seen.part == "missing" else _phrases(seen.compare)[seen.part]


def _phrases(compare: Compare) -> dict[Part, str]:
    op, constant = compare.op, compare.value
    if op in _MIRRORED:
        same = _phrases(Compare(compare.field, _MIRRORED[op], constant, compare.absent))
        return {_SWAPPED[part]: phrase for part, phrase in same.items()}
    shown = normal(constant)
    if op in _SIGNS:
        passes, fails = _SIGNS[op]
        other = f"is not a {TYPES[type(constant)]}"
        return {"passes": f"{passes} {shown}", "fails": f"{fails} {shown}", "other": other}
    if op == "prefix":
        fails = f"is a string that does not start with {shown}"
        return {"passes": f"starts with {shown}", "fails": fails, "other": "is not a string"}
    if op == "in":
        return _one_of(constant, f"in {shown}", "not in")
    if op == "eq":
        return _one_of((constant,), shown, "other than")
    return {"passes": "is given", "fails": "is given"}  # exists


def _one_of(constants: tuple[Any, ...], shown: str, no: str) -> dict[Part, str]:
    kinds = {TYPES[type(constant)] for constant in constants} - {"null"}
    if not constants:
        return {"fails": "is given"}
    if not kinds:
        return {"passes": "is null", "fails": "is given and not null"}
    (kind,) = kinds
    fails = f"is a {kind} or null {no} {shown.removeprefix('in ')}"
    return {"passes": f"is {shown}", "fails": fails, "other": f"is neither a {kind} nor null"}
