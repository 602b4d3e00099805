"""Breadth: how many distinct keys an agent tries to write in a turn, against its own past.

Source: seed 1, second signal and third decision boundary.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from blackboard.events.policy import MAX_WINDOW, SignalSetting


class Breadth(Struct):
    """One agent's turns.

    `turn` is its latest turn number (None before the first), `ended` whether that turn is over, `keys`
    what was tried in it so far, `seq` the last try. `loose` are the keys of a command without a turn
    number, a turn of its own that completes with the command. `sizes` are the breadths of the completed
    turns that were not narrow, `seqs` the seqs of the last try in each; `run` is the number of narrow ones
    since, and `narrow_seq` the last try in the latest of them.
    """

    turn: int | None = None
    ended: bool = False
    keys: set[str] = set()
    seq: int = 0
    loose: set[str] = set()
    loose_seq: int = 0
    sizes: list[int] = []
    seqs: list[int] = []
    run: int = 0
    narrow_seq: int = 0

    def baseline(self, setting: SignalSetting) -> float | None:
        """The median breadth of the last turns that were not narrow; None while there are too few."""
        last = sorted(self.sizes[-setting.window :])
        count = len(last)
        if count < setting.minimum:
            return None
        return (last[(count - 1) // 2] + last[count // 2]) / 2

    def is_narrow(self, breadth: int, setting: SignalSetting) -> bool:
        """Whether a turn of this breadth is narrow against the baseline before it."""
        last = self.sizes[-setting.window :]
        # No baseline is above the widest turn: most turns are told from that alone, without a median.
        if len(last) < setting.minimum or breadth >= setting.ratio * max(last):
            return False
        baseline = self.baseline(setting)
        return baseline is not None and breadth < setting.ratio * baseline

    def tried(self, keys: Iterable[str], turn: int | None, seq: int) -> None:
        """Keys that a command tried to write, in its numbered turn or (None) in a turn of its own."""
        for key in keys:
            self.tried_one(key, turn, seq)

    def tried_one(self, key: str, turn: int | None, seq: int) -> None:
        """The same of one key: what nearly every event of a log is about."""
        if turn is None:
            self.loose.add(key)
            self.loose_seq = seq
        else:
            self.keys.add(key)
            self.seq = seq

    def settle(self, setting: SignalSetting) -> None:
        """The command without a turn number is over, and with it its turn."""
        if self.loose:
            self._complete(len(self.loose), self.loose_seq, setting)
            self.loose.clear()

    def enter(self, turn: int, setting: SignalSetting) -> None:
        """A command carries this turn number: a lower one that was open is complete."""
        if self.turn is None or turn > self.turn:
            self._close(setting)
            self.turn, self.ended = turn, False

    def end(self, setting: SignalSetting) -> None:
        """The current turn is over."""
        self._close(setting)
        self.ended = True

    def _close(self, setting: SignalSetting) -> None:
        if self.keys:
            self._complete(len(self.keys), self.seq, setting)
            self.keys = set()

    def _complete(self, breadth: int, seq: int, setting: SignalSetting) -> None:
        if self.is_narrow(breadth, setting):
            self.run += 1
            self.narrow_seq = seq
            return
        self.run = 0
        self.sizes.append(breadth)
        self.seqs.append(seq)
        if len(self.sizes) > MAX_WINDOW:
            del self.sizes[0], self.seqs[0]
