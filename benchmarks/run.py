"""One run: how much is measured, where its files lie, and the large boards that several rows share."""

from __future__ import annotations

import asyncio
import copy
import itertools
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.logs import Spec
from benchmarks.sizes import Sizes
from benchmarks.stores import make_file

T = TypeVar("T")


class Run:
    """What every benchmark gets. `place` is a directory on a real disk that the run removes; `postgres` the
    URL of a PostgreSQL to use, where one is given.
    """

    def __init__(
        self, sizes: Sizes, place: Path, *, postgres: str | None = None, quiet: bool = False
    ) -> None:
        self.sizes = sizes
        self.place = place
        self.postgres = postgres
        self._quiet = quiet
        self._numbers = itertools.count(1)
        self._files: dict[Spec, Path] = {}

    def at_most(self, rounds: int) -> Run:
        """The same run with so many rounds at most."""
        fewer = copy.copy(self)
        fewer.sizes = self.sizes._replace(rounds=min(self.sizes.rounds, rounds))
        return fewer

    def fresh(self, name: str) -> Path:
        """A path that nobody has used."""
        return self.place / f"{name}-{next(self._numbers)}.db"

    def say(self, text: str) -> None:
        """Tell how far it is."""
        if not self._quiet:
            sys.stderr.write(f"bench: {text}\n")
            sys.stderr.flush()

    def file(self, spec: Spec, tails: Sequence[int] = ()) -> Path:
        """A database with the log of `spec`, and for each tail a snapshot so many events before its end.

        Made when it is first asked for. Whoever appends to it must be the last to use it.
        """
        if spec not in self._files:
            path = self.fresh("log")
            begun = time.perf_counter()
            self.say(f"building a log: {spec.writes:,} writes of {spec.keys:,} keys by {spec.agents} ...")
            self.await_(make_file(path, spec, tails))
            self.say(f"built in {time.perf_counter() - begun:.0f} s, {path.stat().st_size >> 20} MiB")
            self._files[spec] = path
        return self._files[spec]

    def await_(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` to its end on a loop of the kind that the service runs on."""
        with runner() as loops:
            return loops.run(work)


def runner() -> asyncio.Runner:
    """A runner for a loop of the kind that the service runs on."""
    return asyncio.Runner(loop_factory=_loop_factory())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # absent on some platforms
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def slices(rows: Iterator[T], size: int) -> list[T]:
    """The next `size` of them."""
    return list(itertools.islice(rows, size))
