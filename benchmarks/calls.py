"""Calls timed one by one: a turn's sample is its median call, so that a pair's ratio is one of medians."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from benchmarks.harness import Clock, Sample

A = TypeVar("A")


class Calls(Generic[A]):
    """One side: `count` calls a turn, which go round the arguments `given`."""

    def __init__(self, call: Callable[[A], object], given: Sequence[A], count: int) -> None:
        self._call = call
        self._given = itertools.cycle(given)
        self._count = max(count, 1)
        self._took: list[int] = []

    def __call__(self) -> Sample:
        call, now, took = self._call, time.perf_counter_ns, []
        with Clock() as clock:
            for one in itertools.islice(self._given, self._count):
                begun = now()
                call(one)
                took.append(now() - begun)
        self._took += took
        return Sample(1, statistics.median(took) / 1e9, clock.cpu / self._count)

    @property
    def p99(self) -> float:
        """Microseconds that 99 of 100 calls stayed within, over all turns so far."""
        return sorted(self._took)[(len(self._took) - 1) * 99 // 100] / 1e3
