"""Rule 2: in single-writer mode only an active coordinator writes. Source: seed 1, last decision boundary."""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case

CODE = "single-writer"


def single_writer(case: Case) -> Violation | None:
    """The writer is not the coordinator, or the coordinator lost the pen by being demoted."""
    board = case.board
    if board.mode != "single-writer":
        return None
    if board.coordinator == case.agent.id:
        if not case.agent.demotion.stands:
            return None
        detail = (
            f"you coordinate, but your standing is {case.agent.demotion.state}: read everything again first"
        )
    else:
        who = board.coordinator or "nobody"
        detail = f"the board is in single-writer mode and {who} coordinates: propose instead"
    return case.violation(
        CODE, detail, coordinator=board.coordinator, standing=case.agent.demotion.state, since=_since(case)
    )


def _since(case: Case) -> int | None:
    notable = case.board.notables.get("mode")
    return notable.seq if notable is not None else None
