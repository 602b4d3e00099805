"""`write-breadth`: the agent works on far fewer keys a turn than it used to.

Source: seed 1, second signal and third decision boundary: below about half of the trailing baseline for two
consecutive turns.
"""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.moment import Found, Moment
from blackboard.projections.breadth import Breadth

NARROW_RUN = 2


def write_breadth(moment: Moment, setting: SignalSetting) -> Found | None:
    """This command completes the second narrow writing turn in a row; once per narrow run."""
    before = moment.agent.breadth
    run = before.run
    for completed in _completed(moment, before):
        if not before.is_narrow(completed, setting):
            run, before = 0, Breadth(sizes=[*before.sizes, completed], seqs=before.seqs)
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
            return Found(numbers=numbers, evidence=before.seqs[-setting.window :])
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
