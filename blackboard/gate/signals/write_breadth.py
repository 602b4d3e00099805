"""`write-breadth`: the agent works on far fewer keys a turn than it used to.

Source: seed 1, second signal and third decision boundary: below about half of the trailing baseline for two
consecutive turns.
"""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.moment import Found, Moment
from blackboard.projections.breadth import Breadth, Turn

NARROW_RUN = 2


def write_breadth(moment: Moment, setting: SignalSetting) -> Found | None:
    """This command completes the second narrow writing turn in a row; once per narrow run."""
    breadth = moment.agent.breadth
    run, wide = breadth.run, breadth.wide
    for completed in _completed(moment, breadth):
        before = Breadth(wide=wide) if wide is not breadth.wide else breadth
        if not before.is_narrow(completed, setting):
            run, wide = 0, [*wide, Turn(0, completed)]
            continue
        run += 1
        if run == NARROW_RUN:
            baseline = before.baseline(setting)
            numbers = {
                "breadth": completed,
                "baseline": baseline,
                "ratio": setting.ratio,
                "narrow_turns": run,
            }
            return Found(numbers=numbers, evidence=[turn.seq for turn in wide[-setting.window :] if turn.seq])
    return None


def _completed(moment: Moment, breadth: Breadth) -> list[int]:
    """The breadths of the writing turns that this command completes, in order."""
    turn, completed = moment.turn, []
    tried = {case.key for case in moment.cases}
    if turn is None:
        return [len(tried)] if tried else []
    opened = breadth.keys
    if breadth.turn is None or turn > breadth.turn:
        completed.append(len(opened))
        opened = set()
    if moment.ends_turn:
        completed.append(len(opened | tried))
    return [count for count in completed if count]
