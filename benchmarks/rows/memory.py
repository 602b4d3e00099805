"""What a board holds in memory. Each figure comes from a process of its own (`footprint`)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import msgspec

from benchmarks.figures import MEMORY, Figure, Target
from benchmarks.run import Run
from benchmarks.serving import ROOT, environment

MEGABYTE = 1_000_000
PROBE_SECONDS = 600


def memory(run: Run) -> Iterator[Figure]:
    """Entries, views, and boards that nobody uses."""
    sizes = run.sizes
    count = sizes.entries
    yield _entry(
        "memory.entry", f"a live entry, its writer's view included ({count:,} entries)", "entries", count
    )
    yield _entry("memory.restored", "the same, restored from a snapshot", "restored", count)
    what = f"{sizes.agents} agents' views on {sizes.keys:,} entries"
    yield _views("memory.views", f"{what}, each read in full", "views", run, Target(100, "at most", "ours"))
    yield _views("memory.single-reads", f"{what}, each key read by its name", "single-reads", run, None)
    yield _idle(run)


def _entry(name: str, what: str, probe: str, count: int) -> Figure:
    found = _probe(probe, count)
    return _figure(name, what, "bytes", found.pop("bytes"), Target(700, "at most", "ours"), found)


def _views(name: str, what: str, probe: str, run: Run, target: Target | None) -> Figure:
    found = _probe(probe, run.sizes.keys, run.sizes.agents)
    return _figure(name, what, "MB", found["bytes"] / MEGABYTE, target, {})


def _idle(run: Run) -> Figure:
    found = _probe("idle", run.sizes.boards)
    detail = {
        "boards": found["held"],
        "first_mb": found["bytes"] / MEGABYTE,
        "again_mb": found["again"] / MEGABYTE,
    }
    what = f"boards in memory of {run.sizes.boards} that have been idle"
    return _figure("memory.idle", what, "boards", found["left"], Target(0, "at most", "ours"), detail)


def _figure(name: str, what: str, unit: str, ours: float, target: Target | None, detail: dict) -> Figure:
    return Figure(name=name, what=what, unit=unit, durability=MEMORY, ours=ours, target=target, detail=detail)


def _probe(what: str, *numbers: int) -> dict[str, float]:
    run = [sys.executable, "-m", "benchmarks.footprint", what, *map(str, numbers)]
    done = subprocess.run(
        run, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=PROBE_SECONDS
    )
    if done.returncode != 0:
        raise RuntimeError(f"the probe {what} failed: {done.stderr}")
    found: dict[str, float] = msgspec.json.decode(done.stdout)
    return found
