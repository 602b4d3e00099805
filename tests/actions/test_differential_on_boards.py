"""The gate on a board equals the naive transcription of the truth tables, on twenty thousand random worlds.

Each world is folded into a board as the events that make it: records added, some of them read, a compaction
that keeps some; entries written, read before or after it, moved or deleted. Then the board is asked.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from blackboard.canonical import normal
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.events.policy import Policy
from blackboard.gate.case import Need
from blackboard.gate.decide import decide, needs
from blackboard.gate.govern import opening
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared
from blackboard.messages.principal import Principal
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from tests.actions.worlds import World, random_world

SEEDS = range(10)
EACH = 2000
NEVER = 2**40


class Played:
    """A world on a board."""

    def __init__(self, world: World, policy: Policy) -> None:
        self.world = world
        self.board = Board()
        self.agent = (world.agent or "nobody").removeprefix("agent:")
        self.events: list[Event] = []
        self.lost: list[str] = []
        self._revisions: Counter[str] = Counter()
        opened = opening("world")
        assert isinstance(opened, kinds.BoardOpened)
        self.happens("operator:ops", replace(opened, policy=policy))
        for record in sorted(world.records, key=lambda record: record["seq"]):
            self._add(record)
        self._ledger_before()
        self._lose()
        self._ledger_after()

    def happens(self, actor: str, body: kinds.EventBody, **envelope: Any) -> None:
        event = Event(self.board.head + 1, actor, f"~{self.board.head:x}", first=True, body=body, **envelope)
        evolve(self.board, event)
        self.events.append(event)

    def _add(self, record: dict[str, Any]) -> None:
        # Seqs are those of the events; what had expired in the world expires at once, the rest never.
        members = {name: member for name, member in record.items() if name != "seq"}
        if "expires_seq" in members and record["kind"] in ("policy", "fact", "approval"):
            over = self.world.head >= record["expires_seq"]
            members["expires_seq"] = self.board.head + 2 if over else NEVER
        self.happens("operator:ops", kinds.RecordAdded(record=Raw(normal(members).encode())))

    def _lose(self) -> None:
        world = self.world
        delivered = [record["id"] for record in world.records] if world.delivered is None else world.delivered
        if delivered:
            self.reads(records=list(delivered))
        self.happens(
            f"agent:{self.agent}",
            kinds.AgentCompacted(agents=[self.agent], base_seq=self.board.head, kept=list(world.held)),
        )

    # ---- entries

    def _ledger_before(self) -> None:
        """What was shown at its current revision and lost in the compaction, and what was never shown."""
        full, held = self.world.ledger_full or {}, self.world.ledger_held or {}
        shown = self.world.ledger_delivered
        for key in sorted(full.keys() - held.keys()):
            self.writes(key, full[key])
            if shown is None or key in shown:
                self.reads(keys={key: 1})
                self.lost.append(key)

    def _ledger_after(self) -> None:
        """What is held, as it stands or as it was before it moved."""
        full, held = self.world.ledger_full or {}, self.world.ledger_held or {}
        for key in sorted(held):
            self.writes(key, held[key])
            self.reads(keys={key: 1})
            if key not in full:
                self.writes(key, None, deleted=True)
            elif normal(full[key]) != normal(held[key]):
                self.writes(key, full[key])

    def reads(self, **served: Any) -> None:
        self.happens(f"agent:{self.agent}", kinds.BoardRead(**served))

    def writes(self, key: str, value: Any, *, deleted: bool = False) -> None:
        self._revisions[key] += 1
        body = kinds.EntryWritten(payload_hash="00" * 32, value=Raw(normal(value).encode()), deleted=deleted)
        self.happens("agent:peer", body, key=key, revision=self._revisions[key])

    # ---- the question

    def checked(self, *, allow_unevaluable: bool) -> kinds.ActionChecked:
        command = ask.Check(tool=self.world.tool, allow_unevaluable=allow_unevaluable)
        params = normal(self.world.params).encode()
        prepared = Prepared(command, b"", params=dict(self.world.params), raw=params)
        principal = Principal(role="agent", name=self.agent)
        fetched = {need: self._row(need) for need in needs(self.board, principal, prepared)}
        (draft,) = decide(self.board, "world", principal, prepared, fetched).drafts
        assert isinstance(draft.body, kinds.ActionChecked)
        return draft.body

    def _row(self, need: Need) -> Event | None:
        assert need.as_of is not None
        rows = [event for event in self.events if event.key == need.key and event.seq <= need.as_of]
        return rows[-1] if rows else None


@pytest.mark.parametrize(
    "seed", [seed if seed < 1 else pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS]
)
def test_the_gate_on_a_board_equals_the_oracle(seed: int) -> None:
    rng = random.Random(f"boards {seed}")
    found: Counter[str] = Counter()
    for _ in range(EACH):
        world = random_world(rng)
        for policy, allowed in ((Policy(), False), (Policy(unseen="note"), True)):
            played = Played(world, policy)
            body = played.checked(allow_unevaluable=allowed)
            # Who holds an old entry was not shown the new one: on a board a read takes the place of the last.
            said = world.judge(
                unseen=policy.unseen,
                allow_unevaluable=allowed,
                agent=played.agent,
                ledger_delivered=played.lost,
            )
            told = [(reason.code, reason.id) for reason in body.reasons]
            assert (body.verdict, told, body.policy.answer) == (said.verdict, said.reasons, said.policy), (
                world
            )
            found[body.verdict] += 1
    assert min(found["PASS"], found["BLOCK"]) > EACH / 10, "the worlds decide nothing"
