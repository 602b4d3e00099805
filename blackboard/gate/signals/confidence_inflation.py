"""`confidence-inflation`: surer after a compaction than before, with nothing read in between.

Source: seed 1, fifth signal.
"""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.case import Case
from blackboard.gate.moment import Found, Moment


def confidence_inflation(moment: Moment, _setting: SignalSetting) -> Found | None:
    """An attempt, accepted or rejected, that asserts a higher confidence than the agent's last one."""
    for case in moment.cases:
        if (found := _inflated(case)) is not None:
            return found
    return None


def _inflated(case: Case) -> Found | None:
    asserted = case.write.confidence
    last = case.agent.confidence.get(case.key)
    if asserted is None or last is None or asserted <= last[0]:
        return None
    demoted, read = case.agent.demotion.latest, case.agent.view.last_read(case.key)
    if demoted <= last[1] or read > demoted:
        return None
    return Found(
        key=case.key, numbers={"confidence": asserted, "before": last[0]}, evidence=[last[1], demoted]
    )
