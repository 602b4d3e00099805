"""`citation-decay`: the agent speaks of the board's state and no longer names what it speaks of.

Source: seed 1, third signal and first decision boundary.
"""

from __future__ import annotations

from itertools import islice

from blackboard.events.policy import SignalSetting
from blackboard.gate.moment import Found, Moment


def citation_decay(moment: Moment, setting: SignalSetting) -> Found | None:
    """No identifier that exists, by an agent most of whose messages cited some, about the board's state."""
    message = moment.message
    if message is None or message.cited or message.about is None:
        return None
    last = list(islice(reversed(moment.agent.citations), setting.window))
    citing = [seq for seq, cited in last if cited]
    if len(last) < setting.minimum or len(citing) < setting.ratio * len(last):
        return None
    return Found(
        numbers={"cited": 0, "citing": len(citing), "messages": len(last), "about": message.about},
        evidence=sorted(citing),
    )
