"""How many refused writes of one actor are logged in a minute.

A bucket per actor fills evenly and lets a burst of one minute's worth through. Only refusals draw from it:
an agent that writes what it holds is never slowed down.
"""

from __future__ import annotations

MICROSECONDS_A_MINUTE = 60_000_000
ACTORS_REMEMBERED = 4096


class RejectionLimiter:
    """Buckets of one board, by actor."""

    __slots__ = ("_buckets", "_per_minute")

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: dict[str, tuple[float, int]] = {}

    def draw(self, actor: str, now: int) -> bool:
        """Take one from the actor's bucket; False where it is empty. `now` in microseconds."""
        full = float(self._per_minute)
        level, at = self._buckets.get(actor, (full, now))
        level = min(full, level + max(0, now - at) * full / MICROSECONDS_A_MINUTE)
        if level < 1:
            self._buckets[actor] = (level, now)
            return False
        if len(self._buckets) >= ACTORS_REMEMBERED:
            self._forget_the_full(now)
        self._buckets[actor] = (level - 1, now)
        return True

    def _forget_the_full(self, now: int) -> None:
        # After a minute a bucket is full again, which is what an actor without one has.
        self._buckets = {
            actor: bucket
            for actor, bucket in self._buckets.items()
            if now - bucket[1] < MICROSECONDS_A_MINUTE
        }
