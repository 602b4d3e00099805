"""Live boards are a bounded cache: what is evicted comes back as it was."""

import asyncio
from contextlib import aclosing

import pytest

from blackboard.errors import BeyondHead, Malformed, NotAllowed, RateLimited, UnknownAgent, UnknownBoard
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.principal import Principal
from blackboard.service import queries
from blackboard.service.limiter import ACTORS_REMEMBERED, RejectionLimiter
from tests.service.support import (
    AUDITOR,
    BOARD,
    OPERATOR,
    LogStore,
    agent,
    codes,
    do,
    folded,
    key,
    live_bytes,
    opened,
    read,
    service_over,
    settled,
    write,
)

A, B = agent("a"), agent("b")


# -- cache


async def test_the_least_recently_used_board_goes_and_comes_back_as_it_was() -> None:
    store = LogStore()
    service = service_over(store, live_boards=2)
    for name in ("one", "two", "three", "four"):
        await do(service, A, write("k", 1), board=name)
    assert [live.name for live in service._cache.all()] == ["three", "four"]
    assert service.metrics.boards_evicted == 2
    assert service.metrics.live_boards == 2
    # What an agent holds has survived: it may go on without reading again.
    assert (await do(service, A, write("k", 2), board="one")).entries[0].revision == 2
    assert folded(store.logs["one"]) == await live_bytes(service, "one")


async def test_boards_at_work_and_boards_that_are_followed_stay() -> None:
    store = LogStore()
    service = service_over(store, live_boards=1)
    await do(service, A, write("k", 1))
    async with aclosing(service.follow(BOARD, AUDITOR)) as rows:
        await anext(rows)
        await asyncio.gather(*(do(service, A, write("k", 1), board=f"b{n}") for n in range(5)))
        assert BOARD in [live.name for live in service._cache.all()]
    await do(service, A, write("k", 1), board="last")
    assert [live.name for live in service._cache.all()] == ["last"]


async def test_an_idle_board_is_dropped() -> None:
    service, store = await opened(idle_board_seconds=0.05)
    await do(service, A, write("k", 1))
    await asyncio.sleep(0.25)
    assert service._cache.all() == []
    store.loads.clear()
    assert (await do(service, A, write("k", 2))).seq == 3
    assert store.loads == [BOARD]
    await service.close()


async def test_a_board_that_does_not_exist_takes_no_place() -> None:
    service, _ = await opened(live_boards=1)
    with pytest.raises(UnknownBoard):
        await service.query("nowhere", AUDITOR, ask.GetBoard())
    assert codes(await settled(do(service, OPERATOR, ask.SetMode(mode="open", coordinator="x")))) == [
        "malformed"
    ]
    assert [live.name for live in service._cache.all()] == [BOARD]


async def test_hits_and_misses_are_counted() -> None:
    service, _ = await opened()
    await do(service, A, write("k", 1))
    await do(service, A, write("k", 2))
    assert (service.metrics.cache_misses, service.metrics.cache_hits) == (1, 2)
    assert service.metrics.boards_loaded == 1


# -- snapshots


async def test_a_snapshot_is_taken_every_so_many_events_and_a_cold_start_uses_it() -> None:
    service, store = await opened(snapshot_every=10)
    for number in range(25):
        await do(service, A, write(f"k{number}", 1))
    await service.close()
    _, tip = store.snapshots[BOARD]
    assert tip.seq == 20
    assert service.metrics.snapshots == 2
    loaded = await store.load(BOARD)
    assert loaded is not None
    assert (loaded.snapshot_seq, loaded.replayed) == (20, 6)
    assert folded(store.logs[BOARD]) == await live_bytes(service_over(store))


async def test_a_snapshot_holds_the_board_as_it_was_although_writes_go_on() -> None:
    service, store = await opened(snapshot_every=10, batch_events=3)
    await asyncio.gather(*(do(service, agent(f"a{n}"), write(f"k{n}", 1)) for n in range(60)))
    await service.close()
    for saved, tip in store.snapshots.values():
        assert saved == folded(store.logs[BOARD][: tip.seq])


async def test_a_view_is_folded_alike_whatever_order_its_reader_asked_in() -> None:
    service, store = await opened()
    await do(service, A, read("z", "a", "m"))
    assert folded(store.logs[BOARD]) == await live_bytes(service)


