"""Motifs: the few shapes of records in which something that is missing binds, each with its decoys.

Records drawn at random hardly ever bind anything. A motif yields records, oldest first, and says of each how
likely it is held; what it is about is aimed at the action, mostly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from tests.actions.truths import (
    ABSENT,
    FALSE,
    TRUE,
    UNKNOWN,
    Record,
    action_digest,
    at_pointer,
    compare,
)
from tests.actions.vocabulary import (
    APPROVERS,
    FIELDS,
    SCOPES,
    VALUES,
    Dice,
    around,
    atom,
    ledger_atom,
    restriction,
)

T = TypeVar("T")
KEPT, EITHER, LOST = 88, 50, 12  # how many of a hundred worlds hold a record


class Fate(NamedTuple):
    """What becomes of a record: drawn with it, so that a world shrinks record by record."""

    held: bool
    served: bool  # at some time, where it is not held
    gap: int  # from the seq before
    expiry: int | None  # from the head


@dataclass
class Draft:
    """A world in the making: what its motifs aim at, and what becomes of each record."""

    dice: Dice
    tool: str
    params: dict[str, Any]
    ledger_full: dict[str, Any]
    ledger_held: dict[str, Any]
    fates: dict[str, Fate] = field(default_factory=dict)

    def record(self, kind: str, likely: int, **members: Any) -> Record:
        """A record with an id of its own; ids do not sort as the records do."""
        dice = self.dice
        name = f"{dice.pick('mzab')}{len(self.fates)}"
        self.fates[name] = Fate(
            held=not dice.chance(100 - likely),
            served=not dice.chance(50),
            gap=dice.pick([2, 7]) if dice.chance(20) else 1,
            expiry=dice.pick([1, 0, -1, 2]) if dice.chance(10) else None,
        )
        return {"id": name, "kind": kind, **members}

    def policy(self, likely: int, effect: str, predicate: Record, **members: Any) -> Record:
        scope = self.tool if self.dice.chance(60) else self.dice.pick(SCOPES)
        content = {"scope": scope, "predicate": predicate, "effect": effect}
        return self.record("policy", likely, **(content | members))

    def again(self, likely: int, policy: Record, **members: Any) -> Record:
        """A policy with the content of another, but for the members given."""
        content = {name: policy[name] for name in ("scope", "predicate", "effect")}
        return self.record("policy", likely, **(content | members))

    def fact(self, likely: int, name: str, value: Any, **members: Any) -> Record:
        """A fact, or, where the value is ABSENT, a retraction."""
        said = {"retracted": True} if value is ABSENT else {"value": value}
        return self.record("fact", likely, field=name, **(said | members))

    def approval(self, likely: int, policy: Record, **members: Any) -> Record:
        """An approval of the action, or now and then of one that differs in a param."""
        params = self.params | ({} if self.dice.chance(88) else {"amount": 5002})
        usual = {
            "policy": policy["id"],
            "action_digest": action_digest(self.tool, params),
            "granted": True,
            "approver": self.dice.pick(APPROVERS),
        }
        said: Record = self.dice.pick([{}, {"version": 2}, {"version": 2, "text": "paid twice"}])
        return self.record("approval", likely, **(usual | said | members))

    def aim(self, make: Callable[[], T], hits: Callable[[T], bool]) -> T:
        """What hits, mostly; now and then, or after a few tries, whatever comes."""
        made = make()
        for _ in range(0 if self.dice.chance(15) else 6):
            if hits(made):
                break
            made = make()
        return made

    def binding(self) -> Record:
        """An atom over the params that is not FALSE for the action."""
        return self.aim(
            lambda: atom(self.dice, self.dice.pick(["param", ""])),
            lambda read: holds(read, self.params.get(read["field"], ABSENT)) != FALSE,
        )

    def factual(self) -> Record:
        """An atom that reads a fact: pinned, or of a field that the params leave to the facts."""
        name = self.dice.pick(FIELDS)
        pinned = name in self.params or self.dice.chance(50)
        return atom(self.dice, "fact" if pinned else "", name)


def holds(read: Record, value: Any) -> int:
    return compare(read["op"], value, read["value"])


def worse(effect: str, full: int, held: int) -> bool:
    return held == TRUE != full if effect == "allow" else full > held


def any_effect(dice: Dice) -> str:
    return dice.pick(("allow", restriction(dice)))


def superseding(dice: Dice, older: Record) -> dict[str, Any]:
    return {"supersedes": older["id"]} if dice.chance(70) else {}


def stale_fact(draft: Draft) -> Iterator[Record]:
    """A kept rule reads a value that was replaced or retracted since."""
    dice = draft.dice
    effect = any_effect(dice)

    def make() -> tuple[Record, Any, Any]:
        read = draft.factual()
        values = VALUES[read["field"]]
        return read, dice.pick(values), ABSENT if dice.chance(15) else dice.pick(values)

    read, old, new = draft.aim(make, lambda it: worse(effect, holds(it[0], it[2]), holds(it[0], it[1])))
    name = read["field"]
    rule = draft.policy(KEPT, effect, around(dice, read))
    first = draft.fact(KEPT, name, old)
    yield from dice.pick([(first, rule), (rule, first)])
    if dice.chance(25):
        second = draft.fact(EITHER, name, dice.pick(VALUES[name]), **superseding(dice, first))
        yield second
        first = second
    yield draft.fact(LOST, name, new, **superseding(dice, first))


def lost_input(draft: Draft) -> Iterator[Record]:
    """A kept rule reads a fact that is gone altogether; a permission that reads its absence is glad of it."""
    dice = draft.dice
    name = dice.pick(FIELDS)
    if dice.chance(50):
        absent: Record = {"field": name, "op": "exists", "value": False, "source": "fact"}
        wrong_way = {"not": absent | {"value": True}}
        rule = draft.policy(KEPT, "allow", dice.pick([absent, wrong_way, around(dice, absent)]))
        value = dice.pick(VALUES[name])
    else:
        read, value = draft.aim(
            lambda: (made := draft.factual(), dice.pick(VALUES[made["field"]])),
            lambda it: holds(*it) > UNKNOWN,
        )
        name = read["field"]
        rule = draft.policy(KEPT, restriction(dice), around(dice, read))
    fact = draft.fact(LOST, name, value)
    yield from dice.pick([(fact, rule), (rule, fact)])


def lost_rule(draft: Draft) -> Iterator[Record]:
    yield draft.policy(LOST, restriction(draft.dice), around(draft.dice, draft.binding()))


def ended_approval(draft: Draft) -> Iterator[Record]:
    """An approval of the action that counts for the holder, and mostly something that ended it."""
    dice = draft.dice
    rule = draft.policy(KEPT, dice.pick(["require_approval"] * 9 + ["deny"]), around(dice, draft.binding()))
    yield rule
    if dice.chance(20):
        yield draft.again(EITHER, rule)
    granted = draft.approval(KEPT, rule)
    yield granted
    elsewhere = action_digest(draft.tool, {"other": 1})
    endings: list[Callable[[], Record]] = [
        lambda: draft.approval(LOST, rule, granted=False),
        lambda: draft.approval(LOST, rule, granted=False, **superseding(dice, granted)),
        lambda: draft.approval(LOST, rule, action_digest=elsewhere, supersedes=granted["id"]),
        lambda: draft.approval(LOST, rule, approver=dice.pick(["ann", "agent:ann"])),
        lambda: draft.approval(LOST, rule),
        lambda: draft.again(LOST, rule, supersedes=rule["id"]),
        lambda: draft.again(LOST, rule, effect="deny", supersedes=rule["id"]),
    ]
    if dice.chance(80):
        yield dice.pick(endings)()
    if dice.chance(20):
        yield draft.approval(EITHER, rule)


def superseded_rule(draft: Draft) -> Iterator[Record]:
    """A kept rule that was replaced since; what replaces the replacement does not revive it."""
    dice = draft.dice
    rule = draft.policy(KEPT, any_effect(dice), around(dice, draft.binding()))
    yield rule
    changes: list[dict[str, Any]] = [
        {"predicate": around(dice, draft.binding())},
        {"effect": any_effect(dice)},
        {"predicate": {"any": []}},
        {},
    ]
    second = draft.again(LOST, rule, **dice.pick(changes), supersedes=rule["id"])
    yield second
    if dice.chance(30):
        yield draft.again(EITHER, dice.pick([rule, second]), supersedes=second["id"])


def copied_rule(draft: Draft) -> Iterator[Record]:
    """One rule several times, spelled in several ways, beside what only looks the same."""
    dice = draft.dice
    core = dice.pick([draft.binding, draft.factual])()
    rule = draft.policy(EITHER, dice.pick((restriction(dice), "allow")), around(dice, core))
    yield rule
    scopes = [rule["scope"]] if isinstance(rule["scope"], str) else rule["scope"]
    for _ in range(dice.pick([1, 2])):
        others: list[dict[str, Any]] = [
            {},
            {"scope": scopes[::-1]},
            {"predicate": spelled(rule["predicate"], respell)},
            {"predicate": spelled(rule["predicate"], mistake)},
            {"scope": [*scopes, "notes.*"]},
        ]
        copy = draft.again(dice.pick([LOST, EITHER]), rule, **dice.pick(others))
        yield copy
        if copy["effect"] == "require_approval" and dice.chance(40):
            yield draft.approval(EITHER, dice.pick([rule, copy]))


def spelled(predicate: Record, constant: Callable[[str, Any], Any]) -> Record:
    """A predicate with its members in another order and its constants written by `constant`."""
    made: Record = {}
    for name, value in reversed(predicate.items()):
        if name in ("all", "any"):
            made[name] = [spelled(part, constant) for part in value]
        elif name == "not":
            made[name] = spelled(value, constant)
        else:
            made[name] = constant(predicate["op"], value) if name == "value" else value
    return made


def respell(op: str, constant: Any) -> Any:
    """The same number in other digits."""
    return Decimal(f"{constant}.00") if type(constant) is int else constant


def mistake(op: str, constant: Any) -> Any:
    """What Python, but not JSON, takes for the same constant."""
    if op in ("eq", "ne") and type(constant) in (int, bool):
        return bool(constant) if constant in (0, 1) and type(constant) is int else int(constant)
    return constant


def moved_entry(draft: Draft) -> Iterator[Record]:
    """A kept rule that reads the ledger."""
    effect = any_effect(draft.dice)

    def hits(read: Record) -> bool:
        key, at = read["field"], read.get("at", "")
        full = at_pointer(draft.ledger_full.get(key, ABSENT), at)
        return worse(
            effect, holds(read, full), holds(read, at_pointer(draft.ledger_held.get(key, ABSENT), at))
        )

    read = draft.aim(lambda: ledger_atom(draft.dice), hits)
    yield draft.policy(KEPT, effect, around(draft.dice, read))


def unreadable(draft: Draft) -> Iterator[Record]:
    """A record of a kind or version that nobody can read, whatever it looks like."""
    dice = draft.dice
    kind = dice.pick(["summary", "Policy", "policy"])
    if kind != "policy":
        yield draft.record(kind, EITHER, text="the refund was discussed")
        return
    rule = draft.policy(EITHER, any_effect(dice), draft.binding())
    yield rule
    yield draft.again(EITHER, rule, version=2, supersedes=rule["id"], mood="strict")


def by_the_way(draft: Draft) -> Iterator[Record]:
    """What is seldom to the point."""
    dice = draft.dice
    for _ in range(dice.pick([1, 2, 3])):
        name = dice.pick(FIELDS)
        yield dice.pick(
            [
                lambda: draft.record("chatter", EITHER, text="noted"),
                lambda: draft.fact(EITHER, name, dice.pick(VALUES[name])),  # noqa: B023
                lambda: draft.fact(EITHER, name, ABSENT),  # noqa: B023
                lambda: draft.policy(EITHER, any_effect(dice), around(dice, atom(dice))),
            ]
        )()


MOTIFS = (
    *(
        stale_fact,
        lost_input,
        lost_rule,
        ended_approval,
        superseded_rule,
        copied_rule,
        moved_entry,
        unreadable,
    ),
    *(stale_fact, lost_input, lost_rule, ended_approval, by_the_way),
)
