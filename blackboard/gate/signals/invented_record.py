"""`invented-record`: a summary claims to have kept what it was never given.

Summaries invent constraints as often as they lose them.
"""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.moment import Found, Moment


def invented_record(moment: Moment, _setting: SignalSetting) -> Found | None:
    """A compaction's kept list names record ids that were never delivered to the agent."""
    if not moment.invented:
        return None
    return Found(numbers={"unknown": moment.invented[:16], "count": len(moment.invented)})
