"""A gated write through the embedded client, as an agent author makes it, against a bare durable insert.

The caller's loop is plain asyncio, which is what most agents run on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack

import blackboard
from benchmarks import rawlog
from benchmarks.figures import FULL, Figure, Target, rates
from benchmarks.harness import Clock, Sample, paired
from benchmarks.logs import BOARD, Spec, build
from benchmarks.run import Run, slices
from benchmarks.stores import settings
from benchmarks.writers import Next, Writers
from blackboard.client import Board

RAW = "raw sqlite3, one row a commit"
KEYS = 20
"""Keys of each agent."""


def embedded(run: Run) -> Iterator[Figure]:
    """One agent by itself, then several at once in one process."""
    yield _figure(run, 1, Target(0.5))
    for agents in run.sizes.clients[:2]:
        yield _figure(run, agents, None)


def _figure(run: Run, agents: int, target: Target | None) -> Figure:
    spec = Spec(0, KEYS * agents, agents)
    raw = rawlog.RawLog(run.fresh("raw"))
    count = run.sizes.singles
    rows = (row for built in build(Spec(count * (run.sizes.rounds + 1), 500, 4)) for row in built.rows)
    with asyncio.Runner() as loops:
        writing = Embedded(f"sqlite:///{run.fresh('embedded')}", spec)
        loops.run(writing.open())
        try:
            pairs = paired(
                lambda: loops.run(writing.write(count)),
                lambda: rawlog.singles(raw, slices(rows, count)),
                run.sizes.rounds,
            )
        finally:
            loops.run(writing.close())
            raw.close()
    who = "one agent" if agents == 1 else f"{agents} agents at once"
    return rates(
        f"embedded.{agents}",
        f"gated writes through the embedded client, {who}",
        "writes/s",
        pairs,
        durability=FULL,
        base_name=RAW,
        target=target,
    )


class Embedded:
    """Agents of one process on one database, in the caller's loop."""

    def __init__(self, url: str, spec: Spec, active: int | None = None) -> None:
        self._url = url
        self._writers = Writers(spec, active)
        self._stack = AsyncExitStack()
        self._boards: list[Board] = []

    async def open(self) -> None:
        for agent in self._writers.agents:
            connecting = blackboard.connect(self._url, board=BOARD, agent=agent, settings=settings(self._url))
            self._boards.append(await self._stack.enter_async_context(connecting))

    async def write(self, count: int) -> Sample:
        """About `count` writes in all; every agent waits for its answer before its next write."""
        share = -(-count // len(self._boards))
        todo = [[self._writers.next() for _ in self._boards] for _ in range(share)]
        with Clock() as clock:
            if len(self._boards) == 1:
                await self._agent(0, todo)
            else:
                await asyncio.gather(*(self._agent(index, todo) for index in range(len(self._boards))))
        return clock.sample(share * len(self._boards))

    async def _agent(self, index: int, todo: list[list[Next]]) -> None:
        board = self._boards[index]
        for turn in todo:
            one = turn[index]
            await board.write(one.key, one.value, revision=one.revision)

    async def close(self) -> None:
        await self._stack.aclose()
