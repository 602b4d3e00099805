"""What a service counts about itself. Plain numbers: the server exports them, tests read them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
LAGS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Histogram:
    """Observations counted under upper bounds; `counts` has one place more, for what is above them all."""

    __slots__ = ("bounds", "count", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.count = 0
        self.total: float = 0

    def observe(self, value: float) -> None:
        """Count one observation."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.count += 1
        self.total += value


class Metrics:
    """Counters since the service started, except `followers` and `live_boards`, which are levels.

    `batch_commands` and `append_seconds` are per commit. `conflicts` are appends that somebody else's came
    before, `unknown_outcomes` those whose result the store could not tell, `store_failures` those it refused.
    `rereads` are the keys served that were owed to a demotion, part of `reads`. `replays` were answered from
    the log by their idempotency key. `overtaken` is how often a follower fell so far behind that it went back
    to the table.

    Where other processes append to the same database: `foreign_events` are theirs that a board in memory was
    moved on by, `feed_lag_seconds` how old they were when a followed board heard of them, by two machines'
    clocks. `lock_commits` are the commits, part of `appends`, before which the board was locked, and
    `lock_seconds` how long the lock was waited for. `retries` are the store's, by SQLSTATE.
    """

    __slots__ = (
        "append_seconds",
        "appends",
        "batch_commands",
        "batch_events",
        "boards_evicted",
        "boards_loaded",
        "cache_hits",
        "cache_misses",
        "commands",
        "conflicts",
        "events",
        "failures",
        "feed_lag_seconds",
        "followers",
        "foreign_events",
        "live_boards",
        "lock_commits",
        "lock_seconds",
        "overtaken",
        "rate_limited",
        "reads",
        "rejections",
        "replays",
        "rereads",
        "retries",
        "rows_fetched",
        "signals",
        "snapshots",
        "store_failures",
        "unknown_outcomes",
        "verdicts",
    )

    def __init__(self, retries: Counter[str] | None = None) -> None:
        self.append_seconds = Histogram(SECONDS)
        self.batch_commands = Histogram(BATCH_SIZES)
        self.batch_events = Histogram(BATCH_SIZES)
        self.appends = 0
        self.boards_evicted = 0
        self.boards_loaded = 0
        self.cache_hits = 0
        self.cache_misses = 0
        self.commands = 0
        self.conflicts = 0
        self.events = 0
        self.failures = 0
        self.feed_lag_seconds = Histogram(LAGS)
        self.followers = 0
        self.foreign_events = 0
        self.live_boards = 0
        self.lock_commits = 0
        self.lock_seconds = Histogram(SECONDS)
        self.overtaken = 0
        self.rate_limited = 0
        self.reads = 0
        self.rejections: Counter[str] = Counter()
        self.replays = 0
        self.rereads = 0
        self.retries: Counter[str] = Counter() if retries is None else retries
        self.rows_fetched = 0
        self.signals: Counter[str] = Counter()
        self.snapshots = 0
        self.store_failures = 0
        self.unknown_outcomes = 0
        self.verdicts: Counter[str] = Counter()

    def committed(self, *, events: int, commands: int, seconds: float) -> None:
        """One commit is durable."""
        self.appends += 1
        self.events += events
        self.append_seconds.observe(seconds)
        self.batch_commands.observe(commands)
        self.batch_events.observe(events)