# -- the rate of refusals


async def test_refusals_beyond_the_rate_are_refused_unlogged() -> None:
    service, store = await opened(rejections_per_minute=3)
    await do(service, A, write("k", 1))
    outcomes = [(await settled(do(service, B, write("k", 2))))[0] for _ in range(5)]
    assert codes(outcomes) == ["unseen-revision"] * 3 + ["rate-limited"] * 2
    assert isinstance(outcomes[3], RateLimited)
    assert "unseen-revision" in outcomes[3].detail
    assert [row.kind for row in store.logs[BOARD]].count("write.rejected") == 3
    assert service.metrics.rate_limited == 2
    assert service.metrics.rejections == {"unseen-revision": 3}
    # Others, and what is not refused, are not slowed down; the working board is as the log says.
    assert codes(await settled(do(service, A, write("k", 1, "x")))) == ["revision-reused"]
    assert codes(await settled(do(service, B, read("k")), do(service, B, write("k", 2)))) == ["ok", "ok"]
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_a_retry_of_a_logged_refusal_is_not_rate_limited() -> None:
    service, _ = await opened(rejections_per_minute=1)
    await do(service, A, write("k", 1))
    calls = [do(service, B, write("k", 2), key("one")) for _ in range(3)]
    assert codes([(await settled(call))[0] for call in calls]) == ["unseen-revision"] * 3


def test_the_allowance_fills_again_evenly_up_to_a_minutes_worth() -> None:
    limiter = RejectionLimiter(60)
    assert [limiter.draw("agent:a", 0) for _ in range(61)] == [True] * 60 + [False]
    assert not limiter.draw("agent:a", 500_000)
    assert limiter.draw("agent:a", 1_500_000)
    assert not limiter.draw("agent:a", 1_500_000)
    assert not limiter.draw("agent:a", 0)  # a clock that goes back gives nothing
    assert [limiter.draw("agent:a", 10**12) for _ in range(61)] == [True] * 60 + [False]
    assert limiter.draw("agent:b", 10**12)


def test_actors_are_remembered_in_a_bounded_number() -> None:
    limiter = RejectionLimiter(10)
    for number in range(ACTORS_REMEMBERED + 10):
        limiter.draw(f"agent:{number}", number * 20_000)
    assert len(limiter._buckets) <= ACTORS_REMEMBERED


# -- queries


async def test_boards_are_listed_for_those_whom_they_concern() -> None:
    service, _ = await opened()
    await do(service, OPERATOR, ask.OpenBoard(), board="other")
    listed = await service.query(None, OPERATOR, ask.ListBoards())
    assert [(board.name, board.head) for board in listed.boards] == [("other", 1), (BOARD, 1)]
    narrow = Principal(role="agent", name="a", boards=("rel*",))
    assert [board.name for board in (await service.query(None, narrow, ask.ListBoards())).boards] == [BOARD]


async def test_a_board_is_shown_as_of_any_seq() -> None:
    service, _ = await opened()
    await do(service, A, write("k", 1, "x"))
    await do(service, A, write("k", 2, "y"))
    then = await service.query(BOARD, AUDITOR, ask.GetLedger(at=2))
    now = await service.query(BOARD, AUDITOR, ask.GetLedger())
    assert [(then.at, then.head), (now.at, now.head)] == [(2, 3), (3, 3)]
    assert [then.entries[0].revision, now.entries[0].revision] == [1, 2]
    assert then.state_digest != now.state_digest
    assert (await service.query(BOARD, AUDITOR, ask.GetLedger(at=0))).entries == []
    assert (await service.query(BOARD, AUDITOR, ask.GetAgents(at=1))).agents == []
    assert (await service.query(BOARD, AUDITOR, ask.GetAgent(agent="a", at=3))).summary.writes == 2
    with pytest.raises(BeyondHead, match="ends at 3"):
        await service.query(BOARD, AUDITOR, ask.GetLedger(at=4))
    with pytest.raises(UnknownAgent):
        await service.query(BOARD, AUDITOR, ask.GetAgent(agent="a", at=1))


async def test_a_query_records_nothing() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1))
    for query in (ask.GetBoard(), ask.GetEvents(), ask.GetLedger(), ask.GetAgents(), ask.GetAgent(agent="a")):
        await service.query(BOARD, AUDITOR, query)
    assert len(store.logs[BOARD]) == 2


