"""The view: what one agent has been shown and still holds.

An entry is held iff the agent observed it (a served read or its own accepted write) at a seq that is
not below the entry's and above the base of its compactions. A compaction therefore only moves the base,
and reading a whole range only sets a watermark: neither costs what the board is large.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from blackboard.projections.keys import above
from blackboard.projections.ledger import Entry


class View:
    """Observations of one agent, by key and by key range.

    `reads` and `writes` map a key to the seq of the last served read and own write of it. The range
    reads form a step function over the keys: `marks[i]` is the seq of the last range read that covers
    the keys from `starts[i]` on. `drops` are the compactions that moved the base, as (seq, base): a later
    one has the higher base, so the first whose base reaches an observation is the one that removed it.
    """

    __slots__ = ("base", "drops", "marks", "reads", "starts", "writes")

    def __init__(self) -> None:
        self.base = 0
        self.drops: list[tuple[int, int]] = []
        self.reads: dict[str, int] = {}
        self.writes: dict[str, int] = {}
        self.starts: list[str] = []
        self.marks: list[int] = []

    def last_read(self, key: str) -> int:
        """The seq of the last served read that covered the key; 0 for never."""
        single = self.reads.get(key, 0)
        if not self.starts:
            return single
        at = bisect_right(self.starts, key) - 1
        return max(single, self.marks[at]) if at >= 0 else single

    def observed(self, key: str) -> int:
        """The seq of the last observation of the key, own writes included; 0 for never."""
        return max(self.last_read(key), self.writes.get(key, 0))

    def holds(self, key: str, entry: Entry | None) -> bool:
        """Whether the view holds the key's current revision (None: its absence)."""
        seen = self.observed(key)
        return seen > self.base and (entry is None or seen >= entry.seq)

    def removed_by(self, seq: int) -> int | None:
        """The seq of the compaction that removed what was observed at `seq`; None: it is still there."""
        at = bisect_left(self.drops, seq, key=lambda drop: drop[1])
        return self.drops[at][0] if at < len(self.drops) else None

    def compact(self, base: int, seq: int) -> None:
        """A compaction, recorded at `seq`, took out what was observed at or before `base`."""
        if base > self.base:
            self.base = base
            self.drops.append((seq, base))

    def read_range(self, after: str | None, through: str | None, prefix: str, seq: int) -> None:
        """A served read covered the keys `after < key <= through` under `prefix`."""
        low = prefix if after is None or after < prefix else after + "\0"
        high = above(prefix) if through is None else through + "\0"
        if high is not None and high <= low:
            return  # a cursor beyond the prefix: nothing was covered
        self._splice(low, high, seq)
        if through is None:
            self._forget_covered()

    def _splice(self, low: str, high: str | None, seq: int) -> None:
        starts, marks = self.starts, self.marks
        first = bisect_left(starts, low)
        last = len(starts) if high is None else bisect_right(starts, high)
        new_starts, new_marks = [low], [seq]
        if high is not None:
            # What held at `high` goes on from there.
            new_starts.append(high)
            new_marks.append(marks[last - 1] if last > 0 else 0)
        starts[first:last] = new_starts
        marks[first:last] = new_marks

    def _forget_covered(self) -> None:
        # The last page of a full read: single reads below the watermark say nothing more.
        if self.reads:
            reads = self.reads
            self.reads = {}
            self.reads = {key: seq for key, seq in reads.items() if seq > self.last_read(key)}

    def ranges(self) -> list[tuple[str, str | None, int]]:
        """The range reads as (from, up to but not including, seq), in key order."""
        if not self.starts:
            return []
        ends: list[str | None] = [*self.starts[1:], None]
        return [
            (start, end, mark) for start, end, mark in zip(self.starts, ends, self.marks, strict=True) if mark
        ]
