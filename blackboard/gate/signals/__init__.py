"""The structural signals, in order of detectability. Advisory: a signal flags or suspects, no more.

Source: seed 1, "Structural signals that reliably preceded the divergence"; the table of signals in the write
gate's design.
"""

from __future__ import annotations

from blackboard.gate.moment import Signal
from blackboard.gate.signals.citation_decay import citation_decay
from blackboard.gate.signals.completion_over_open import completion_over_open
from blackboard.gate.signals.confidence_inflation import confidence_inflation
from blackboard.gate.signals.invented_record import invented_record
from blackboard.gate.signals.read_elision import read_elision
from blackboard.gate.signals.revision_break import revision_break
from blackboard.gate.signals.write_breadth import write_breadth

_FIRST: tuple[tuple[str, Signal], ...] = (
    ("revision-break", revision_break),
    ("write-breadth", write_breadth),
    ("citation-decay", citation_decay),
    ("read-elision", read_elision),
    ("confidence-inflation", confidence_inflation),
    ("completion-over-open", completion_over_open),
    ("invented-record", invented_record),
)

SIGNALS: dict[int, tuple[tuple[str, Signal], ...]] = {1: _FIRST, 2: _FIRST, 3: _FIRST}
"""The signals by board format, each with the name that policies and events give it."""
