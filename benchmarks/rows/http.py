"""Gated writes over HTTP: a `blackboard serve` process, a load in another, raw `sqlite3` in turn with them.

While the raw side has its turn the server is idle, and the other way round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import blackboard
from benchmarks import rawlog
from benchmarks.figures import FULL, Figure, Target, rates
from benchmarks.harness import Clock, Sample, median, paired
from benchmarks.load import Outcome, Plan
from benchmarks.logs import BOARD, Spec, agent_name, build, value
from benchmarks.run import Run, runner, slices
from benchmarks.serving import Server, agents, loading, serving
from blackboard.client import Board

RAW = "raw sqlite3, one row a commit"
BATCH = 16


def http(run: Run) -> Iterator[Figure]:
    """Every row has a server and a database of its own."""
    few, some, many = run.sizes.clients
    yield _figure(run, f"http.{some}", some, 1, Target(1.5))
    yield _figure(run, f"http.{many}", many, 1, Target(10_000, of="ours"))
    yield _figure(run, f"http.{few}x{BATCH}", few, BATCH, Target(40_000, of="ours"))
    yield _library(run, some)


def _figure(run: Run, name: str, clients: int, batch: int, target: Target) -> Figure:
    outcomes: list[Outcome] = []
    with serving(run.place / name) as server:
        server.open(BOARD)
        with loading(Plan(agents(server, BOARD, range(clients), batch))) as load:

            def ours() -> Sample:
                before = server.cpu
                outcome = load.turn(run.sizes.turn)
                outcomes.append(outcome)
                return Sample(outcome.writes, outcome.seconds, server.cpu - before)

            pairs = _against_raw(run, ours)
    each = f"batches of {batch}" if batch > 1 else "single writes"
    figure = rates(
        name,
        f"gated writes over HTTP, {clients} clients, {each}",
        "writes/s",
        pairs,
        durability=FULL,
        base_name=RAW,
        target=target,
    )
    counted = outcomes[1:]
    figure.detail = {
        "p50_ms": median([one.p50 for one in counted]) / 1e3,
        "p99_ms": median([one.p99 for one in counted]) / 1e3,
        "server_cores": median([one.cpu / one.seconds for one in pairs.ours]),
        "load_cores": median([one.cpu / one.seconds for one in counted]),
        "requests_per_s": median([one.requests / one.seconds for one in counted]),
    }
    return figure


def _against_raw(run: Run, ours):
    raw = rawlog.RawLog(run.fresh("raw"))
    count = run.sizes.singles
    spec = Spec(count * (run.sizes.rounds + 1), 500, 4)
    rows = (row for built in build(spec) for row in built.rows)
    try:
        return paired(ours, lambda: rawlog.singles(raw, slices(rows, count)), run.sizes.rounds)
    finally:
        raw.close()


def _library(run: Run, clients: int) -> Figure:
    """The same through the client library, whose agents share this process."""
    with serving(run.place / "http.library") as server, runner() as loops:
        server.open(BOARD)
        writing = Agents(server, clients)
        loops.run(writing.open())
        try:
            pairs = _against_raw(run, lambda: loops.run(writing.write(run.sizes.turn)))
        finally:
            loops.run(writing.close())
    return rates(
        f"http.library.{clients}",
        f"gated writes through the client library over HTTP, {clients} agents in one process",
        "writes/s",
        pairs,
        durability=FULL,
        base_name=RAW,
        target=None,
    )


class Agents:
    """Agents of the client library, each with a connection of its own."""

    def __init__(self, server: Server, clients: int) -> None:
        self._server = server
        self._boards: list[Board] = []
        self._clients = clients
        self._revisions = [0] * clients

    async def open(self) -> None:
        for index in range(self._clients):
            token = self._server.token(agent_name(index))
            self._boards.append(await blackboard.connect(self._server.url, board=BOARD, token=token))

    async def write(self, seconds: float) -> Sample:
        """Everybody writes, one request at a time, for so long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        with Clock() as clock:
            counts = await asyncio.gather(*(self._agent(index, until) for index in range(self._clients)))
        return clock.sample(sum(counts))

    async def _agent(self, index: int, until: float) -> int:
        board, done, loop = self._boards[index], 0, asyncio.get_running_loop()
        while loop.time() < until:
            self._revisions[index] += 1
            revision = self._revisions[index]
            await board.write(f"task/{index:03d}", value(revision), revision=revision)
            done += 1
        return done

    async def close(self) -> None:
        for board in self._boards:
            await board.close()
