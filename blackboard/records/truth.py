"""Three-valued truth (Kleene): FALSE < UNKNOWN < TRUE; all = min, any = max, not = mirror."""

from __future__ import annotations

from typing import Final, Literal

Truth = Literal[0, 1, 2]

FALSE: Final = 0
UNKNOWN: Final = 1
TRUE: Final = 2

NAMES: Final = ("FALSE", "UNKNOWN", "TRUE")
"""How a truth is written in reports and on the log, by its value."""


def negate(truth: Truth) -> Truth:
    """The mirror: UNKNOWN stays."""
    return _MIRROR[truth]


_MIRROR: Final[tuple[Truth, Truth, Truth]] = (TRUE, UNKNOWN, FALSE)
