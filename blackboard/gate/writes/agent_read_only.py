"""Rule 3: where demotion means read-only, a demoted agent writes nothing. Source: seed 1, validity (c)."""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case

CODE = "agent-read-only"


def agent_read_only(case: Case) -> Violation | None:
    """The agent's standing is not active and the policy's demotion is `read-only`."""
    demotion = case.agent.demotion
    if case.policy.demotion != "read-only" or not demotion.stands:
        return None
    detail = (
        f"you are read-only since event {demotion.since} ({demotion.why}): "
        f"{demotion.owed} keys are still to be read"
    )
    return case.violation(CODE, detail, since=demotion.since, standing=demotion.state, owed=demotion.owed)
