"""The rules of the write gate, in order. A batch is accepted only if none of its writes breaks one.

Source: the table of rules in the write gate's design; seed 1, condition of validity and decision boundary.
"""

from __future__ import annotations

from blackboard.gate.case import Rule
from blackboard.gate.writes.agent_read_only import agent_read_only
from blackboard.gate.writes.basis_moved import basis_moved
from blackboard.gate.writes.completion_unverified import completion_unverified
from blackboard.gate.writes.revalidation_required import revalidation_required
from blackboard.gate.writes.revision_not_advancing import revision_not_advancing
from blackboard.gate.writes.revision_reused import revision_reused
from blackboard.gate.writes.revision_skipped import revision_skipped
from blackboard.gate.writes.single_writer import single_writer
from blackboard.gate.writes.unseen_revision import unseen_revision

_FIRST: tuple[tuple[str, Rule], ...] = (
    ("revision-reused", revision_reused),
    ("single-writer", single_writer),
    ("agent-read-only", agent_read_only),
    ("revalidation-required", revalidation_required),
    ("revision-not-advancing", revision_not_advancing),
    ("revision-skipped", revision_skipped),
    ("unseen-revision", unseen_revision),
    ("completion-unverified", completion_unverified),
    ("basis-moved", basis_moved),
)

RULES: dict[int, tuple[tuple[str, Rule], ...]] = {1: _FIRST, 2: _FIRST, 3: _FIRST}
"""The rules by board format, each with its code: an old verdict is judged again by the rules that made it."""

CODES: tuple[str, ...] = tuple(code for code, _ in RULES[max(RULES)])
"""Every code, in the order of the table: the first one that is broken names the rejection."""

ORDER: dict[str, int] = {code: place for place, code in enumerate(CODES)}
