"""Several servers on one database under one load, and who used how much of the machine's cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import Sample, median
from benchmarks.load import Follower, Outcome, Plan
from benchmarks.logs import agent_name
from benchmarks.machine import cores
from benchmarks.postgres import Cluster
from benchmarks.serving import Loaded, Server, agents, loading, serving

BUSY = 0.85
"""So much of a core, or of all, in use: then it is what limits, whoever else is idle."""


class Layout(NamedTuple):
    """Who goes where. Each of the boards has `clients` agents; `at` names the server of a board's agent.

    With `followers`, each board is followed so many times at the server after the one that writes it.
    """

    servers: int
    boards: Sequence[str]
    clients: int
    at: Callable[[int, int], int] = lambda board, _agent: board
    followers: int = 0
    flags: Sequence[str] = ()


class Turn(NamedTuple):
    """One turn: what came of it, and the CPU seconds of its servers and of the database."""

    outcome: Outcome
    servers: float
    postgres: float


class Deployment:
    """Servers that run, and their load."""

    def __init__(self, servers: Sequence[Server], load: Loaded, cluster: Cluster | None) -> None:
        self._servers = servers
        self._load = load
        self._cluster = cluster
        self.turns: list[Turn] = []

    def turn(self, seconds: float) -> Sample:
        """Everybody writes for so long. The CPU time is that of servers and database together."""
        before = self._cpu()
        outcome = self._load.turn(seconds)
        servers, postgres = (now - then for now, then in zip(self._cpu(), before, strict=True))
        self.turns.append(Turn(outcome, servers, postgres))
        return Sample(outcome.writes, outcome.seconds, servers + postgres)

    def _cpu(self) -> tuple[float, float]:
        return sum(server.cpu for server in self._servers), self._cluster.cpu if self._cluster else 0.0

    @property
    def counted(self) -> list[Turn]:
        """The turns without the first, which warms up."""
        return self.turns[1:]

    @property
    def fairness(self) -> list[float]:
        """Turn by turn, what the slowest server answered to what the fastest did."""
        served = [one.outcome.served.values() for one in self.counted]
        return [min(counts) / max(counts) for counts in served]

    def detail(self) -> dict[str, float | str]:
        """Latencies, and how many cores each part has used."""
        turns = self.counted
        spent = {
            "server_cores": median([one.servers / one.outcome.seconds for one in turns]),
            "postgres_cores": median([one.postgres / one.outcome.seconds for one in turns]),
            "load_cores": median([one.outcome.cpu / one.outcome.seconds for one in turns]),
        }
        return {
            "p50_ms": median([one.outcome.p50 for one in turns]) / 1e3,
            "p99_ms": median([one.outcome.p99 for one in turns]) / 1e3,
            **spent,
            "limit": _limit(spent["server_cores"] / len(self._servers), sum(spent.values())),
        }


@contextmanager
def deployed(
    place: Path, layout: Layout, url: str | None = None, cluster: Cluster | None = None
) -> Iterator[Deployment]:
    """The servers of `layout` with their load, connected. Without a URL: one server on an SQLite file."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(place.with_name(f"{place.name}.{index}"), url, *layout.flags))
            for index in range(layout.servers)
        ]
        yield stack.enter_context(loaded(servers, layout, cluster))


@contextmanager
def loaded(servers: Sequence[Server], layout: Layout, cluster: Cluster | None = None) -> Iterator[Deployment]:
    """Servers that run already, with a load of their own on boards that are new to them."""
    servers[0].open(*layout.boards)
    with loading(_plan(servers, layout)) as load:
        yield Deployment(servers, load, cluster)


def _plan(servers: Sequence[Server], layout: Layout) -> Plan:
    plan = Plan([])
    for place, board in enumerate(layout.boards):
        for one in range(layout.clients):
            server = servers[layout.at(place, one) % len(servers)]
            plan.agents += agents(server, board, [place * layout.clients + one])
        for one in range(layout.followers):
            server = servers[(layout.at(place, 0) + 1) % len(servers)]
            token = server.token(agent_name(one), "auditor")
            plan.followers.append(Follower(*server.address, board, token))
    return plan


def _limit(server: float, all_parts: float) -> str:
    """What limits, as far as the cores tell it that one server and all parts together have used."""
    there = cores()
    if all_parts >= BUSY * there:
        what = "the machine, no core is free"
    elif server >= BUSY:
        what = "the server's process, which uses one core"
    else:
        what = "no core: waiting for commits, or for each other"
    return f"{what} ({all_parts:.1f} of {there} cores used)"
