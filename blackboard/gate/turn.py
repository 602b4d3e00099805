"""Turn numbers: integers that never decrease, each agent's own."""

from __future__ import annotations

from blackboard.errors import TurnOutOfOrder
from blackboard.projections.agent import AgentState


def check_turn(agent: AgentState | None, turn: int | None) -> None:
    """Raise `TurnOutOfOrder` for a turn below the agent's latest, or one that has ended."""
    if turn is None or agent is None or agent.breadth.turn is None:
        return
    last, ended = agent.breadth.turn, agent.breadth.ended
    if turn > last or (turn == last and not ended):
        return
    least = last + 1 if ended else last
    raise TurnOutOfOrder(
        f"turn {turn}: {agent.id} is at turn {last}{' and has ended it' if ended else ''}; "
        f"the lowest turn now is {least}",
        member="/turn",
        limit=least,
        value=turn,
    )
