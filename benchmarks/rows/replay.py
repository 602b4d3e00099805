"""From the log to a board, against a bare scan of the same table that does nothing with what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import rawlog
from benchmarks.figures import READ, Figure, Target, rates
from benchmarks.harness import Clock, Sample, paired
from benchmarks.logs import BOARD, Spec
from benchmarks.run import Run
from benchmarks.stores import settings
from blackboard.store.folding import load
from blackboard.store.sqlite.opening import open_sqlite


def replay(run: Run) -> Iterator[Figure]:
    """Both rows, on a log of single writes."""
    spec = Spec(run.sizes.replayed, max(run.sizes.replayed // 40, 1), run.sizes.agents)
    path = run.file(spec)
    for name, what, verify, target in (
        ("replay.plain", "replay, digests trusted", False, 0.35),
        ("replay.verifying", "replay, every digest and the chain recomputed", True, 0.25),
    ):
        pairs = paired(
            lambda verify=verify: _replayed(run, path, verify=verify),
            lambda: rawlog.scan(path, BOARD),
            max(run.sizes.rounds // 2, 1),
        )
        yield rates(
            name,
            what,
            "events/s",
            pairs,
            durability=READ,
            base_name="raw sqlite3, bare scan",
            target=Target(target),
        )


def _replayed(run: Run, path: Path, *, verify: bool) -> Sample:
    return run.await_(_load(path, verify=verify))


async def _load(path: Path, *, verify: bool) -> Sample:
    store = await open_sqlite(path, settings(f"sqlite:///{path}"), read_only=True)
    try:
        with Clock() as clock:
            loaded = await load(_Bare(store), BOARD, None, verify=verify)
        assert loaded is not None
        assert loaded.replayed == loaded.tip.seq
        return clock.sample(loaded.replayed)
    finally:
        await store.close()


class _Bare:
    """A store without its snapshots, so that the whole log is replayed."""

    def __init__(self, store: object) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        return []
