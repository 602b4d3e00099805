"""Several servers on one PostgreSQL: many boards, one hot board, and what it costs to tell each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.deploying import Deployment, Layout, deployed
from benchmarks.figures import Figure, Target, rates
from benchmarks.harness import Paired, median, paired, quartiles
from benchmarks.logs import BOARD
from benchmarks.postgres import Cluster
from benchmarks.run import Run

AGENTS = 2
"""That write to each of many boards."""

PER_SERVER = 8
"""Clients of each server on the hot board."""

FOLLOWED = 4
FOLLOWERS = 2


def several(run: Run, server: Cluster) -> Iterator[Figure]:
    """All rows with several servers."""
    yield many_boards(run, server)
    yield told(run, server)
    for count in sorted({2, run.sizes.servers}):
        yield from hot(run, server, count)


def many_boards(run: Run, server: Cluster) -> Figure:
    """Each board's agents at the server that a load balancer would choose by the board's name."""
    count, shared = run.sizes.servers, names(run.sizes.shared)
    ours, _, pairs = _pair(run, server, "many", Layout(count, shared, AGENTS), Layout(1, shared, AGENTS))
    figure = rates(
        f"postgres.servers.{count}x{len(shared)}",
        f"gated writes over HTTP, {AGENTS * len(shared)} clients on {len(shared)} boards, {count} servers",
        "writes/s",
        pairs,
        durability=str(server.durability),
        base_name="one server",
        target=None,
    )
    figure.detail = ours.detail()
    return figure


def told(run: Run, server: Cluster) -> Figure:
    """Two servers, each board followed at the one that does not write it: hints against polling."""
    clients = max(run.sizes.clients[1] // FOLLOWED, 1)
    layout = Layout(2, names(FOLLOWED), clients, followers=FOLLOWERS)
    ours, base, pairs = _pair(run, server, "notify", layout, layout._replace(flags=["--no-notify"]))
    figure = rates(
        "postgres.notify",
        f"gated writes over HTTP, {clients * FOLLOWED} clients on {FOLLOWED} boards, 2 servers, "
        f"{FOLLOWERS} followers a board at the other one; notify on",
        "writes/s",
        pairs,
        durability=str(server.durability),
        base_name="notify off",
        target=Target(0.9),
    )
    lags = {f"lag_{which}_ms": _lag(side) for which, side in (("on", ours), ("off", base))}
    figure.detail = ours.detail() | {"followed_per_s": _followed(ours), **lags}
    return figure


def hot(run: Run, server: Cluster, count: int) -> Iterator[Figure]:
    """Everybody on one board, spread over the servers; then how fair it was."""
    layout = Layout(count, [BOARD], PER_SERVER * count, at=lambda _board, agent: agent)
    ours, _, pairs = _pair(run, server, f"hot.{count}", layout, layout._replace(servers=1))
    what = f"one board shared by {count} servers, {PER_SERVER} clients each"
    figure = rates(
        f"postgres.hot.{count}",
        f"gated writes over HTTP, {what}",
        "writes/s",
        pairs,
        durability=str(server.durability),
        base_name="as many clients at one server",
        target=None,
    )
    figure.detail = ours.detail()
    yield figure
    low, high = quartiles(ours.fairness)
    yield Figure(
        name=f"postgres.hot.{count}.fair",
        what=f"{what}: answers of the slowest server to those of the fastest, a turn of {run.sizes.turn:g} s",
        unit="of 1",
        durability=str(server.durability),
        ours=median(ours.fairness),
        low=low,
        high=high,
        target=Target(0.5, of="ours"),
        rounds=len(ours.fairness),
    )


def _pair(
    run: Run, server: Cluster, name: str, ours: Layout, base: Layout
) -> tuple[Deployment, Deployment, Paired]:
    """Both deployments, each on a database of its own, in turn."""
    with (
        server.database() as url,
        server.database() as other,
        deployed(run.place / f"postgres.{name}.ours", ours, url, server) as mine,
        deployed(run.place / f"postgres.{name}.base", base, other, server) as theirs,
    ):
        pairs = paired(
            partial(mine.turn, run.sizes.turn), partial(theirs.turn, run.sizes.turn), run.sizes.rounds
        )
    return mine, theirs, pairs


def names(count: int) -> Sequence[str]:
    """The names of so many boards."""
    return [f"{BOARD}-{index:02d}" for index in range(count)]


def _lag(side: Deployment) -> float:
    return median([one.outcome.lag for one in side.counted]) / 1e3


def _followed(side: Deployment) -> float:
    return median([one.outcome.followed / one.outcome.seconds for one in side.counted])
