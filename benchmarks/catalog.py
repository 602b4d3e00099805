"""Every benchmark, one module a subject. `BENCHMARKS` is their order in the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.figures import Figure
from benchmarks.rows.actions import actions
from benchmarks.rows.embedded import embedded
from benchmarks.rows.growth import growth
from benchmarks.rows.http import http
from benchmarks.rows.memory import memory
from benchmarks.rows.opening import opening
from benchmarks.rows.postgres import postgres
from benchmarks.rows.replay import replay
from benchmarks.rows.storage import storage
from benchmarks.run import Run

Benchmark = Callable[[Run], Iterator[Figure]]

BENCHMARKS: dict[str, Benchmark] = {
    "storage": storage,
    "embedded": embedded,
    "http": http,
    "replay": replay,
    "growth": growth,
    "opening": opening,
    "memory": memory,
    "actions": actions,
    "postgres": postgres,
}
