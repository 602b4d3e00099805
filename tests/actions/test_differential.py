"""The indexed gate says what the naive transcription of its specification says, notes included.

`tests/pure/test_board_differential.py` holds the gate on a board to it, on twenty thousand worlds.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.actions.gating import as_oracle, judged
from tests.actions.worlds import random_world

SEEDS = range(2)
EACH = 2000


@pytest.mark.parametrize("seed", SEEDS)
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
