"""The action gate on a board says what the naive transcription of its specification says.

Each random world becomes a log: records are added, read and dropped by a compaction, entries are written,
read and written again. The events have the seqs of the world, so that expiry falls where the world has it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Raw

from blackboard.canonical import normal
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.events.policy import Policy, Unseen
from blackboard.gate.case import Need
from blackboard.gate.check import verdict
from blackboard.gate.sight import compile_needs
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from tests.actions import oracle
from tests.actions.gating import BESIDE, OF_RULES
from tests.actions.worlds import World, random_world

OPTIONS: tuple[tuple[Unseen, bool], ...] = (("block", False), ("note", True))
SEEDS = range(10)
EACH = 2000
READ, FROM = 1, 2
"""Records are read at seq 1, a compaction has the base 1, and what agents observe later is still held."""


class Played:
    """A drawn world as a board, with the rows of its entries."""

    def __init__(self, world: World, unseen: Unseen) -> None:
        self.world = world
        self.agent = (world.agent or "agent:zed").removeprefix("agent:")
        self.board = Board()
        self.rows: list[Event] = []
        opening = kinds.BoardOpened(name="b", policy=Policy(unseen=unseen), format=kinds.FORMAT)
        self.fold(1, opening, actor="operator:ops")
        self._add_records()
        self._compact()
        for at, key in enumerate(sorted({*self.full, *self.held}), FROM):
            self._play_key(key, 10 * at)
        self.board.head = world.head

    @property
    def full(self) -> Mapping[str, Any]:
        return self.world.ledger_full or {}

    @property
    def held(self) -> Mapping[str, Any]:
        return self.world.ledger_held or {}

    @property
    def lost(self) -> list[str]:
        """The keys whose current entry was served, and taken by the compaction."""
        served = self.world.ledger_delivered
        return [key for key in self.full if key not in self.held and (served is None or key in served)]

    def fold(self, seq: int, body: kinds.EventBody, *, actor: str | None = None, **members: Any) -> None:
        event = Event(seq, actor or f"agent:{self.agent}", f"c{seq}", True, body, **members)
        evolve(self.board, event)
        if event.key is not None:
            self.rows.append(event)

    def _add_records(self) -> None:
        for record in sorted(self.world.records, key=lambda record: record["seq"]):
            members = {name: value for name, value in record.items() if name != "seq"}
            body = kinds.RecordAdded(record=Raw(normal(members).encode()))
            self.fold(record["seq"], body, actor="operator:ops")

    def _compact(self) -> None:
        world = self.world
        delivered = [record["id"] for record in world.records]
        if world.delivered is not None:
            delivered = list(world.delivered)
        for key in self.lost:
            self._write(key, READ, 1, self.full[key])
        self.fold(READ, kinds.BoardRead(records=delivered, keys=dict.fromkeys(self.lost, 1)))
        self.fold(READ, kinds.AgentCompacted(agents=[self.agent], base_seq=READ, kept=list(world.held)))

    def _play_key(self, key: str, seq: int) -> None:
        """Write, read and write again, so that both sides have what the world says."""
        if key in self.lost:
            return
        same = key in self.full and key in self.held and normal(self.full[key]) == normal(self.held[key])
        first = self.held.get(key, self.full.get(key))
        self._write(key, seq, 1, first)
        if key not in self.held:
            return
        self.fold(seq + 1, kinds.BoardRead(keys={key: 1}))
        if not same:
            self._write(key, seq + 2, 2, self.full.get(key), deleted=key not in self.full)

    def _write(self, key: str, seq: int, revision: int, value: Any, *, deleted: bool = False) -> None:
        raw = Raw(normal(None if deleted else value).encode())
        body = kinds.EntryWritten(payload_hash="00" * 32, value=raw, deleted=deleted)
        self.fold(seq, body, actor="agent:writer", key=key, revision=revision)

    def judge(self, *, allow_unevaluable: bool) -> kinds.ActionChecked:
        agent = self.board.agent(self.agent)
        needs = compile_needs(self.board, agent, self.world.tool)
        command = ask.Check(tool=self.world.tool, allow_unevaluable=allow_unevaluable)
        prepared = Prepared(command, b"", params=self.world.params, raw=b"{}")
        return verdict(self.board, agent, prepared, {need: self._find(need) for need in needs})

    def _find(self, need: Need) -> Event | None:
        assert need.as_of is not None
        found = [event for event in self.rows if event.key == need.key and event.seq <= need.as_of]
        return found[-1] if found else None


def as_oracle(body: kinds.ActionChecked) -> oracle.Verdict:
    told = [(note.code, note.id or "") for note in body.notes if note.code not in BESIDE]
    return oracle.Verdict(
        body.verdict,
        [(reason.code, reason.id) for reason in body.reasons],
        body.policy.answer,
        sorted((OF_RULES.get(code, code), name) for code, name in told),
    )


@pytest.mark.parametrize(
    "seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS]
)
def test_the_gate_on_a_board_equals_the_oracle(seed: int) -> None:
    rng = random.Random(f"board differential {seed}")
    found: Counter[str] = Counter()
    for at in range(EACH):
        world = random_world(rng)
        unseen, blind = OPTIONS[at % len(OPTIONS)]
        played = Played(world, unseen)
        said = world.judge(
            agent=f"agent:{played.agent}",
            ledger_delivered=played.lost,
            unseen=unseen,
            allow_unevaluable=blind,
        )
        assert as_oracle(played.judge(allow_unevaluable=blind)) == said, world
        found[said.verdict] += 1
    assert min(found["PASS"], found["BLOCK"]) > EACH / 10, "the worlds decide nothing"
