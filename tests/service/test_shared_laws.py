"""What holds for servers that share one database, whatever happens when."""

import asyncio
import random
from typing import Any

import pytest

from blackboard.errors import BlackboardError
from blackboard.messages import commands as ask
from blackboard.messages.principal import Grants, Principal
from blackboard.service import Service
from tests.service.sharing import (
    Client,
    Database,
    Follower,
    Hints,
    any_way,
    closed,
    doubled,
    late,
    lost,
    prompt,
    shares,
)
from tests.service.support import (
    AUDITOR,
    BOARD,
    OPERATOR,
    agent,
    check_log,
    do,
    folded,
    key,
    live_bytes,
    settled,
    write,
)

RUNS = 8


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize("hints", [prompt, late, doubled, lost, any_way], ids=lambda one: one.__name__)
async def test_no_gap_no_double_nothing_lost_and_every_feed_sees_each_event_once(
    hints: Hints, seed: int
) -> None:
    database = Database(seed, hints=hints, steps=seed % 4, unknown=5 if seed % 3 == 0 else 0)
    services = await database.servers(3, poll_seconds=0.01, live_boards=1)
    clients = [Client(number, services, database.chance) for number in range(6)]
    followers = [Follower(service) for service in services]
    work = asyncio.gather(*(client.work() for client in clients))
    await asyncio.sleep(0.005)
    followers += [Follower(service, after=1) for service in services]
    await asyncio.wait_for(work, 30)
    await asyncio.gather(*(service.query(BOARD, AUDITOR, ask.GetBoard()) for service in services))

    log = database.logs[BOARD]
    check_log(log)
    for client in clients:
        for name, seq in client.told.items():
            row = log[seq - 1]
            assert (row.actor, row.command_id) == (client.who.actor, name)
    for follower in followers:
        assert await follower.reach(len(log)) == list(range(follower.after + 1, len(log) + 1))
        assert follower.rows == log[follower.after :]
    expected = folded(log)
    for service in services:
        assert await live_bytes(service) == expected
        assert service.metrics.failures == 0
    await closed(*services)


RULES = Principal(role="operator", name="ops", grants=Grants(records=["policy"]))


@pytest.mark.parametrize("seed", range(RUNS))
async def test_no_verdict_rests_on_a_board_that_another_server_has_moved_on(seed: int) -> None:
    """A rule that was acknowledged at one server before a call was checked at another one binds it."""
    database = Database(seed, hints=any_way, steps=seed % 4)
    services = await database.servers(3)
    chance = random.Random(seed)
    cap = 1000

    async def restless(service: Service, name: str) -> None:
        for number in range(20):
            await do(service, agent(name), write(f"{name}/{number}", 1))

    noise = asyncio.gather(*(restless(service, f"n{place}") for place, service in enumerate(services)))
    for number in range(15):
        cap -= chance.randint(1, 9)
        record = {
            "kind": "policy",
            "id": f"cap-{number}",
            "scope": "pay",
            "predicate": {"field": "amount", "op": "gt", "value": cap},
            "effect": "deny",
        }
        await do(chance.choice(services), RULES, ask.AddRecord(record=record))
        checks = [
            do(service, agent("a"), ask.Check(tool="pay", params={"amount": amount}))
            for service in services
            for amount in (cap, cap + 1)
        ]
        assert [reply.verdict for reply in await asyncio.gather(*checks)] == ["PASS", "BLOCK"] * 3
    await noise
    check_log(database.logs[BOARD])
    await closed(*services)


@pytest.mark.parametrize("hints", [prompt, lost], ids=lambda one: one.__name__)
async def test_four_servers_of_one_busy_board_are_served_alike(hints: Hints) -> None:
    database = Database(hints=hints)
    services = await database.servers(4)
    counts = await shares(services, 1.0)
    assert min(counts) * 2 >= max(counts), counts
    check_log(database.logs[BOARD])
    assert len(database.logs[BOARD]) == 1 + sum(counts)
    await closed(*services)


async def test_four_servers_of_many_boards_are_served_alike() -> None:
    database = Database(hints=prompt)
    services = await database.servers(4)
    counts = await shares(services, 1.0, boards=8)
    assert min(counts) * 2 >= max(counts), counts
    for log in database.logs.values():
        check_log(log)
    assert sum(len(log) for name, log in database.logs.items() if name != BOARD) == 8 + sum(counts)
    await closed(*services)


@pytest.mark.parametrize("seed", range(RUNS))
async def test_servers_that_stop_in_the_middle_lose_nothing_that_they_acknowledged(seed: int) -> None:
    """One of three closes under load; what it took is answered, and the others go on."""
    database = Database(seed, hints=any_way, steps=3)
    services = await database.servers(3)
    following = Follower(services[1])

    async def client(service: Service, name: str) -> list[Any]:
        return [
            outcome
            for number in range(20)
            for outcome in await settled(
                do(service, agent(name), write(f"{name}/{number}", 1), key(f"{number}"))
            )
        ]

    clients = [
        asyncio.create_task(client(service, f"s{place}-{number}"))
        for place, service in enumerate(services)
        for number in range(3)
    ]
    await asyncio.sleep(database.chance.random() * 0.01)
    await closed(services[0])
    outcomes = [outcome for found in await asyncio.gather(*clients) for outcome in found]
    log = database.logs[BOARD]
    check_log(log)
    acknowledged = sorted(reply.seq for reply in outcomes if not isinstance(reply, BlackboardError))
    assert acknowledged == list(range(2, len(log) + 1))
    assert {error.code for error in outcomes if isinstance(error, BlackboardError)} <= {"unavailable"}
    assert await following.reach(len(log)) == list(range(1, len(log) + 1))
    await closed(*services)


async def test_a_writer_that_conflicts_again_and_again_is_answered_in_bounded_time() -> None:
    """Servers that never lock keep a board moving; whoever locks it gets its turn all the same."""
    database = Database(hints=lost)
    services = await database.servers(3)
    stop = False

    async def storm(service: Service, name: str) -> None:
        number = 0
        while not stop:
            number += 1
            service._cache.get(BOARD).working._lock_until = 0.0
            await do(service, agent(name), write(f"{name}/{number}", 1))

    storms = [asyncio.create_task(storm(service, f"w{n}")) for n, service in enumerate(services[1:])]
    started = asyncio.get_running_loop().time()
    for number in range(20):
        await do(services[0], OPERATOR, ask.JoinAgent(agent=f"j{number}"))
    assert asyncio.get_running_loop().time() - started < 5
    stop = True
    await asyncio.gather(*storms)
    check_log(database.logs[BOARD])
    await closed(*services)
