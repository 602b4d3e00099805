"""On PostgreSQL: one server and several, the store alone, replay, and the first answer of a large board.

Every row has databases of its own on one server with everything at its defaults, which is durable. CPU times
have PostgreSQL's own in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from benchmarks import copying, rawpostgres
from benchmarks.deploying import Layout, deployed, loaded
from benchmarks.figures import READ, Figure, Target, rates
from benchmarks.harness import Sample, Side, paired
from benchmarks.logs import BOARD
from benchmarks.postgres import Cluster, cluster, finish
from benchmarks.rows import opening, replay, servers, storage
from benchmarks.rows.growth import large_spec, tails
from benchmarks.run import Run, runner, slices
from benchmarks.serving import Server, serving
from benchmarks.stores import settings
from blackboard.store import open_store

PAIRS = 6
"""At most: there are many rows here, and each has two sides at work."""

HANDS = {False: "in one transaction", True: "in one statement"}
RAW = "raw asyncpg, same table and indexes"


def postgres(run: Run) -> Iterator[Figure]:
    """All rows on PostgreSQL."""
    run = run.at_most(PAIRS)
    with cluster(run.place, run.postgres) as server:
        run.say(f"PostgreSQL {server.durability.version}, {server.durability}")
        yield from one_server(run, server)
        yield from servers.several(run, server)
        yield stored(run, server, run.sizes.singles // 2, 1, Target(0.6))
        yield stored(run, server, run.sizes.groups // 2 * storage.GROUP, storage.GROUP, Target(0.8))
        yield from replayed(run, server)
        yield from opened(run, server)


def with_cpu(server: Cluster, side: Side) -> Side:
    """The side, with PostgreSQL's CPU time in its samples."""

    def counted() -> Sample:
        before = server.cpu
        sample = side()
        return sample._replace(cpu=sample.cpu + server.cpu - before)

    return counted


def one_server(run: Run, server: Cluster) -> Iterator[Figure]:
    """One and the same server, beside what else somebody would take."""
    with server.database() as url, serving(run.place / "postgres.http", url) as ours:
        yield beside_sqlite(run, server, ours)
        for one_statement in HANDS:
            yield beside_hand(run, server, ours, one_statement=one_statement)


def beside_sqlite(run: Run, server: Cluster, serves: Server) -> Figure:
    """What the engine costs: the same server and load on either."""
    clients = run.sizes.clients[2]
    layout = Layout(1, [BOARD], clients)
    with (
        loaded([serves], layout, server) as ours,
        deployed(run.place / "postgres.sqlite", layout) as base,
    ):
        turn = run.sizes.turn
        pairs = paired(partial(ours.turn, turn), partial(base.turn, turn), run.sizes.rounds)
    figure = rates(
        f"postgres.http.{clients}",
        f"gated writes over HTTP, {clients} clients, one server on PostgreSQL",
        "writes/s",
        pairs,
        durability=str(server.durability),
        base_name="the same server on SQLite, synchronous=FULL",
        target=Target(0.8),
    )
    figure.detail = ours.detail()
    return figure


def beside_hand(run: Run, server: Cluster, serves: Server, *, one_statement: bool) -> Figure:
    """What the gate costs: the least board that somebody would write on asyncpg, as durable."""
    clients = run.sizes.clients[1]
    layout = Layout(1, [f"{BOARD}-hand-{one_statement:d}"], clients)
    with (
        server.database() as theirs,
        loaded([serves], layout, server) as ours,
        runner() as loops,
    ):
        hand = rawpostgres.Hand(theirs, clients, one_statement=one_statement)
        loops.run(hand.open())
        try:
            pairs = paired(
                partial(ours.turn, run.sizes.turn),
                with_cpu(server, lambda: loops.run(hand.write(run.sizes.turn))),
                run.sizes.rounds,
            )
        finally:
            loops.run(hand.close())
    figure = rates(
        f"postgres.http.{clients}" + (".statement" if one_statement else ""),
        f"gated writes over HTTP, {clients} clients, one server on PostgreSQL",
        "writes/s",
        pairs,
        durability=str(server.durability),
        base_name=f"{clients} asyncpg connections: UPDATE where the revision is the one read, "
        f"and a log row, {HANDS[one_statement]}",
        target=None if one_statement else Target(1.0),
    )
    figure.detail = ours.detail()
    return figure


def stored(run: Run, server: Cluster, count: int, size: int, target: Target) -> Figure:
    """Both sides append the rows of one log, `count` rows a turn, `size` a commit."""
    mine, theirs = itertools.tee(storage.ready(count * (run.sizes.rounds + 1)))
    with server.database() as url, server.database() as other, runner() as loops:
        store = loops.run(open_store(url, settings(url)))
        raw = loops.run(rawpostgres.RawTable.make(other))
        insert = raw.singles if size == 1 else partial(raw.groups, size=size)
        try:
            pairs = paired(
                with_cpu(server, lambda: loops.run(storage.append(store, slices(mine, count), size))),
                with_cpu(server, lambda: loops.run(insert(slices(theirs, count)))),
                run.sizes.rounds,
            )
        finally:
            loops.run(store.close())
            loops.run(raw.close())
    each = "one event a commit" if size == 1 else f"{size} events a commit"
    return rates(
        "postgres.storage.single" if size == 1 else f"postgres.storage.group{size}",
        f"store alone on PostgreSQL: {each}",
        "events/s",
        pairs,
        durability=str(server.durability),
        base_name=RAW if size == 1 else f"{RAW}, {size} a commit in one statement",
        target=target,
    )


def replayed(run: Run, server: Cluster) -> Iterator[Figure]:
    """The log that the rows `replay` fold, copied over."""
    path = run.file(replay.replayed_spec(run))
    with server.database() as url:
        finish(copying.copy_log(path, url))
        for name, how, verify, target in (
            ("plain", "digests trusted", False, 0.35),
            ("verifying", "every digest and the chain checked", True, 0.25),
        ):
            pairs = paired(
                with_cpu(server, partial(_loaded, run, url, verify=verify)),
                with_cpu(server, lambda: run.await_(rawpostgres.scan(url, BOARD))),
                run.sizes.rounds,
            )
            yield rates(
                f"postgres.replay.{name}",
                f"replay of {run.sizes.replayed:,} writes on PostgreSQL, {how}",
                "events/s",
                pairs,
                durability=READ,
                base_name="raw asyncpg, bare scan of the table",
                target=Target(target),
            )


def _loaded(run: Run, url: str, *, verify: bool) -> Sample:
    return run.await_(replay.load(url, verify=verify))


def opened(run: Run, server: Cluster) -> Iterator[Figure]:
    """The board that the rows `opening` open, copied over; the snapshots are taken on PostgreSQL."""
    spec = large_spec(run)
    path = run.file(spec, tails(run))
    with server.database() as url, server.database() as small:
        total = finish(copying.copy_log(path, url))
        mib = finish(copying.table_mib(url))
        mean, worst = tails(run)
        for name, tail, part in (("worst", worst, "the whole"), ("mean", mean, "half of the")):
            run.await_(copying.take_snapshot(url, total - tail))
            where = f"{tail:,} events back ({part} interval), on PostgreSQL"
            yield opening.figure(run, f"postgres.opening.{name}", url, small, mib, where)
