"""Time, chance and names: the effects of the service, as arguments.

Tests pass their own; everything below the service gets values, never these functions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from blackboard.events.envelope import SALT_BYTES
from blackboard.messages.idempotency import SERVER_MADE

Clock = Callable[[], int]
"""Microseconds UTC. It may jump: what is stored never decreases."""

Salts = Callable[[int], Sequence[bytes]]
"""So many fresh salts of 16 bytes."""

Ids = Callable[[int], str]
"""A command id that was never given out before, from the time in microseconds; ids sort by time."""


def wall_clock() -> int:
    """The time of the machine."""
    return time.time_ns() // 1000


def random_salts(count: int) -> Sequence[bytes]:
    """`count` salts out of one read from the system's generator."""
    pool = os.urandom(SALT_BYTES * count)
    return [pool[start : start + SALT_BYTES] for start in range(0, SALT_BYTES * count, SALT_BYTES)]


def time_ordered_ids() -> Ids:
    """Ids of one service: milliseconds, 48 random bits that tell services apart, a counter."""
    service = os.urandom(6).hex()
    made = 0

    def next_id(now: int) -> str:
        nonlocal made
        made += 1
        return f"{SERVER_MADE}{now // 1000:012x}{service}{made:08x}"

    return next_id
