"""The indexed gate says what the naive transcription of its specification says, on twenty thousand worlds."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.actions.gating import as_oracle, judged
from tests.actions.worlds import random_world

SEEDS = range(10)
EACH = 2000


@pytest.mark.parametrize(
    "seed", [seed if seed < 2 else pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS]
)
def test_the_indexed_gate_equals_the_oracle(seed: int) -> None:
    """Verdict, reasons with ids, second answer and notes, each world under two policies for the unseen."""
    rng = random.Random(f"differential {seed}")
    found: Counter[str] = Counter()
    for _ in range(EACH):
        world = random_world(rng)
        said = world.judge()
        assert as_oracle(judged(world)) == said, world
        assert as_oracle(judged(world, unseen="note", allow_unevaluable=True)) == world.judge(
            unseen="note", allow_unevaluable=True
        ), world
        found[said.verdict] += 1
    assert min(found["PASS"], found["BLOCK"]) > EACH / 10, "the worlds decide nothing"
