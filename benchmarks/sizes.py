"""How much is measured: the whole, a look in about two minutes, and just enough to see that it runs."""

from __future__ import annotations

from typing import NamedTuple


class Sizes(NamedTuple):
    """Counts of one run. `turn` is how long a side's turn lasts where it is bounded by time, in seconds;
    `servers` share `shared` boards.
    """

    rounds: int
    turn: float
    singles: int
    groups: int
    log: int
    keys: int
    agents: int
    small_log: int
    small_keys: int
    medium_log: int
    replayed: int
    tail: int
    steps: int
    entries: int
    clients: tuple[int, int, int]
    boards: int
    rules: int
    records: int
    servers: int
    shared: int


FULL = Sizes(
    rounds=15,
    turn=1.0,
    singles=1500,
    groups=150,
    log=1_000_000,
    keys=100_000,
    agents=50,
    small_log=1_000,
    small_keys=10,
    medium_log=100_000,
    replayed=200_000,
    tail=50_000,
    steps=2_000,
    entries=200_000,
    clients=(16, 32, 64),
    boards=64,
    rules=100,
    records=100_000,
    servers=4,
    shared=50,
)
QUICK = Sizes(
    rounds=5,
    turn=0.25,
    singles=250,
    groups=30,
    log=30_000,
    keys=5_000,
    agents=50,
    small_log=1_000,
    small_keys=10,
    medium_log=8_000,
    replayed=15_000,
    tail=2_000,
    steps=500,
    entries=50_000,
    clients=(16, 32, 64),
    boards=16,
    rules=100,
    records=20_000,
    servers=4,
    shared=50,
)
TINY = Sizes(
    rounds=1,
    turn=0.03,
    singles=5,
    groups=2,
    log=300,
    keys=50,
    agents=3,
    small_log=60,
    small_keys=5,
    medium_log=120,
    replayed=150,
    tail=40,
    steps=20,
    entries=300,
    clients=(1, 2, 3),
    boards=3,
    rules=10,
    records=300,
    servers=2,
    shared=3,
)
