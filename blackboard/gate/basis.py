"""What a decision rests on besides the key written: one test for writes and for checks.

"Release, because A and B are done" must not pass after B moved. Source: seed 1, "compaction may compress
history; it must never compress the precondition of a mutation".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board


def moved(board: Board, agent: AgentState, basis: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """The keys of a basis that are not at the named revision, or that the view does not hold, and why."""
    return {key: why for key, revision in basis.items() if (why := _moved(board, agent, key, revision))}


def _moved(board: Board, agent: AgentState, key: str, revision: int) -> dict[str, Any] | None:
    entry = board.ledger.entries.get(key)
    current = 0 if entry is None else entry.revision
    view = agent.view
    held = view.holds(key, entry)
    if current == revision and held:
        return None
    found: dict[str, Any] = {"named": revision, "current": current, "held": held}
    if entry is not None:
        found |= {"writer": entry.writer, "seq": entry.seq}
    removed_by = view.removed_by(seen) if (seen := view.observed(key)) else None
    if removed_by is not None:
        found["removed_by"] = removed_by
    return found
