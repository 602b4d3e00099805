"""From the file to the first answer on a large board: a snapshot, and the tail after it.

Each open has a process of its own, which has opened a small board before: what is measured is the board,
not the imports (`process_s` has those, too). The file's pages are in the system's cache, having just been
written.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import msgspec

from benchmarks.figures import READ, Figure, Target
from benchmarks.harness import median, quartiles
from benchmarks.rows.growth import large_spec, tails
from benchmarks.run import Run
from benchmarks.serving import ROOT, environment
from benchmarks.stores import drop_newest_snapshot

PROBE = """
import asyncio, json, sys, time
import blackboard
from benchmarks.logs import BOARD
from benchmarks.stores import settings

async def opened(url, **who):
    begun = time.perf_counter()
    async with await blackboard.connect(url, board=BOARD, settings=settings(url), **who) as board:
        connected = time.perf_counter()
        head = (await board.get_board()).head if "auditor" in who else (await board.read("a")) and 1
        return {"connect": connected - begun, "open": time.perf_counter() - connected, "head": head}

async def main(small, large):
    first = await opened(small, agent="probe")
    found = await opened(large, auditor="probe")
    print(json.dumps(found | {"process": first["connect"] + first["open"]}))

asyncio.run(main(*json.load(sys.stdin)))
"""


class Opened(msgspec.Struct):
    """Seconds to connect, and from there to the first answer; the head that it told.

    `process` is what the first, small board took in the same process, imports and all.
    """

    connect: float
    open: float
    head: int
    process: float


def opening(run: Run) -> Iterator[Figure]:
    """With half a snapshot's interval behind the snapshot, which is the mean, and with all of it."""
    path = run.file(large_spec(run), tails(run))
    mean, worst = tails(run)
    url, mib = f"sqlite:///{path}", path.stat().st_size >> 20
    yield figure(
        run, "opening.mean", url, None, mib, f"{mean:,} events back (half of the interval between two)"
    )
    drop_newest_snapshot(path)
    yield figure(run, "opening.worst", url, None, mib, f"{worst:,} events back (the whole interval)")


def figure(run: Run, name: str, url: str, small: str | None, mib: int, where: str) -> Figure:
    """Open the board of `url` several times; `small` is where the small board is, None: in a fresh file."""
    spec = large_spec(run)
    times = max(run.sizes.rounds // 2, 1) + 1
    opened = [_open(small or f"sqlite:///{run.fresh('small')}", url) for _ in range(times)][1:]
    seconds = [one.connect + one.open for one in opened]
    low, high = quartiles(seconds)
    return Figure(
        name=name,
        what=f"cold open of {spec.writes:,} events, {spec.keys:,} keys, {spec.agents} agents; "
        f"snapshot {where}",
        unit="s",
        durability=READ,
        ours=median(seconds),
        low=low,
        high=high,
        target=Target(1.0, "at most", "ours"),
        rounds=len(opened),
        detail={
            "connect_s": median([one.connect for one in opened]),
            "open_s": median([one.open for one in opened]),
            "process_s": median([one.process for one in opened]),
            "file_mib": mib,
        },
    )


def _open(*urls: str) -> Opened:
    run = [sys.executable, "-c", PROBE]
    urls_told = msgspec.json.encode(urls).decode()
    done = subprocess.run(
        run,
        cwd=ROOT,
        env=environment(),
        input=urls_told,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the probe failed: {done.stderr}")
    return msgspec.json.decode(done.stdout, type=Opened)
