"""`write-breadth`: the agent works on far fewer keys a turn than it used to.

Source: seed 1, second signal and third decision boundary: below about half of the trailing baseline for two
consecutive turns.
"""

from __future__ import annotations

from blackboard.events.policy import SignalSetting
from blackboard.gate.moment import Found, Moment

NARROW_RUN = 2


def write_breadth(moment: Moment, setting: SignalSetting) -> Found | None:
    """This command completes the second narrow writing turn in a row; once per narrow run."""
    turns = moment.agent.breadth
    completed = _completed(moment)
    if turns.run != NARROW_RUN - 1 or not completed or not turns.is_narrow(completed, setting):
        return None
    numbers = {
        "breadth": completed,
        "baseline": turns.baseline(setting),
        "ratio": setting.ratio,
        "narrow_turns": NARROW_RUN,
    }
    # The last tries: of the two narrow turns (a turn of its own is this command), then of the baseline's.
    narrow = [turns.narrow_seq] if moment.turn is None else [turns.narrow_seq, turns.seq]
    return Found(numbers=numbers, evidence=[*narrow, *turns.seqs[-setting.window :]])


def _completed(moment: Moment) -> int:
    """The breadth of the writing turn that this command completes; 0 for none."""
    if moment.turn is None:
        return len(moment.cases)
    turns = moment.agent.breadth
    over = moment.ends_turn or turns.turn is None or moment.turn > turns.turn
    return len(turns.keys) if over else 0
