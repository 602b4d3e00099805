"""What `/metrics` exports: the service's counters and the requests by operation, in Prometheus' format.

Labels are closed sets (operations, statuses, rule codes, signal names): neither boards nor agents are
among them, so the number of series does not grow with what is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from blackboard.service import Histogram, Metrics
from blackboard.service.metrics import SECONDS

__all__ = ["CONTENT_TYPE", "Exporter", "RequestCounts"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_LEVELS: Final = {"followers", "live_boards"}
_HELP: Final = {
    "append_seconds": "Seconds that one commit took.",
    "appends": "Commits.",
    "batch_commands": "Commands in one commit.",
    "batch_events": "Events in one commit.",
    "boards_evicted": "Idle boards dropped from memory.",
    "boards_loaded": "Boards folded from snapshot and log.",
    "cache_hits": "Commands that found their board in memory.",
    "cache_misses": "Commands that had to load their board.",
    "commands": "Commands answered.",
    "conflicts": "Appends that another server's came before.",
    "events": "Events appended.",
    "failures": "Commands that failed because of a fault in the service.",
    "feed_lag_seconds": "Seconds from another server's event to the feeds of this one.",
    "followers": "Live feeds open now.",
    "foreign_events": "Events of other servers that boards in memory were moved on by.",
    "live_boards": "Boards in memory now.",
    "lock_commits": "Commits before which the board was locked, because other servers append to it.",
    "lock_seconds": "Seconds that a board's lock was waited for.",
    "overtaken": "Times that a follower went back to the table.",
    "rate_limited": "Refused writes that were not logged.",
    "reads": "Keys served by recorded reads.",
    "rejections": "Writes refused, by the first rule that they break.",
    "replays": "Commands answered from the log by their idempotency key.",
    "rereads": "Keys served that were owed to a demotion: what the protection costs.",
    "retries": "What the database had to be asked again, by SQLSTATE.",
    "rows_fetched": "Rows that decisions fetched from the log.",
    "signals": "Signals raised, by name.",
    "snapshots": "Snapshots taken.",
    "store_failures": "Commits that the store refused.",
    "unknown_outcomes": "Commits whose result the store could not tell.",
    "verdicts": "Actions checked, by verdict.",
}
_LABELS: Final = {"rejections": "code", "retries": "sqlstate", "signals": "signal", "verdicts": "verdict"}


class RequestCounts:
    """Requests by operation: how many with which status, and how long they took."""

    def __init__(self) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, Histogram] = {}

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.statuses[operation, status] += 1
        histogram = self.seconds.get(operation)
        if histogram is None:
            histogram = self.seconds[operation] = Histogram(SECONDS)
        histogram.observe(seconds)


class Exporter(Collector):
    """Turns the counts into Prometheus' text when they are asked for; until then they cost nothing."""

    def __init__(self, metrics: Metrics, requests: RequestCounts) -> None:
        self._metrics = metrics
        self._requests = requests
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)

    def text(self) -> bytes:
        """Everything, as it stands."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        yield from self._of_requests()
        for name in Metrics.__slots__:
            yield _family(name, getattr(self._metrics, name))

    def _of_requests(self) -> Iterator[Metric]:
        counted = CounterMetricFamily(
            "blackboard_http_requests",
            "Requests answered, by operation and status.",
            labels=["operation", "status"],
        )
        for (operation, status), count in self._requests.statuses.items():
            counted.add_metric([operation, str(status)], count)
        yield counted
        timed = HistogramMetricFamily(
            "blackboard_http_request_seconds",
            "Seconds from a request's headers to its answer.",
            labels=["operation"],
        )
        for operation, histogram in self._requests.seconds.items():
            timed.add_metric([operation], _buckets(histogram), histogram.total)
        yield timed


def _family(name: str, value: Histogram | Counter[str] | int) -> Metric:
    full, told = f"blackboard_{name}", _HELP.get(name, name)
    if isinstance(value, Histogram):
        return HistogramMetricFamily(full, told, buckets=_buckets(value), sum_value=value.total)
    if isinstance(value, Counter):
        counted = CounterMetricFamily(full, told, labels=[_LABELS.get(name, "name")])
        for label, count in value.items():
            counted.add_metric([label], count)
        return counted
    family = GaugeMetricFamily if name in _LEVELS else CounterMetricFamily
    return family(full, told, value=value)


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    reached, buckets = 0, []
    for bound, count in zip((*histogram.bounds, float("inf")), histogram.counts, strict=True):
        reached += count
        buckets.append(("+Inf" if bound == float("inf") else str(float(bound)), float(reached)))
    return buckets
