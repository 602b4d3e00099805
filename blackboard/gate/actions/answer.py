"""The second answer: what the rules say of the action, from the full set, whatever anybody holds.

PASS is no permission: whoever executes needs both. Source: "The verdict" of the action gate's design.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from blackboard.gate.actions.compiling import Row
from blackboard.records.kinds import Effect
from blackboard.records.truth import TRUE, UNKNOWN, Truth
from blackboard.records.verdict import Answer, AnswerWord

_RANKS: Final[dict[tuple[Effect, Truth], int]] = {
    ("deny", TRUE): 0,
    ("require_approval", TRUE): 1,
    ("deny", UNKNOWN): 2,
    ("require_approval", UNKNOWN): 2,
    ("allow", TRUE): 3,
}
_WORDS: Final[tuple[AnswerWord, ...]] = ("deny", "needs-approval", "undetermined", "allowed-by", "default")
_NOTHING: Final = 4

DEFAULT: Final = Answer(answer="default")
"""No rule says anything: what happens then is the executor's business."""


def answer(found: Iterable[tuple[Row, Truth]]) -> Answer:
    """Return the strictest of the rules with their truths on the full set, and which they are.

    A rule that forbids (TRUE) comes before one that asks for approval, before any restriction that cannot be
    resolved, before a permission.
    """
    best = _NOTHING
    rules: list[str] = []
    for row, truth in found:
        rank = _RANKS.get((row.effect, truth), _NOTHING)
        if rank < best:
            best, rules = rank, [row.id]
        elif rank == best:
            rules.append(row.id)
    return DEFAULT if best == _NOTHING else Answer(answer=_WORDS[best], rules=sorted(rules))
