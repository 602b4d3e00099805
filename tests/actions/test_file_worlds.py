"""The file tool says of a file what the naive transcription of the specification says of its contents."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from blackboard.canonical import normal
from blackboard.gate.actions.examine import Options, examine
from tests.actions.oracle import Verdict
from tests.actions.worlds import World, random_world

EACH = 600
NO_LEDGER: dict[str, Any] = {"ledger_full": None, "ledger_held": None, "head": None}


def written(world: World, **members: Any) -> bytes:
    """The world as a file, in which the ledger is empty and the head is the newest record's seq."""
    content = {
        "records": world.records,
        "kept": list(world.held),
        "tools": list(world.tools),
        "action": {"tool": world.tool, "params": world.params},
        **members,
    }
    optional = {"delivered": world.delivered, "agent": world.agent}
    return normal(content | {name: told for name, told in optional.items() if told is not None}).encode()


def answered(raw: bytes, **options: Any) -> tuple[str, list[tuple[str, str]], str | None]:
    (section,) = examine(raw, Options(**options))
    assert section.error is None, section.error
    reasons = [(reason.code, reason.id) for reason in section.reasons]
    return section.verdict, reasons, section.policy.answer if section.policy else None


def told(said: Verdict) -> tuple[str, list[tuple[str, str]], str | None]:
    return said.verdict, said.reasons, said.policy


def test_a_file_is_judged_as_the_oracle_judges_what_it_says() -> None:
    rng = random.Random("files")
    found: Counter[str] = Counter()
    for _ in range(EACH):
        world = random_world(rng)
        raw = written(world)
        assert answered(raw) == told(world.judge(**NO_LEDGER)), world
        blind = world.judge(**NO_LEDGER, allow_unevaluable=True)
        assert answered(raw, allow_unevaluable=True) == told(blind), world
        found[answered(raw)[0]] += 1
    assert min(found["PASS"], found["BLOCK"]) > EACH / 10, "the worlds decide nothing"


def test_what_the_gate_blocks_the_precheck_of_the_file_blocks() -> None:
    rng = random.Random("prechecked files")
    for _ in range(EACH):
        world = random_world(rng)
        if world.judge(**NO_LEDGER).verdict == "BLOCK":
            assert answered(written(world, tools=[world.tool]), precheck=True)[0] == "BLOCK", world


def test_the_order_in_a_file_changes_nothing() -> None:
    rng = random.Random("shuffled files")
    for _ in range(EACH // 4):
        world = random_world(rng)
        records, kept = rng.sample(world.records, len(world.records)), rng.sample(world.held, len(world.held))
        mixed = written(world, records=records, kept=kept)
        assert examine(mixed, Options()) == examine(written(world), Options())