async def test_the_log_is_read_page_by_page_and_filtered() -> None:
    service, store = await opened()
    for number in range(5):
        await do(service, A, write("k", number + 1, number))
        await do(service, B, read("k"))
    page = await service.query(BOARD, AUDITOR, ask.GetEvents(after=2, limit=4))
    assert [event.seq for event in page.events] == [3, 4, 5, 6]
    assert (page.head, page.next) == (11, 6)
    last = await service.query(BOARD, AUDITOR, ask.GetEvents(after=7, limit=4))
    assert last.next is None
    reads = await service.query(BOARD, AUDITOR, ask.GetEvents(kind="board.read", agent="b"))
    assert [event.seq for event in reads.events] == [3, 5, 7, 9, 11]
    assert len((await service.query(BOARD, AUDITOR, ask.GetEvents(key="k"))).events) == 5
    event: say.EventView = page.events[0]
    stored = store.logs[BOARD][2]
    assert (event.hash, event.salt) == (stored.hash.hex(), (stored.salt or b"").hex())
    assert bytes(event.body or b"").decode() == stored.body
    assert event.request_digest is not None


@pytest.mark.parametrize("limit", [0, -1, 10_001])
async def test_a_page_of_the_log_has_a_bounded_size(limit: int) -> None:
    service, _ = await opened()
    with pytest.raises(Malformed, match="1 to 10000"):
        await service.query(BOARD, AUDITOR, ask.GetEvents(limit=limit))


async def test_a_page_of_large_events_ends_early_and_says_where_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 5_000)
    service, _ = await opened()
    for number in range(6):
        await do(service, A, write("k", number + 1, "x" * 2_000))
    seen: list[int] = []
    after: int | None = 0
    pages = 0
    while after is not None:
        page = await service.query(BOARD, AUDITOR, ask.GetEvents(after=after))
        seen += [event.seq for event in page.events]
        after, pages = page.next, pages + 1
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert pages == 3


async def test_nobody_asks_what_their_role_does_not_allow() -> None:
    service, _ = await opened()
    with pytest.raises(NotAllowed):
        await service.query(BOARD, A, ask.GetLedger())
    with pytest.raises(NotAllowed):
        await do(service, AUDITOR, write("k", 1))
    with pytest.raises(UnknownBoard):
        await service.query("nowhere", AUDITOR, ask.GetEvents())


async def test_a_fault_in_answering_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service, _ = await opened()

    def broken(*args: object, **more: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("blackboard.service.queries.event_view", broken)
    monkeypatch.setattr("blackboard.service.service.prepare", broken)
    outcomes = await settled(service.query(BOARD, AUDITOR, ask.GetEvents()), do(service, A, write("k", 1)))
    assert codes(outcomes) == ["unavailable"] * 2
    assert "a fault" in caplog.text
    assert service.metrics.failures == 2


@pytest.mark.parametrize("name", ["", "a\nb", "\ud800", "x" * 129])
async def test_what_no_board_can_be_called_is_malformed_wherever_it_is_named(name: str) -> None:
    service, _ = await opened()
    calls = [
        service.query(name, AUDITOR, ask.GetEvents()),
        service.query(name, AUDITOR, ask.GetBoard()),
        do(service, A, write("k", 1), board=name),
        anext(service.follow(name, AUDITOR)),
    ]
    assert codes(await settled(*calls)) == ["malformed"] * 4


# -- what is counted


async def test_what_the_protection_costs_is_counted() -> None:
    service, _ = await opened()
    await do(service, A, write("k", 1))
    await do(service, A, write("l", 1))
    await do(service, A, read("k", "l"))
    await do(service, A, ask.Compact())
    await do(service, A, ask.Read(all=True))
    await do(service, A, read("k"))
    metrics = service.metrics
    assert (metrics.reads, metrics.rereads) == (5, 2)
    await settled(do(service, B, write("k", 1)))
    assert metrics.signals == {"revision-break": 1}
    assert metrics.commands == 8
    assert metrics.events == 9
    assert metrics.appends == metrics.append_seconds.count == metrics.batch_events.count
    assert metrics.batch_events.total == metrics.events
    assert sum(metrics.batch_commands.counts) == metrics.appends
