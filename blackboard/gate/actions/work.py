"""How much may be tried for one answer: counted and never timed, so that an answer follows from its question.

Whether a call can be dangerous, and which facts will do, are NP-hard questions that anybody may ask of
rules that anybody wrote, and a server answers them between other requests. So each answer has an amount of
work; where it does not suffice, the answer is the cautious one.
"""

from __future__ import annotations

from typing import Final

CAP: Final = 200_000
"""How much is tried for one formula."""

TOTAL: Final = 500_000
"""How much is tried for one answer over all its formulas. A unit is about a tenth of a microsecond."""

BUILD: Final = 60
"""What it takes to write down when a rule is dangerous, for each of its atoms."""

CELL: Final = 16
"""What it takes to try one cell, beside a unit for each comparison that is left."""

DIGEST: Final = 150
"""What it takes to tell whether a call is one that was approved, and to look at one approval."""


class Work:
    """What is left of an amount of work, which may be part of a larger one."""

    __slots__ = ("_whole", "left")

    def __init__(self, left: int = TOTAL, within: Work | None = None) -> None:
        self.left = left
        self._whole = within

    def spend(self, amount: int) -> bool:
        """Take so much; False where there is not so much, and then nothing is left for ever."""
        self.left -= amount
        within = self._whole is None or self._whole.spend(amount)
        return within and self.left >= 0

    @property
    def out(self) -> bool:
        """Whether more was asked for than there was."""
        return self.left < 0 or (self._whole is not None and self._whole.out)
