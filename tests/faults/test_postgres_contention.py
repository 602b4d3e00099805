"""Four servers and thirty-two clients on one PostgreSQL: nobody loses or starves, and feeds tell all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.fleet import Fleet, Follower, fleet_of, until

SERVERS = 4
CLIENTS = 8
BOARDS = [f"board-{number}" for number in range(50)]
SECONDS = 6.0


async def told_whole(followers: dict[str, list[Follower]], fleet: Fleet) -> None:
    """Every feed has reached the end of its board, and told each event once, in order."""
    for board, several in followers.items():
        async with fleet.operator(fleet.servers[0], board) as operator:
            head = (await operator.ledger()).head

        def all_there(several: list[Follower] = several, head: int = head) -> bool:
            return all(len(follower.seqs) >= head for follower in several)

        def why(board: str = board, several: list[Follower] = several, head: int = head) -> str:
            return f"{board} has {head} events, and its feeds told {[len(one.seqs) for one in several]}"

        await until(all_there, 20, why, [follower.task for follower in several])
        for follower in several:
            assert follower.seqs == list(range(1, head + 1))


@pytest.mark.slow
async def test_postgres_four_servers_with_eight_clients_each_share_one_board(
    tmp_path: Path, postgres_url: str
) -> None:
    async with fleet_of(tmp_path, postgres_url, SERVERS) as fleet:
        await fleet.people(["contended"], CLIENTS)
        followers = {"contended": [await fleet.follow(server, "contended") for server in fleet.servers]}
        fleet.work()
        await fleet.goes_on(*fleet.servers)
        before = [fleet.acknowledged(server) for server in fleet.servers]
        await asyncio.sleep(SECONDS)
        after = [fleet.acknowledged(server) for server in fleet.servers]
        await fleet.rest()
        shares = [end - begin for begin, end in zip(before, after, strict=True)]
        print(f"acknowledged by each server in {SECONDS} s: {shares}; {await fleet.check()} events in all")
        assert min(shares) * 2 >= max(shares), shares
        await told_whole(followers, fleet)


@pytest.mark.slow
async def test_postgres_four_servers_with_eight_clients_each_work_on_fifty_boards(
    tmp_path: Path, postgres_url: str
) -> None:
    async with fleet_of(tmp_path, postgres_url, SERVERS) as fleet:
        await fleet.people(BOARDS, CLIENTS, boards_each=5)
        followed = BOARDS[::10]
        followers = {
            board: [await fleet.follow(server, board) for server in fleet.servers] for board in followed
        }
        fleet.work()
        await fleet.goes_on(*fleet.servers)
        await asyncio.sleep(SECONDS)
        await fleet.rest()
        print(f"{fleet.acknowledged()} acknowledged commands; {await fleet.check()} events in all")
        await told_whole(followers, fleet)
