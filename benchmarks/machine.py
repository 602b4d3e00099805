"""The facts without which a figure says nothing: cores, versions, and where the files lie."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

VOLATILE = {"tmpfs", "ramfs", "devtmpfs"}
"""File systems on which a commit is no commit."""


def facts(place: Path) -> dict[str, str | int | float]:
    """What is worth knowing about this machine, as it is now."""
    return {
        "cores": cores(),
        "processor": processor(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "file_system": file_system(place),
        "fsync_us": round(fsync_us(place)),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else -1,
    }


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The processor's name, where the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def file_system(place: Path) -> str:
    """The type of the file system that holds `place`."""
    best, kind = "", "unknown"
    with contextlib.suppress(OSError):
        for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
            _, point, found, *_ = line.split()
            if str(place.resolve()).startswith(point) and len(point) > len(best):
                best, kind = point, found
    return kind


def fsync_us(place: Path, times: int = 64) -> float:
    """How long this disk takes to make 4 KiB durable, in microseconds (median)."""
    taken = []
    with tempfile.TemporaryFile(dir=place) as file:
        for _ in range(times):
            file.write(bytes(4096))
            file.flush()
            begun = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6


@contextlib.contextmanager
def workplace(wanted: Path | None = None) -> Iterator[Path]:
    """A directory of our own on a real disk, gone afterwards.

    Without a wish it is where temporary files go, and where that is memory, the current directory.
    """
    parent = wanted if wanted is not None else Path(tempfile.gettempdir())
    if wanted is None and file_system(parent) in VOLATILE:
        parent = Path.cwd()
    if file_system(parent) in VOLATILE:
        sys.stderr.write(f"bench: {parent} is in memory; durable figures mean nothing there (--dir)\n")
    with tempfile.TemporaryDirectory(prefix="blackboard-bench-", dir=parent) as name:
        yield Path(name)


def resident_bytes() -> int:
    """What this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds_of(pid: int, *, ended_children: bool = False) -> float:
    """The CPU time that a process has used, all its threads together; on demand with its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    used = fields[11:15] if ended_children else fields[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that a process has started and that live."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
