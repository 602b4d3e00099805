"""Pairs: two sides take turns under the same conditions, and their ratio is what counts.

Speed on a shared machine drifts by more than what is to be measured. So the sides are interleaved, which of
them begins alternates, each pair gives one ratio, and the median of the ratios is the figure.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Sample(NamedTuple):
    """What one side did in one turn: units of work, wall seconds, and CPU seconds of this process."""

    units: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.units / self.seconds

    @property
    def cost(self) -> float:
        """Seconds a unit."""
        return self.seconds / self.units


Side = Callable[[], Sample]


class Paired(NamedTuple):
    """The turns of two sides, pair by pair."""

    ours: list[Sample]
    base: list[Sample]

    @property
    def ratios(self) -> list[float]:
        """Our rate to theirs, pair by pair."""
        return [one.rate / other.rate for one, other in zip(self.ours, self.base, strict=True)]


def paired(ours: Side, base: Side, rounds: int) -> Paired:
    """Let the sides take turns: one pair to warm up, then `rounds` that count."""
    taken = Paired([], [])
    for place in range(rounds + 1):
        sides: list[tuple[Side, list[Sample]]] = [(ours, taken.ours), (base, taken.base)]
        for side, into in sides if place % 2 else reversed(sides):
            gc.collect()
            into.append(side())
    return Paired(taken.ours[1:], taken.base[1:])


def alone(side: Side, rounds: int) -> list[Sample]:
    """The same for a figure that has no other side."""
    samples = []
    for _ in range(rounds + 1):
        gc.collect()
        samples.append(side())
    return samples[1:]


class Clock:
    """Wall and CPU time of a stretch of work. The CPU time is that of all threads of this process."""

    def __enter__(self) -> Clock:
        self._cpu = time.process_time()
        self._wall = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._wall
        self.cpu = time.process_time() - self._cpu

    def sample(self, units: int) -> Sample:
        return Sample(units, self.seconds, self.cpu)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The middle half of the values: how far apart the rounds were."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
