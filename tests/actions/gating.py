"""The gate on plain JSON records, with what the oracle calls its answers beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from blackboard.gate.actions.action import Action
from blackboard.gate.actions.compiling import Compiled, compile_tool
from blackboard.gate.actions.judging import Verdict, judge
from blackboard.gate.actions.world import LedgerValue, World
from blackboard.records import Holding, Records, read_record
from tests.actions import oracle, worlds
from tests.actions.truths import Record, normal

OF_RULES = {"more cautious": "note", "permission unused": "note"}
"""Notes that the tables give no words for."""

BESIDE = {"dropped as chatter", "params-shadow-fact", "approver-test-skipped"}
"""Notes that are not about a cell of the tables."""


class Ledger:
    """Both sides of a ledger from plain values: the same value is the same revision."""

    def __init__(
        self, full: Mapping[str, Any] | None, held: Mapping[str, Any] | None, served: Collection[str] | None
    ) -> None:
        self._full, self._held, self._served = full or {}, held or {}, served

    def current(self, key: str) -> LedgerValue | None:
        return LedgerValue(self._full[key], 4, 40) if key in self._full else None

    def held(self, key: str) -> LedgerValue | None:
        if key not in self._held:
            return None
        return self.current(key) if self.is_current(key) else LedgerValue(self._held[key], 3, 30)

    def is_current(self, key: str) -> bool:
        if key in self._full and key in self._held:
            return normal(self._full[key]) == normal(self._held[key])
        return (key in self._full) == (key in self._held)

    def delivered(self, key: str) -> bool:
        return self._served is None or key in self._served


def index(stated: Iterable[Record]) -> Records:
    """The records, however they are ordered."""
    records = Records()
    for one in sorted(stated, key=lambda record: record["seq"]):
        record = read_record(one)
        records.check(record)
        records.add(record)
    return records


def world_of(
    stated: Collection[Record],
    held: Iterable[str],
    *,
    delivered: Iterable[str] | None = None,
    head: int | None = None,
    agent: str | None = None,
    ledger: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None] = (None, None),
    served: Collection[str] | None = None,
) -> World:
    records = index(stated)

    def positions(ids: Iterable[str]) -> list[int]:
        found = [records.position(name) for name in ids]
        assert None not in found
        return [at for at in found if at is not None]

    holding = Holding.of(records, positions(held), None if delivered is None else positions(delivered))
    if head is None:
        head = max((record["seq"] for record in stated), default=0)
    return World(records, holding, head, agent, Ledger(*ledger, served))


def compiled(stated: Collection[Record], held: Iterable[str], tool: str = "t", **sides: Any) -> Compiled:
    return compile_tool(world_of(stated, held, **sides), tool)


def gate(
    stated: Collection[Record],
    held: Iterable[str],
    params: dict[str, Any] | None = None,
    tool: str = "t",
    *,
    options: Mapping[str, Any] | None = None,
    **sides: Any,
) -> Verdict:
    """The verdict of the gate. `sides` go to `world_of`, `options` to `judge`."""
    return judge(compiled(stated, held, tool, **sides), Action(tool, params or {}), **(options or {}))


def real(world: worlds.World) -> World:
    """A drawn world as the gate takes it."""
    return world_of(
        world.records,
        world.held,
        delivered=world.delivered,
        head=world.head,
        agent=world.agent,
        ledger=(world.ledger_full, world.ledger_held),
        served=world.ledger_delivered,
    )


def judged(world: worlds.World, **options: Any) -> Verdict:
    """What the gate says of a drawn world."""
    return judge(compile_tool(real(world), world.tool), Action(world.tool, world.params), **options)


def codes(verdict: Verdict) -> list[tuple[str, str]]:
    return [(reason.code, reason.id) for reason in verdict.reasons]


def notes(verdict: Verdict) -> list[tuple[str, str]]:
    """Code and id of the notes about cells and unevaluable records."""
    return [(note.code, note.id or "") for note in verdict.notes() if note.code not in BESIDE]


def as_oracle(verdict: Verdict) -> oracle.Verdict:
    """The verdict in the words of the oracle."""
    told = sorted((OF_RULES.get(code, code), name) for code, name in notes(verdict))
    return oracle.Verdict(verdict.word, codes(verdict), verdict.policy.answer, told)


# ---- records


def policy(name: str, seq: int, predicate: Record, effect: str = "deny", **members: Any) -> Record:
    return {
        "id": name,
        "seq": seq,
        "kind": "policy",
        "scope": "t",
        "predicate": predicate,
        "effect": effect,
    } | members


def fact(name: str, seq: int, field: str, value: Any, **members: Any) -> Record:
    return {"id": name, "seq": seq, "kind": "fact", "field": field, "value": value} | members


def retraction(name: str, seq: int, field: str, **members: Any) -> Record:
    return {"id": name, "seq": seq, "kind": "fact", "field": field, "retracted": True} | members


def approval(
    name: str, seq: int, of: str, params: dict[str, Any] | None = None, *, tool: str = "t", **members: Any
) -> Record:
    usual = {
        "policy": of,
        "action_digest": Action(tool, params or {}).digest,
        "granted": True,
        "approver": "kim",
    }
    return {"id": name, "seq": seq, "kind": "approval", **usual} | members


def over(limit: Any, field: str = "amount", **members: Any) -> Record:
    """The atom `field gt limit`."""
    return {"field": field, "op": "gt", "value": limit} | members


def equals(value: Any, field: str = "tier", **members: Any) -> Record:
    return {"field": field, "op": "eq", "value": value} | members
