"""A follower gets every row once, in order: what there is, then live; a slow one reads the table."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from blackboard.errors import BeyondHead, IntegrityFailure, Unavailable, UnknownBoard
from blackboard.events.envelope import Row
from blackboard.messages import commands as ask
from blackboard.messages.principal import Principal
from blackboard.service import CaughtUp, Service, feed
from tests.service.support import (
    AUDITOR,
    BOARD,
    LogStore,
    agent,
    codes,
    do,
    opened,
    service_over,
    settled,
    write,
)

A = agent("a")


async def seqs(service: Service, upto: int, after: int = 0, *, pause: float = 0) -> list[int]:
    """The seqs that a follower gets until it has got `upto`; checks that it hears when it has caught up."""
    found: list[int] = []
    async with aclosing(service.follow(BOARD, AUDITOR, after)) as rows:
        async for row in rows:
            if isinstance(row, CaughtUp):
                assert row.head == (found[-1] if found else after)
            else:
                found.append(row.seq)
                if pause:
                    await asyncio.sleep(pause)
            if found and found[-1] >= upto:
                return found
    return found


async def writes(service: Service, count: int, name: str = "a") -> None:
    for number in range(count):
        await do(service, agent(name), write(f"{name}/{number}", 1))


async def test_a_follower_gets_what_there_is_then_what_comes() -> None:
    service, _ = await opened()
    await writes(service, 3)
    following = asyncio.create_task(seqs(service, 7))
    await asyncio.sleep(0.01)
    await writes(service, 3, "b")
    assert await following == [1, 2, 3, 4, 5, 6, 7]


async def test_followers_that_come_and_go_under_load_see_no_gap_and_no_duplicate() -> None:
    service, _ = await opened()
    load = asyncio.gather(*(writes(service, 60, f"w{n}") for n in range(5)))
    following = []
    for number in range(10):
        following.append(asyncio.create_task(seqs(service, 301, after=number % 4)))
        await asyncio.sleep(0.001)
    await load
    for number, found in enumerate(await asyncio.gather(*following)):
        assert found == list(range(number % 4 + 1, 302))


async def test_a_follower_resumes_where_it_left_off() -> None:
    service, _ = await opened()
    load = asyncio.create_task(writes(service, 100))
    found: list[int] = []
    while len(found) < 101:
        found += (await seqs(service, min(101, len(found) + 7), after=len(found)))[:7]
    await load
    assert found == list(range(1, 102))


async def test_a_slow_follower_goes_back_to_the_table_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "RING_ROWS", 4)
    service, _ = await opened()
    slow = asyncio.create_task(seqs(service, 101, pause=0.001))
    await asyncio.sleep(0.005)
    await asyncio.wait_for(writes(service, 100), timeout=5)
    live = service._cache.get(BOARD)
    assert len(live.working.feed._ring) <= 8
    assert await slow == list(range(1, 102))
    assert service.metrics.overtaken > 0


async def test_caught_up_is_told_even_on_a_quiet_board() -> None:
    service, _ = await opened()
    async with aclosing(service.follow(BOARD, AUDITOR, after=1)) as rows:
        first = await anext(rows)
    assert isinstance(first, CaughtUp)
    assert first.head == 1
    assert repr(first) == "CaughtUp(head=1)"


async def test_rows_come_in_slices_for_those_who_want_them() -> None:
    service, _ = await opened()
    await asyncio.gather(*(do(service, A, write(f"k{n}", 1)) for n in range(10)))
    async with aclosing(service.follow_slices(BOARD, AUDITOR)) as slices:
        rows = await anext(slices)
        assert isinstance(rows, list)
        assert [row.seq for row in rows] == list(range(1, 12))
        assert isinstance(await anext(slices), CaughtUp)
        coming = asyncio.ensure_future(anext(slices))
        await asyncio.gather(*(do(service, A, write(f"l{n}", 1)) for n in range(10)))
        rows = await coming
        assert isinstance(rows, list)
        assert [row.seq for row in rows] == list(range(12, 22))


async def test_what_cannot_be_followed_is_refused_at_once() -> None:
    service, _ = await opened()

    async def first(board: str, who: Principal, after: int) -> Any:
        async with aclosing(service.follow(board, who, after)) as rows:
            return await anext(rows)

    with pytest.raises(BeyondHead, match="ends at 1"):
        await first(BOARD, AUDITOR, 2)
    with pytest.raises(UnknownBoard):
        await first("nowhere", AUDITOR, 0)
    with pytest.raises(UnknownBoard):
        await first(BOARD, Principal(role="auditor", name="kim", boards=("other",)), 0)
    assert service.metrics.followers == 0
    assert [live.name for live in service._cache.all()] == [BOARD]


async def test_a_feed_puts_nothing_in_a_view_and_nothing_in_the_log() -> None:
    service, store = await opened()
    await do(service, agent("b"), write("k", 1))
    assert await seqs(service, 2) == [1, 2]
    async with aclosing(service.follow(BOARD, A)) as rows:
        assert isinstance(await anext(rows), Row)
    assert codes(await settled(do(service, A, write("k", 2)))) == ["unseen-revision"]
    assert [row.kind for row in store.logs[BOARD]][2:] == ["write.rejected", "signal.raised"]


async def test_followers_are_bounded_in_number() -> None:
    service, _ = await opened(followers=1)
    async with aclosing(service.follow(BOARD, AUDITOR)) as rows:
        await anext(rows)
        other = service.follow(BOARD, AUDITOR)
        with pytest.raises(Unavailable, match="1 feeds are open"):
            await anext(other)
    assert await seqs(service, 1) == [1]


async def test_feeds_end_when_the_service_closes_with_everything_that_was_taken() -> None:
    service, store = await opened()
    found: list[int] = []

    async def follow() -> None:
        async with aclosing(service.follow(BOARD, AUDITOR)) as rows:
            found.extend([row.seq async for row in rows if isinstance(row, Row)])

    following = asyncio.create_task(follow())
    await asyncio.sleep(0.001)
    calls = [asyncio.create_task(do(service, A, write(f"k{n}", 1))) for n in range(50)]
    await asyncio.sleep(0)
    await service.close()
    await asyncio.wait_for(following, 5)
    assert found == list(range(1, len(store.logs[BOARD]) + 1))
    assert codes(await settled(*calls)) == ["ok"] * 50


async def test_a_cancelled_follower_leaves_the_others_alone() -> None:
    service, _ = await opened()
    leaving, staying = (asyncio.create_task(seqs(service, 3)) for _ in range(2))
    await asyncio.sleep(0.005)
    leaving.cancel()
    await settled(leaving)
    await writes(service, 2)
    assert await staying == [1, 2, 3]
    assert service.metrics.followers == 0


async def test_rows_missing_from_the_table_end_a_feed_with_an_integrity_failure() -> None:
    service, store = await opened()
    await writes(service, 3)

    class Holed(LogStore):
        async def rows(self, *args: Any, **more: Any) -> list[Row]:
            return []

    holed = Holed()
    holed.logs.update(store.logs)
    with pytest.raises(IntegrityFailure, match="nothing after 0"):
        await seqs(service_over(holed), 4)


def row(seq: int) -> Row:
    return Row(BOARD, seq, "turn.ended", 1, "agent:a", None, "c", None, None, None, 0, "{}", b"", b"", b"")


def test_the_ring_gives_only_rows_without_a_gap() -> None:
    ring = feed.Feed()
    ring.join()
    ring.publish([row(1), row(2)])
    assert [found.seq for found in ring.after(1) or ()] == [2]
    ring.advance(5)  # somebody else's rows, which are only in the table
    assert ring.after(2) is None
    ring.publish([row(6)])
    assert [found.seq for found in ring.after(5) or ()] == [6]
    assert ring.after(4) is None
    assert ring.after(6) == []
    ring.advance(3)
    assert ring.head == 6
    ring.publish([row(8)])
    assert ring.after(6) is None
    ring.leave()
    assert ring.after(7) is None


def test_a_board_that_nobody_follows_keeps_no_rows() -> None:
    quiet = feed.Feed()
    quiet.publish([row(1)])
    assert quiet._ring == []
    assert quiet.head == 1


async def test_the_service_counts_its_followers() -> None:
    service, _ = await opened()
    following = [asyncio.create_task(seqs(service, 2)) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert service.metrics.followers == 3
    await do(service, A, ask.Say(text="done"))
    await asyncio.gather(*following)
    assert service.metrics.followers == 0
