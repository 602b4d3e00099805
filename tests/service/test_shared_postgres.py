"""The same on PostgreSQL: real locks, real hints, and connections that are really other ones."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from blackboard.config import Settings
from blackboard.errors import BlackboardError, IdempotencyKeyReused, IntegrityFailure, StoreBusy
from blackboard.events.envelope import Row
from blackboard.messages import commands as ask
from blackboard.service import Service
from blackboard.store import open_store
from tests.service.sharing import Client, Follower, closed, eventually, shares
from tests.service.support import (
    AUDITOR,
    BOARD,
    OPERATOR,
    agent,
    check_log,
    codes,
    do,
    folded,
    key,
    live_bytes,
    settled,
    write,
)

A, B = agent("a"), agent("b")
EACH_WAY = pytest.mark.parametrize(
    "settings", [{}, {"notify": False}, {"isolation": "serializable"}], ids=str
)


@asynccontextmanager
async def servers(url: str, count: int, **settings: Any) -> AsyncIterator[list[Service]]:
    """So many services, each over a store of its own, and the board opened by the first."""
    made = Settings(**{"poll_seconds": 0.05, "write_connections": 4, "read_connections": 4, **settings})
    stores = [await open_store(url, made) for _ in range(count)]
    services = [Service(store, made, auto_open=True) for store in stores]
    try:
        await do(services[0], OPERATOR, ask.OpenBoard())
        yield services
        await closed(*services)
    finally:
        for store in stores:
            await store.close()


async def log_of(service: Service, board: str = BOARD) -> list[Row]:
    return [row async for rows in service.store.scan(board) for row in rows]


@EACH_WAY
@pytest.mark.parametrize("seed", range(3))
async def test_postgres_no_gap_no_double_nothing_lost_and_every_feed_sees_each_event_once(
    postgres_url: str, seed: int, settings: dict[str, Any]
) -> None:
    async with servers(postgres_url, 3, live_boards=1, **settings) as services:
        clients = [Client(number, services, random.Random(seed * 100 + number)) for number in range(6)]
        followers = [Follower(service) for service in services]
        await asyncio.wait_for(asyncio.gather(*(client.work() for client in clients)), 60)
        await asyncio.gather(*(service.query(BOARD, AUDITOR, ask.GetBoard()) for service in services))
        log = await log_of(services[0])
        check_log(log)
        for client in clients:
            for name, seq in client.told.items():
                assert (log[seq - 1].actor, log[seq - 1].command_id) == (client.who.actor, name)
        for follower in followers:
            assert await follower.reach(len(log)) == list(range(1, len(log) + 1))
            assert follower.rows == log
        expected = folded(log)
        for service in services:
            assert await live_bytes(service) == expected
            assert (service.metrics.failures, service.metrics.store_failures) == (0, 0)


@EACH_WAY
async def test_postgres_four_servers_of_one_busy_board_are_served_alike(
    postgres_url: str, settings: dict[str, Any]
) -> None:
    async with servers(postgres_url, 4, **settings) as services:
        counts = await shares(services, 2.0)
        assert min(counts) * 2 >= max(counts), counts
        log = await log_of(services[0])
        check_log(log)
        assert len(log) == 1 + sum(counts)
        assert sum(service.metrics.lock_commits for service in services) > 10
        commits = sum(service.metrics.appends for service in services)
        print(f"{counts} commands of 4 servers in 2 s, in {commits} commits")


async def test_postgres_a_board_opened_by_two_servers_at_once_is_opened_by_one(postgres_url: str) -> None:
    async with servers(postgres_url, 2) as (first, second):
        for number in range(10):
            board = f"board-{number}"
            outcomes = await settled(
                do(first, OPERATOR, ask.OpenBoard(), board=board),
                do(second, A, write("k", 1), board=board),
                do(second, B, write("l", 1), board=board),
            )
            assert codes(outcomes) == ["ok"] * 3
            log = await log_of(first, board)
            check_log(log)
            assert [row.kind for row in log].count("board.opened") == 1
            assert sorted(row.key for row in log if row.key) == ["k", "l"]


async def test_postgres_a_key_retried_at_another_server_gives_the_first_outcome(postgres_url: str) -> None:
    async with servers(postgres_url, 2, notify=False) as (first, second):
        await second.query(BOARD, AUDITOR, ask.GetBoard())
        made = await do(first, A, write("k", 1), key("one"))
        again = await do(second, A, write("k", 1), key("one"))
        assert (again.seq, again.replayed) == (made.seq, True)
        with pytest.raises(IdempotencyKeyReused):
            await do(second, A, write("k", 1, "else"), key("one"))
        assert len(await log_of(first)) == 2


async def test_postgres_hints_wake_the_feeds_long_before_the_next_look(postgres_url: str) -> None:
    async with servers(postgres_url, 2, poll_seconds=60) as (first, second):
        await second.query(BOARD, AUDITOR, ask.GetBoard())
        following = Follower(second)
        await eventually(lambda: len(following.rows) == 1)
        await do(first, A, write("k", 1))
        await asyncio.sleep(0.1)  # what was appended before anybody listened is told to nobody
        await do(first, A, write("l", 1))
        assert await following.reach(3, within=5) == [1, 2, 3]
        lag = second.metrics.feed_lag_seconds
        assert 0 < lag.count <= 2
        conflicts = second.metrics.conflicts
        assert (await do(second, B, write("m", 1))).seq == 4
        assert second.metrics.conflicts == conflicts, "the hint made it catch up first"


async def test_postgres_without_hints_a_followed_board_is_looked_at_all_the_same(postgres_url: str) -> None:
    async with servers(postgres_url, 2, notify=False) as (first, second):
        await second.query(BOARD, AUDITOR, ask.GetBoard())
        following = Follower(second)
        for number in range(5):
            await do(first, A, write(f"k{number}", 1))
        assert await following.reach(6) == [1, 2, 3, 4, 5, 6]


@asynccontextmanager
async def held(url: str) -> AsyncIterator[None]:
    """Somebody keeps the board's row locked."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT 1 FROM boards WHERE id = $1 FOR UPDATE", BOARD)
            yield
    finally:
        await connection.close()


