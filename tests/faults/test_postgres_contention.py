"""Four servers and thirty-two clients on one PostgreSQL: nobody loses or starves, and feeds tell all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.fleet import fleet_of

SERVERS = 4
CLIENTS = 8
BOARDS = [f"board-{number}" for number in range(50)]
SECONDS = 6.0


@pytest.mark.slow
async def test_postgres_four_servers_with_eight_clients_each_share_one_board(
    tmp_path: Path, postgres_url: str
) -> None:
    async with fleet_of(tmp_path, postgres_url, SERVERS) as fleet:
        await fleet.people(["contended"], CLIENTS)
        await fleet.follow(["contended"])
        fleet.work()
        await fleet.goes_on(*fleet.servers)
        before = [fleet.acknowledged(server) for server in fleet.servers]
        await asyncio.sleep(SECONDS)
        after = [fleet.acknowledged(server) for server in fleet.servers]
        await fleet.rest()
        shares = [end - begin for begin, end in zip(before, after, strict=True)]
        print(f"acknowledged by each server in {SECONDS} s: {shares}; {await fleet.check()} events in all")
        assert min(shares) * 2 >= max(shares), shares
        await fleet.told_whole()


@pytest.mark.slow
async def test_postgres_two_servers_share_one_board_where_everything_is_serializable(
    tmp_path: Path, postgres_url: str
) -> None:
    async with fleet_of(tmp_path, postgres_url, 2, "--isolation", "serializable") as fleet:
        await fleet.people(["contended"], CLIENTS)
        await fleet.follow(["contended"])
        fleet.work()
        await fleet.goes_on(*fleet.servers)
        await asyncio.sleep(SECONDS / 3)
        await fleet.goes_on(*fleet.servers)
        await fleet.rest()
        print(f"{fleet.acknowledged()} acknowledged commands; {await fleet.check()} events in all")
        await fleet.told_whole()


@pytest.mark.slow
async def test_postgres_four_servers_with_eight_clients_each_work_on_fifty_boards(
    tmp_path: Path, postgres_url: str
) -> None:
    async with fleet_of(tmp_path, postgres_url, SERVERS) as fleet:
        await fleet.people(BOARDS, CLIENTS, boards_each=5)
        await fleet.follow(BOARDS[::10])
        fleet.work()
        await fleet.goes_on(*fleet.servers)
        await asyncio.sleep(SECONDS)
        await fleet.rest()
        print(f"{fleet.acknowledged()} acknowledged commands; {await fleet.check()} events in all")
        await fleet.told_whole()
