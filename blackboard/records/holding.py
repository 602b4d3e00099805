"""The holding: which records one holder was delivered, and which of them it still has.

A record is held iff it was delivered after the base of the compactions, or survived them by being kept.
What a compaction costs follows what it keeps, and what is delivered after its base.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from blackboard.records.index import Records
from blackboard.records.kinds import Chatter, Fact, Unevaluable


class Holding:
    """Deliveries of one holder, by record position.

    `base` is the seq up to which deliveries are gone unless they are among the `survivors`; `count` how
    many records are held, `chatter` how many of them are chatter, `chatter_delivered` how many ever were.
    `unevaluable` are the positions held of records that cannot be evaluated, in order, and
    `unevaluable_dropped` those that were delivered and are not held any more.
    """

    __slots__ = (
        "_bits",
        "_facts",
        "_latest",
        "_seen",
        "base",
        "chatter",
        "chatter_delivered",
        "count",
        "survivors",
        "unevaluable",
        "unevaluable_dropped",
    )

    def __init__(self) -> None:
        self.base = 0
        self.survivors: set[int] = set()
        self.count = 0
        self.chatter = 0
        self.chatter_delivered = 0
        self.unevaluable: list[int] = []
        self.unevaluable_dropped: list[int] = []
        self._seen = array("q")
        self._bits = bytearray()
        self._latest = 0
        self._facts: dict[str, int] = {}

    @classmethod
    def of(cls, records: Records, held: Iterable[int], delivered: Iterable[int] | None = None) -> Holding:
        """The holding of someone who was `delivered` these positions (None: all) and still has `held`."""
        holding = cls()
        seen = array("q", bytes(8 * len(records)))
        for at in range(len(records)) if delivered is None else delivered:
            seen[at] = 1
        holding.restore(records, seen.tobytes(), base=1, survivors=held)
        return holding

    def delivered(self, position: int) -> int:
        """The seq at which the record was last delivered; 0 for never."""
        return self._seen[position] if position < len(self._seen) else 0

    def holds(self, position: int) -> bool:
        """Whether the holder still has the record."""
        return self.delivered(position) > self.base or position in self.survivors

    def newest_fact(self, field: str) -> int | None:
        """The position of the newest fact of the field that is held."""
        return self._facts.get(field)

    def held(self) -> Iterator[int]:
        """The positions held, in order."""
        return (at for at in range(len(self._seen)) if self.holds(at))

    def dropped(self) -> Iterator[int]:
        """The positions that were delivered and are not held any more, in order."""
        return (at for at, seq in enumerate(self._seen) if seq and not self.holds(at))

    def deliveries(self) -> bytes:
        """The seq of the last delivery of each position, 0 for none: 8 bytes each, in the machine's order."""
        return self._seen.tobytes()

    def bits(self) -> bytes:
        """The positions held as a set of bits: bit p % 8 of byte p // 8; no zeros at the end."""
        return bytes(self._bits).rstrip(b"\0")

    def deliver(self, position: int, seq: int, records: Records) -> None:
        """The record at `position` was served to, or added by, the holder at `seq`."""
        if position >= len(self._seen):
            self._seen.frombytes(bytes(8 * (position + 1 - len(self._seen))))
            self._bits.extend(bytes(_room(self._seen) - len(self._bits)))
        chatter = isinstance(records.items[position], Chatter)
        self.chatter_delivered += chatter and not self._seen[position]
        if not self.holds(position):
            self._count(position, records)
            if self._seen[position] and isinstance(records.items[position], Unevaluable):
                del self.unevaluable_dropped[bisect_left(self.unevaluable_dropped, position)]
        self._seen[position] = seq
        self._latest = max(self._latest, seq)

    def compact(self, base: int, kept: Iterable[int], records: Records) -> None:
        """What was delivered at or before `base` is gone, except `kept`; only what is held can be kept."""
        keeping = {at for at in kept if self.holds(at)}
        self.survivors = {at for at in self.survivors if self._seen[at] > base} | keeping
        self.base = max(self.base, base)
        before = self.unevaluable
        self._recount(records)
        still = set(self.unevaluable)
        self.unevaluable_dropped = sorted(
            [*self.unevaluable_dropped, *(at for at in before if at not in still)]
        )

    def restore(self, records: Records, deliveries: bytes, *, base: int, survivors: Iterable[int]) -> None:
        """Make this the holding with these `deliveries()`, `base` and `survivors`."""
        self._seen = array("q", deliveries)
        self._latest = max(self._seen, default=0)
        given = zip(records.items, self._seen, strict=False)
        self.chatter_delivered = sum(seq > 0 and isinstance(record, Chatter) for record, seq in given)
        self.base = base
        self.survivors = set(survivors)
        self._recount(records)
        self.unevaluable_dropped = [
            at for at in records.unevaluable if self.delivered(at) and not self.holds(at)
        ]

    def _recount(self, records: Records) -> None:
        self.count = self.chatter = 0
        self._facts = {}
        self.unevaluable = []
        self._bits = bytearray(_room(self._seen))
        # Where nothing was delivered after the base, only the survivors are left to look at.
        for at in list(self.held()) if self._latest > self.base else sorted(self.survivors):
            self._count(at, records)

    def _count(self, position: int, records: Records) -> None:
        record = records.items[position]
        self.count += 1
        self._bits[position >> 3] |= 1 << (position & 7)
        if isinstance(record, Chatter):
            self.chatter += 1
        elif isinstance(record, Fact) and position >= self._facts.get(record.field, -1):
            self._facts[record.field] = position
        elif isinstance(record, Unevaluable):
            insort(self.unevaluable, position)


def _room(seen: array[int]) -> int:
    return (len(seen) + 7) // 8
