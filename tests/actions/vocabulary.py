"""A small vocabulary for worlds of the action gate, and the dice that are thrown over it.

Few tools, fields and constants, so that what is drawn meets; values sit on the boundaries of the constants,
are spelled in several ways, and are now and then of another type.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

from tests.actions.truths import Record

T = TypeVar("T")

TOOLS = ("pay.refund", "pay.void", "notes.append")
ODD_TOOLS = ("pay", "pay.refund.now", "Pay.refund")  # what `pay.*` and `pay.refund` nearly cover
SCOPES: tuple[Any, ...] = (
    *("pay.refund", "pay.*", "*", ["pay.refund"], ["pay.void", "pay.refund"], ["pay.refund", "pay.void"]),
    *("notes.append", ["notes.*", "pay.*"], "pay.void"),
)
KEYS = ("task/a", "task/b")
AGENTS = (None, "ann")
APPROVERS = ("operator:ops", "bob", "agent:bob", "operator:ops", "ann", "agent:ann")
POINTERS = (None, "/status", "/parts/0", "/none", "")

CONSTANTS: dict[str, tuple[Any, ...]] = {
    "amount": (5000, Decimal("0.5"), 2**53),
    "tier": ("gold", "go", "\uffee"),
    "ok": (True, 1, False),
    "owner": (None, "ann", 0),
}
FIELDS = tuple(CONSTANTS)
VALUES: dict[str, tuple[Any, ...]] = {
    "amount": (
        *(5000, Decimal("5000.0"), Decimal("5E+3"), 4999, 5001, Decimal("5000.01"), Decimal("4999.999")),
        *(Decimal("0.5"), Decimal("0.50"), Decimal("0.49"), 0, -1, 2**53, 2**53 + 1, 10**30),
        *("5000", "8400", True, None, [5000], {"n": 5000}),
    ),
    "tier": (
        "gold",
        "go",
        "gol",
        "gold\0",
        "golden",
        "standard",
        "",
        "Gold",
        "\U0001f600",
        1,
        None,
        ["gold"],
    ),
    "ok": (True, False, 1, 0, "true", None, Decimal("1.0")),
    "owner": (None, "ann", "bob", "", 0, Decimal("0.0"), False),
}
DOCUMENTS: tuple[Any, ...] = (
    *("gold", 5000, Decimal("5E+3"), None, "go"),
    *({"status": "gold"}, {"status": "go", "parts": [5000, 1]}, {"status": "gold", "parts": [1]}, [1], {}),
)


class Dice(Protocol):
    """Where chance comes from. Options stand simplest first: Hypothesis shrinks towards them."""

    def pick(self, options: Sequence[T]) -> T: ...

    def chance(self, percent: int) -> bool: ...


@dataclass(frozen=True)
class PlainDice:
    rng: random.Random

    def pick(self, options: Sequence[T]) -> T:
        return self.rng.choice(options)

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent


@dataclass(frozen=True)
class DrawnDice:
    draw: Callable[[st.SearchStrategy[Any]], Any]

    def pick(self, options: Sequence[T]) -> T:
        picked: T = self.draw(st.sampled_from(options))
        return picked

    def chance(self, percent: int) -> bool:
        thrown: int = self.draw(st.integers(0, 99))
        return thrown >= 100 - percent


# ------------------------------------------------------------------------------------------------- predicates


def constant_of(dice: Dice, name: str) -> Any:
    """A constant for a field, now and then spelled another way."""
    constant = dice.pick(CONSTANTS[name])
    if isinstance(constant, int) and not isinstance(constant, bool) and dice.chance(15):
        return Decimal(f"{constant}.0")
    return constant


def comparison(dice: Dice, name: str) -> Record:
    """An operator and a constant that it takes, for values of the named field."""
    constant = constant_of(dice, name)
    ops = ["eq", "ne", "in", "not_in", "exists"]
    if isinstance(constant, str):
        ops += ["prefix", "prefix"]
    if isinstance(constant, str | int | Decimal) and not isinstance(constant, bool):
        ops += ["gt", "ge", "lt", "le"]
    op = dice.pick(ops)
    if op == "exists":
        return {"op": op, "value": not dice.chance(50)}
    if op in ("in", "not_in"):
        others = [other for other in VALUES[name] if type(other) is type(constant)]
        second = [dice.pick(others)] if others and dice.chance(70) else []
        return {"op": op, "value": [constant, *second, *([None] if dice.chance(20) else [])]}
    return {"op": op, "value": constant}


def atom(dice: Dice, source: str | None = None, name: str | None = None) -> Record:
    """A comparison. Its source is drawn where none is given; the empty one leaves the atom unpinned."""
    if source is None:
        source = dice.pick(["", "", "", "fact", "fact", "param", "ledger"])
    if source == "ledger":
        return ledger_atom(dice)
    name = name or dice.pick(FIELDS)
    return {"field": name, **comparison(dice, name), **({"source": source} if source else {})}


def ledger_atom(dice: Dice) -> Record:
    at = dice.pick(POINTERS)
    read = {"field": dice.pick(KEYS), **comparison(dice, dice.pick(("tier", "amount"))), "source": "ledger"}
    return read | ({} if at is None else {"at": at})


def restriction(dice: Dice) -> str:
    return dice.pick(("deny", "require_approval"))


def around(dice: Dice, core: Record) -> Record:
    """A predicate around an atom that matters: mostly the atom alone."""
    if not dice.chance(35):
        return core
    other = atom(dice)
    shapes: list[Record] = [
        {"all": [core, other]},
        {"any": [other, core]},
        {"not": {"not": core}},
        {"not": {"any": [{"not": core}, other]}},
        {"not": core},
        {"all": [core, {"any": [other, {"not": atom(dice)}]}]},
        dice.pick([{"all": []}, {"any": []}]),
    ]
    return dice.pick(shapes)


def make_params(dice: Dice) -> dict[str, Any]:
    """Params of an action: each field is as often absent as present."""
    return {name: dice.pick(VALUES[name]) for name in FIELDS if dice.chance(45)}
