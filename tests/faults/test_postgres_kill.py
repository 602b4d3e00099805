"""`kill -9` under load, of one of two servers and of PostgreSQL itself: what was acknowledged stays, once.

What runs goes on; what was killed comes back and goes on; no command is lost, none is done twice; the feeds
of both servers tell every event once.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.faults.fleet import fleet_of
from tests.postgres.cluster import database_at, own_cluster

BOARDS = ["shared", "other"]
SERVER_KILLS = 10
DATABASE_KILLS = 20
PACE = 0.02
"""Seconds between two commands of a client: what starts again on two cores needs some of them."""
UNDER_LOAD = (0.05, 0.4)
"""Seconds under load before a kill, at least and at most."""


@pytest.mark.slow
async def test_postgres_ten_kills_of_one_of_two_servers_under_load_lose_nothing(
    tmp_path: Path, postgres_url: str
) -> None:
    dice = random.Random(10)
    async with fleet_of(tmp_path, postgres_url, 2) as fleet:
        await fleet.people(BOARDS, 4)
        await fleet.follow(BOARDS)
        fleet.work(PACE)
        await fleet.goes_on(*fleet.servers)
        for cycle in range(SERVER_KILLS):
            killed, other = fleet.servers if cycle % 2 else fleet.servers[::-1]
            await asyncio.sleep(dice.uniform(*UNDER_LOAD))
            await asyncio.to_thread(killed.kill)
            await fleet.goes_on(other)
            await asyncio.to_thread(killed.start)
            await fleet.goes_on(*fleet.servers)
        await fleet.rest()
        await fleet.told_whole()
        resent = sum(client.resent for client in fleet.clients)
        print(
            f"{SERVER_KILLS} kills, {fleet.acknowledged()} acknowledged commands, {resent} sent again, "
            f"{await fleet.check()} events"
        )
        assert resent >= SERVER_KILLS


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_postgres_itself_is_killed_and_restarted_twenty_times_under_load(tmp_path: Path) -> None:
    dice = random.Random(20)
    with own_cluster() as cluster:
        async with fleet_of(tmp_path, database_at(cluster), 2) as fleet:
            await fleet.people(BOARDS, 4)
            await fleet.follow(BOARDS)
            fleet.work(PACE)
            await fleet.goes_on(*fleet.servers)
            for _ in range(DATABASE_KILLS):
                await asyncio.sleep(dice.uniform(*UNDER_LOAD))
                await asyncio.to_thread(cluster.kill)
                await asyncio.to_thread(cluster.start)
                await fleet.goes_on(*fleet.servers)
            await fleet.rest()
            await fleet.told_whole()
            resent = sum(client.resent for client in fleet.clients)
            print(
                f"{DATABASE_KILLS} kills of PostgreSQL, {fleet.acknowledged()} acknowledged commands, "
                f"{resent} sent again, {await fleet.check()} events"
            )
            assert resent >= DATABASE_KILLS