async def contended(first: Service, second: Service) -> None:
    """Have the second one meet an event of the first: from then on it locks the board."""
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))


async def test_postgres_a_lock_that_is_not_to_be_had_is_an_honest_answer_in_bounded_time(
    postgres_url: str,
) -> None:
    async with servers(postgres_url, 2, notify=False, conflict_seconds=0.2) as (first, second):
        await contended(first, second)
        for _ in range(6):  # more often than there are connections
            second._cache.get(BOARD).working.contended()
            async with held(postgres_url):
                outcomes = await settled(*(do(second, B, ask.Say(text="m")) for _ in range(3)))
                assert [type(outcome) for outcome in outcomes] == [StoreBusy] * 3
            assert (await do(second, A, ask.Say(text="goes on"))).seq
        log = await log_of(first)
        check_log(log)
        assert len(log) == 9


async def test_postgres_closing_while_a_board_is_locked_finishes_what_was_taken(postgres_url: str) -> None:
    async with servers(postgres_url, 2, notify=False) as (first, second):
        await contended(first, second)
        async with held(postgres_url):
            calls = [asyncio.create_task(do(second, B, write(f"m/{number}", 1))) for number in range(4)]
            await asyncio.sleep(0.05)
            calls[0].cancel()
            closing = asyncio.create_task(second.close())
            await asyncio.sleep(0.05)
            assert not closing.done()
        await asyncio.wait_for(closing, 10)
        await settled(*calls)
        assert [call.cancelled() for call in calls] == [True, False, False, False]
        log = await log_of(first)
        check_log(log)
        assert [row.key for row in log[3:]] == ["m/0", "m/1", "m/2", "m/3"], (
            "a caller's leaving stops nothing"
        )


async def test_postgres_a_log_put_back_is_noticed_and_its_feeds_end(postgres_url: str) -> None:
    async with servers(postgres_url, 2) as (first, second):
        for number in range(1, 6):
            await do(first, A, write("k", number))
        assert (await second.query(BOARD, AUDITOR, ask.GetBoard())).head == 6
        following = Follower(second)
        await eventually(lambda: len(following.rows) == 6)
        connection = await asyncpg.connect(postgres_url)
        await connection.execute("DELETE FROM events WHERE board = $1 AND seq > 3", BOARD)
        await connection.close()
        with pytest.raises(IntegrityFailure, match="put back to an earlier state"):
            await following.reach(99)
        for service in (first, second):
            ledger = await service.query(BOARD, AUDITOR, ask.GetLedger())
            assert [entry.revision for entry in ledger.entries] == [2]
            await do(service, A, ask.Say(text="goes on"))
        log = await log_of(first)
        check_log(log)
        assert len(log) == 5
        assert folded(log) == await live_bytes(first) == await live_bytes(second)


async def test_postgres_a_server_that_stops_in_the_middle_loses_nothing_that_it_acknowledged(
    postgres_url: str,
) -> None:
    async with servers(postgres_url, 3) as services:
        following = Follower(services[1])

        async def client(service: Service, name: str) -> list[Any]:
            calls = (do(service, agent(name), write(f"{name}/{n}", 1), key(f"{n}")) for n in range(15))
            return [outcome for call in calls for outcome in await settled(call)]

        clients = [
            asyncio.create_task(client(service, f"s{place}-{number}"))
            for place, service in enumerate(services)
            for number in range(3)
        ]
        await asyncio.sleep(0.1)
        await closed(services[0])
        outcomes = [outcome for found in await asyncio.gather(*clients) for outcome in found]
        log = await log_of(services[1])
        check_log(log)
        told = sorted(reply.seq for reply in outcomes if not isinstance(reply, BlackboardError))
        assert told == list(range(2, len(log) + 1))
        assert {error.code for error in outcomes if isinstance(error, BlackboardError)} <= {"unavailable"}
        assert await following.reach(len(log)) == list(range(1, len(log) + 1))
