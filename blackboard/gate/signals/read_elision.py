"""`read-elision`: an agent that used to read a key before writing it no longer does.

Source: seed 1, fourth signal.
"""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.case import Case
from blackboard.gate.moment import Found, Moment


def read_elision(moment: Moment, setting: SignalSetting) -> Found | None:
    """An accepted write with no served read of the key since the agent's previous write of it."""
    if moment.code is not None:
        return None
    for case in moment.cases:
        if (found := _elided(case, setting)) is not None:
            return found
    return None


def _elided(case: Case, setting: SignalSetting) -> Found | None:
    agent, key = case.agent, case.key
    written = agent.view.writes.get(key, 0)
    read = agent.view.last_read(key)
    if not written or read > written:
        return None
    after_read, writes = agent.habit(key, setting.window)
    if writes < setting.minimum or after_read < setting.ratio * writes:
        return None
    return Found(
        key=key,
        numbers={"read_before": after_read, "writes": writes},
        evidence=[seq for seq in (read, written) if seq],
    )
