"""From the log to a board, against a bare scan of the same table that does nothing with what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import rawlog
from benchmarks.figures import READ, Figure, Target, rates
from benchmarks.harness import Clock, Sample, paired
from benchmarks.logs import BOARD, Spec
from benchmarks.run import Run
from benchmarks.stores import settings
from blackboard.store import open_store


def replay(run: Run) -> Iterator[Figure]:
    """Both rows, on a log of single writes without a snapshot."""
    path = run.file(replayed_spec(run))
    yield _figure(run, path, "replay.plain", "digests trusted", verify=False, target=Target(0.35))
    yield _figure(
        run, path, "replay.verifying", "every digest and the chain checked", verify=True, target=Target(0.25)
    )


def replayed_spec(run: Run) -> Spec:
    """The log that is replayed."""
    return Spec(run.sizes.replayed, max(run.sizes.replayed // 40, 1), run.sizes.agents)


def _figure(run: Run, path: Path, name: str, how: str, *, verify: bool, target: Target) -> Figure:
    pairs = paired(
        lambda: run.await_(load(f"sqlite:///{path}", verify=verify)),
        partial(rawlog.scan, path, BOARD),
        run.sizes.rounds,
    )
    return rates(
        name,
        f"replay of {run.sizes.replayed:,} writes, {how}",
        "events/s",
        pairs,
        durability=READ,
        base_name="raw sqlite3, bare scan of the table",
        target=target,
    )


async def load(url: str, *, verify: bool) -> Sample:
    """Fold the whole log of a database."""
    store = await open_store(url, settings(url), read_only=True)
    try:
        with Clock() as clock:
            loaded = await store.load(BOARD, verify=verify)
        assert loaded is not None
        assert loaded.replayed == loaded.tip.seq
        return clock.sample(loaded.replayed)
    finally:
        await store.close()
