"""The store alone: sealed rows appended durably, one a commit and 64 a commit, against raw `sqlite3`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from benchmarks import logs, rawlog
from benchmarks.figures import FULL, Figure, Target, rates
from benchmarks.harness import Clock, Sample, paired
from benchmarks.run import Run, runner, slices
from benchmarks.stores import settings
from blackboard.events.envelope import Row
from blackboard.store import open_store
from blackboard.store.contract import Store

GROUP = 64
RAW = "raw sqlite3, same table and indexes"


def storage(run: Run) -> Iterator[Figure]:
    """Both rows."""
    yield single(run)
    yield grouped(run)


def single(run: Run) -> Figure:
    pairs = _pairs(run, run.sizes.singles, 1)
    return rates(
        "storage.single",
        "store alone: one event a commit",
        "events/s",
        pairs,
        durability=FULL,
        base_name=RAW,
        target=Target(0.6),
    )


def grouped(run: Run) -> Figure:
    pairs = _pairs(run, run.sizes.groups * GROUP, GROUP)
    return rates(
        "storage.group64",
        f"store alone: {GROUP} events a commit",
        "events/s",
        pairs,
        durability=FULL,
        base_name=f"{RAW}, {GROUP} a commit",
        target=Target(0.8),
    )


def _pairs(run: Run, count: int, size: int):
    """Both sides append the rows of one log, each side its own copy, `count` rows a turn."""
    total = count * (run.sizes.rounds + 1)
    mine, theirs = itertools.tee(ready(total))
    url = f"sqlite:///{run.fresh('store')}"
    raw = rawlog.RawLog(run.fresh("raw"))
    with runner() as loops:
        store = loops.run(open_store(url, settings(url)))
        try:
            return paired(
                lambda: loops.run(append(store, slices(mine, count), size)),
                lambda: _raw(raw, slices(theirs, count), size),
                run.sizes.rounds,
            )
        finally:
            loops.run(store.close())
            raw.close()


def ready(total: int) -> Iterator[Row]:
    """Rows that continue each other from the first on."""
    spec = logs.Spec(total, min(total, 500), 4)
    return (row for built in logs.build(spec) for row in built.rows)


async def append(store: Store, rows: Sequence[Row], size: int) -> Sample:
    """The rows, `size` in a commit."""
    batches = [rows[at : at + size] for at in range(0, len(rows), size)]
    with Clock() as clock:
        for batch in batches:
            await store.append(batch)
    return clock.sample(len(rows))


def _raw(log: rawlog.RawLog, rows: Sequence[Row], size: int) -> Sample:
    return rawlog.singles(log, rows) if size == 1 else rawlog.groups(log, rows, size)
