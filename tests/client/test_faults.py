"""A real server behind a network that fails: every command takes effect once, or says that it is unknown."""

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

import blackboard
from blackboard.client import Board
from blackboard.client.retry import RetryPolicy
from tests.client.live import LiveServer, serving
from tests.client.proxy import Fault, Proxy, proxying
from tests.client.support import QUICK, until

PATIENT = RetryPolicy(attempts=40, first=0.02, most=0.5)
_names = itertools.count()


@contextlib.asynccontextmanager
async def board_behind(
    server: LiveServer, *faults: Fault, forever: Fault = "none", retry: RetryPolicy = QUICK
) -> AsyncIterator[tuple[Board, Board, Proxy]]:
    """A fresh board: an agent's connection through a proxy that plays these faults, an operator's without."""
    name = f"faults-{next(_names)}"
    waiting = list(faults)
    async with (
        proxying(server.port, lambda: waiting.pop(0) if waiting else forever) as proxy,
        blackboard.connect(server.url, board=name, token=server.token) as operator,
    ):
        await operator.open_board()
        token = (await operator.create_token("agent", "a", boards=[name])).token
        async with blackboard.connect(proxy.url, board=name, token=token, retry=retry) as agent:
            yield agent, operator, proxy


async def kinds(board: Board) -> Counter[str]:
    return Counter([event.kind async for event in board.log()])


@pytest.mark.parametrize("fault", ["before", "after", "middle"])
async def test_a_command_whose_answer_was_lost_takes_effect_once(
    live_server: LiveServer, fault: Fault
) -> None:
    async with board_behind(live_server, fault, fault) as (agent, operator, proxy):
        ack = await agent.write("k", {"n": 1}, revision=1)
        assert proxy.faults == [fault, fault, "none"]
        assert (await operator.ledger()).entries[0].id == ack.entries[0].id == "entry:2"
        assert await kinds(operator) == {"board.opened": 1, "entry.written": 1}


@pytest.mark.parametrize("fault", ["before", "after", "middle"])
async def test_every_kind_of_command_is_safe_to_send_again(live_server: LiveServer, fault: Fault) -> None:
    async with board_behind(live_server, *[fault, "none"] * 6) as (agent, operator, _):
        await agent.write("k", {"status": "open"}, revision=1, turn=1)
        await agent.say("entry:2 is open", turn=1)
        await agent.end_turn(1)
        await agent.propose([blackboard.Write("k", 2, "done")])
        await agent.compacted(cause="summary")
        with pytest.raises(blackboard.RevalidationRequired) as caught:
            await agent.write("k", {"status": "done"}, revision=2)
        assert caught.value.seq == caught.value.head == agent.head == 7
        found = await kinds(operator)
        assert set(found.values()) == {1}
        assert found.keys() >= {"message.posted", "turn.ended", "write.proposed", "write.rejected"}


async def test_an_outcome_that_stays_unknown_is_answered_under_its_key(live_server: LiveServer) -> None:
    async with board_behind(live_server, forever="after") as (agent, operator, proxy):
        with pytest.raises(blackboard.OutcomeUnknown) as caught:
            await agent.write("k", 1, revision=1)
        assert proxy.faults == ["after"] * QUICK.attempts
        token = (await operator.create_token("agent", "a", boards=["faults-*"])).token
        async with blackboard.connect(live_server.url, board=agent.name, token=token) as direct:
            key = caught.value.members["idempotency_key"]
            ack = await direct.write("k", 1, revision=1, idempotency_key=key)
            assert (ack.replayed, ack.seq) == (True, 2)
            with pytest.raises(blackboard.IdempotencyKeyReused):
                await direct.write("k", 2, revision=1, idempotency_key=key)
        assert (await kinds(operator))["entry.written"] == 1


async def test_a_read_that_never_comes_back_is_unavailable(live_server: LiveServer) -> None:
    async with board_behind(live_server, forever="before") as (agent, _, proxy):
        with pytest.raises(blackboard.Unavailable) as caught:
            await agent.read("k")
        assert not isinstance(caught.value, blackboard.OutcomeUnknown)
        assert len(proxy.faults) == QUICK.attempts


async def test_notices_that_were_lost_with_their_answer_come_with_the_next(live_server: LiveServer) -> None:
    async with board_behind(live_server, "none", "after") as (agent, operator, _):
        await agent.write("k", 1, revision=1)
        await operator.compacted(agents=["b"])
        await agent.read("k")
        assert [notice.about for notice in agent.notices] == ["agent:b"]


async def test_through_a_storm_every_write_is_there_once(live_server: LiveServer) -> None:
    chance = random.Random(7)
    faults: list[Fault] = ["before", "after", "middle", "none", "none", "none"]
    storm: list[Fault] = [chance.choice(faults) for _ in range(1000)]
    async with board_behind(live_server, *storm, retry=PATIENT) as (agent, operator, proxy):

        async def work(name: str) -> None:
            for revision in range(1, 16):
                if revision > 1:
                    await agent.read(name)
                await agent.write(name, {"n": revision}, revision=revision)

        await asyncio.gather(*(work(f"k{number}") for number in range(6)))
        written = Counter([(event.key, event.revision) async for event in operator.log(kind="entry.written")])
        assert written == {(f"k{number}", revision): 1 for number in range(6) for revision in range(1, 16)}
        assert len(proxy.faults) > 200


async def test_a_feed_through_a_storm_tells_every_event_once(live_server: LiveServer) -> None:
    async with board_behind(live_server, retry=QUICK) as (agent, operator, proxy):
        seqs: list[int] = []

        async def follow() -> None:
            async for event in agent.follow():
                seqs.append(event.seq)
                if event.seq == 121:
                    return

        following = asyncio.create_task(follow())
        for number in range(120):
            await operator.join(f"agent-{number}", "x/")
            if number % 10 == 0:
                proxy.cut()
        await asyncio.wait_for(following, 30)
        assert seqs == list(range(1, 122))
        assert len(proxy.faults) > 5


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[LiveServer]:
    with serving(tmp_path) as server:
        yield server


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_work_goes_on_over_a_restart_of_the_server(own_server: LiveServer, how: str) -> None:
    async with board_behind(own_server, retry=PATIENT) as (agent, operator, _):
        acknowledged: list[int] = []
        followed: list[int] = []

        async def write() -> None:
            for revision in range(1, 401):
                await agent.read("k")
                ack = await agent.write("k", revision, revision=revision)
                acknowledged.append(ack.entries[0].revision)

        async def follow() -> None:
            async for event in operator.follow():
                followed.append(event.seq)
                if event.kind == "entry.written" and event.revision == 400:
                    return

        def reached(part: int) -> bool:
            return len(acknowledged) >= part or working.done()

        working = asyncio.gather(write(), follow())
        for part in (40, 160):
            await until(partial(reached, part))
            await asyncio.to_thread(getattr(own_server, how))
            await asyncio.to_thread(own_server.start)
        await asyncio.wait_for(working, 90)
        assert acknowledged == list(range(1, 401))
        assert followed == list(range(1, len(followed) + 1))
    async with blackboard.connect(own_server.url, board=agent.name, token=own_server.token) as fresh:
        revisions = [event.revision async for event in fresh.log(kind="entry.written")]
    assert revisions == list(range(1, 401))
