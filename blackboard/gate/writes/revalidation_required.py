"""Rule 4: a demoted agent writes only what it has read again. Source: seed 1, validity (c).

A suspicion (nobody announced a compaction, its extent is unknown) stands until the full re-read; a
compaction key by key.
"""

from __future__ import annotations

from blackboard.events.kinds import Violation
from blackboard.gate.case import Case

CODE = "revalidation-required"


def revalidation_required(case: Case) -> Violation | None:
    """A suspicion stands, or a compaction stands and this key was not served since."""
    demotion = case.agent.demotion
    if case.policy.demotion != "revalidate" or not demotion.stands:
        return None
    read = case.agent.view.last_read(case.key)
    since = demotion.suspected_at or demotion.compacted_at
    if demotion.suspected_at:
        detail = (
            f"you are suspected of a silent compaction since event {since}: no write is accepted before you "
            f"have read everything ({demotion.owed} keys)"
        )
    elif read > since:
        return None
    else:
        detail = f"you were {demotion.why}, and have not read {case.key!r} since: read it, then decide again"
    return case.violation(
        CODE,
        detail,
        since=since,
        standing=demotion.state,
        last_read=read or None,
        owed=demotion.owed,
    )
