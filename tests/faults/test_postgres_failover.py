"""A failover under load: the primary is killed, a synchronous standby takes over, and nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.fleet import fleet_of
from tests.postgres.cluster import database_at, own_cluster
from tests.postgres.standby import STREAMED, both, standby_of

BOARDS = ["shared", "other"]
UNDER_LOAD = 0.5
"""Seconds under load before the primary is killed."""


@pytest.mark.slow
async def test_a_failover_to_a_synchronous_standby_of_postgres_under_load_loses_nothing(
    tmp_path: Path,
) -> None:
    """Its servers' URL names both machines, as the page on PostgreSQL says; the servers run on."""
    with own_cluster(STREAMED) as primary:
        name = database_at(primary).rpartition("/")[2]
        async with (
            standby_of(primary) as standby,
            fleet_of(tmp_path, both(primary, standby, name), 2) as fleet,
        ):
            await fleet.people(BOARDS, 3)
            await fleet.follow(BOARDS)
            fleet.work(0.02)
            await fleet.goes_on(*fleet.servers)
            await asyncio.sleep(UNDER_LOAD)
            await asyncio.to_thread(primary.kill)
            before = fleet.acknowledged()
            await asyncio.to_thread(standby.promote)
            await fleet.goes_on(*fleet.servers)
            await fleet.rest()
            await fleet.told_whole()
            events = await fleet.check()
            print(f"{before} acknowledged before, {fleet.acknowledged()} in all, {events} events")
            assert fleet.acknowledged() > before > 0
