"""Worlds for the action gate: records, what an agent holds of them, and an action.

A world is put together from a few motifs (`tests.actions.motifs`): stale facts under kept rules, kept
permissions, approvals and what ended them, superseded and repeated rules, expiry near the head, retractions,
records that nobody can read, ledger entries that moved. `random_world` throws plain dice, `worlds` those of
Hypothesis, over the same code.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.actions.motifs import MOTIFS, Draft
from tests.actions.oracle import Case, Verdict, case_of, judge
from tests.actions.truths import Record
from tests.actions.vocabulary import (
    AGENTS,
    DOCUMENTS,
    KEYS,
    ODD_TOOLS,
    TOOLS,
    Dice,
    DrawnDice,
    PlainDice,
    make_params,
)


@dataclass(frozen=True)
class World:
    """One action, and the two sides that judge it.

    `records` stand in any order and `held` and `delivered` (None: everything) are ids; what is held was
    delivered. `head` is the greatest seq or beyond it. Ledgers map keys to values (both None: no ledger);
    `ledger_delivered` lists the keys whose current revision was served at some time (None: all). `tool` is
    one of `tools`.
    """

    records: list[Record]
    held: tuple[str, ...]
    delivered: tuple[str, ...] | None
    tool: str
    params: dict[str, Any]
    tools: tuple[str, ...]
    head: int
    agent: str | None
    ledger_full: dict[str, Any] | None
    ledger_held: dict[str, Any] | None
    ledger_delivered: tuple[str, ...] | None

    @property
    def sides(self) -> dict[str, Any]:
        """What the oracle takes beside the records, the held ids and the action."""
        return {
            "head": self.head,
            "agent": self.agent,
            "ledger_full": self.ledger_full,
            "ledger_held": self.ledger_held,
        }

    def case(self) -> Case:
        return case_of(self.records, self.held, self.tool, self.params, **self.sides)

    def judge(self, **options: Any) -> Verdict:
        """What the oracle says; an option given takes the place of what the world has."""
        asked: dict[str, Any] = {
            "held_ids": self.held,
            "tool": self.tool,
            "params": self.params,
            "delivered_ids": self.delivered,
            "ledger_delivered": self.ledger_delivered,
            **self.sides,
        }
        return judge(self.records, **(asked | options))


def random_world(rng: random.Random) -> World:
    """A world from a seeded source: the same seed, the same world."""
    return build(PlainDice(rng))


def random_params(rng: random.Random) -> dict[str, Any]:
    """Params of another action in the same vocabulary."""
    return make_params(PlainDice(rng))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Worlds for Hypothesis, which shrink towards few and simple records, all of them held."""
    return build(DrawnDice(draw))


@st.composite
def params(draw: st.DrawFn) -> dict[str, Any]:
    return make_params(DrawnDice(draw))


# --------------------------------------------------------------------------------------------------- assembly


def build(dice: Dice) -> World:
    tool = dice.pick(ODD_TOOLS) if dice.chance(5) else dice.pick(TOOLS)
    full, held = make_ledgers(dice)
    draft = Draft(dice, tool, make_params(dice), full, held)
    queues = [list(dice.pick(MOTIFS)(draft))]
    while len(queues) < 4 and dice.chance(70):
        queues.append(list(dice.pick(MOTIFS)(draft)))
    records = in_sequence(draft, interleaved(dice, queues))
    head = records[-1]["seq"] + (dice.pick([1, 2, 7]) if dice.chance(25) else 0)
    records = [with_expiry(draft, record, head) for record in records]
    kept = keep(draft)
    has_ledger = not dice.chance(30)
    served_keys = dice.pick([None, (), KEYS[1:]])
    return World(
        records=dice.pick([records, records[::-1], sorted(records, key=lambda record: record["id"])]),
        held=kept,
        delivered=deliver(draft, kept),
        tool=tool,
        params=draft.params,
        tools=tuple(sorted({tool, *(other for other in TOOLS if dice.chance(40))})),
        head=head,
        agent=dice.pick(AGENTS),
        ledger_full=full if has_ledger else None,
        ledger_held=held if has_ledger else None,
        ledger_delivered=served_keys,
    )


def make_ledgers(dice: Dice) -> tuple[dict[str, Any], dict[str, Any]]:
    """Current values, and the held ones: the same, older or none."""
    full = {key: dice.pick(DOCUMENTS) for key in KEYS if not dice.chance(15)}
    held = {}
    for key in KEYS:
        how = dice.pick(["same", "same", "older", "older", "none"])
        if how == "older":
            held[key] = dice.pick(DOCUMENTS)
        elif how == "same" and key in full:
            held[key] = full[key]
    return full, held


def interleaved(dice: Dice, queues: list[list[Record]]) -> Iterator[Record]:
    """The records of all motifs, those of each in their own order."""
    while queues := [queue for queue in queues if queue]:
        yield dice.pick(queues).pop(0)


def in_sequence(draft: Draft, records: Iterable[Record]) -> list[Record]:
    """The records with growing seqs, which are not always neighbours."""
    seq = 0
    numbered = []
    for record in records:
        seq += draft.fates[record["id"]].gap
        numbered.append({"id": record["id"], "seq": seq, **record})
    return numbered


def with_expiry(draft: Draft, record: Record, head: int) -> Record:
    """The record, now and then with an expiry near the head, after its own seq."""
    expiry = draft.fates[record["id"]].expiry
    if expiry is None or record["kind"] not in ("policy", "fact", "approval"):
        return record
    return record | {"expires_seq": max(record["seq"] + 1, head + expiry)}


def keep(draft: Draft) -> tuple[str, ...]:
    """What is held: as the motifs have it, and now and then everything or nothing."""
    if draft.dice.chance(8):
        return tuple(draft.fates) if draft.dice.chance(50) else ()
    return tuple(name for name, fate in draft.fates.items() if fate.held)


def deliver(draft: Draft, held: tuple[str, ...]) -> tuple[str, ...] | None:
    """What was delivered: everything, only what is held, or something between."""
    how = draft.dice.pick(["all", "all", "held", "some"])
    if how == "all":
        return None
    return tuple(
        name for name, fate in draft.fates.items() if name in held or (how == "some" and fate.served)
    )
