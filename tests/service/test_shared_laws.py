"""What holds for servers that share one database, whatever happens when."""

import asyncio
import random
from typing import Any

import pytest

from blackboard.errors import BlackboardError, OutcomeUnknown
from blackboard.messages import commands as ask
from blackboard.messages.principal import Grants, Principal
from blackboard.service import Service
from tests.service.sharing import (
    Database,
    Follower,
    Hints,
    any_way,
    closed,
    doubled,
    late,
    lost,
    prompt,
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
    read,
    settled,
    write,
)

RUNS = 12
EACH = 15


class Client:
    """One agent that speaks to any of the services, one command at a time, and knows what it was told."""

    def __init__(self, number: int, services: list[Service], chance: random.Random) -> None:
        self.who = agent(f"c{number}")
        self.services = services
        self.chance = chance
        self.told: dict[str, int] = {}
        self.sent: dict[str, ask.Command] = {}
        self.revisions: dict[str, int] = {}

    async def work(self) -> None:
        for number in range(EACH):
            await self.one(f"{self.who.name}-{number}")

    async def one(self, name: str) -> None:
        """Send a new command or an old one again, wherever it happens to go; sometimes without waiting."""
        service = self.chance.choice(self.services)
        dice = self.chance.random()
        if dice < 0.2 and self.told:
            await self.again(service)
        elif dice < 0.3:
            task = asyncio.create_task(do(service, self.who, ask.Say(text=name), key(name)))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        elif dice < 0.4:
            await do(service, self.who, read("k0", "k1"))
        else:
            await self.send(service, name, self.command())

    def command(self) -> ask.Command:
        if self.chance.random() < 0.3:
            return ask.Say(text=f"{self.chance.random()}")
        own = f"{self.who.name}/{self.chance.randrange(3)}"
        shared = f"k{self.chance.randrange(2)}"
        name = self.chance.choice((own, shared))
        self.revisions[name] = self.revisions.get(name, 0) + 1
        return write(name, self.revisions[name], self.chance.random())

    async def send(self, service: Service, name: str, command: ask.Command) -> None:
        self.sent[name] = command
        while True:
            try:
                reply = await do(service, self.who, command, key(name))
            except OutcomeUnknown:
                service = self.chance.choice(self.services)
            except BlackboardError as error:
                if error.seq is not None:
                    self.told[name] = error.seq
                return
            else:
                self.told[name] = reply.seq
                return

    async def again(self, service: Service) -> None:
        """The first outcome is given again, wherever it is asked for."""
        name, seq = self.chance.choice(sorted(self.told.items()))
        (outcome,) = await settled(do(service, self.who, self.sent[name], key(name)))
        if not isinstance(outcome, OutcomeUnknown):
            assert outcome.seq == seq, (name, outcome)


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


async def shares(services: list[Service], seconds: float, boards: int = 1) -> list[int]:
    """How many commands each service got committed in the time, from clients that never pause."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    counts = [0] * len(services)

    async def client(place: int, number: int) -> None:
        sent = 0
        while loop.time() < until:
            sent += 1
            board = f"{BOARD}-{number % boards}" if boards > 1 else BOARD
            await do(
                services[place],
                agent(f"s{place}-{number}"),
                write(f"{place}/{number}/{sent}", 1),
                board=board,
            )
            counts[place] += 1

    await asyncio.gather(*(client(place, number) for place in range(len(services)) for number in range(8)))
    return counts


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
