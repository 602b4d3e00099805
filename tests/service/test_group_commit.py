"""What arrives during one commit goes into the next; nothing is shown before its commit."""

import asyncio

import pytest

from blackboard.errors import Malformed, Unavailable, UnknownBoard, UnseenRevision
from blackboard.messages import commands as ask
from blackboard.service import NO_CALL, Service
from tests.service.support import (
    AUDITOR,
    BOARD,
    OPERATOR,
    LogStore,
    agent,
    appending,
    check_log,
    codes,
    do,
    folded,
    live_bytes,
    opened,
    read,
    service_over,
    settled,
    write,
)

A = agent("a")


async def test_commands_that_arrive_at_once_share_one_commit() -> None:
    service, store = await opened()
    outcomes = await settled(*(do(service, agent(f"a{n}"), write(f"k{n}", 1)) for n in range(64)))
    assert codes(outcomes) == ["ok"] * 64
    assert store.appends == [1, 64]
    assert [reply.seq for reply in outcomes] == list(range(2, 66))
    check_log(store.logs[BOARD])


async def test_what_arrives_during_a_commit_goes_into_the_next_one() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    first = asyncio.create_task(do(service, agent("a"), write("k0", 1)))
    await appending(store)
    others = [asyncio.create_task(do(service, agent("a"), write(f"k{n}", 1))) for n in range(1, 20)]
    await asyncio.sleep(0)
    assert store.appending == 1  # one commit in flight, however many wait
    store.gate.set()
    await asyncio.gather(first, *others)
    assert store.appends == [1, 1, 19]


async def test_a_batch_is_decided_in_order_of_arrival() -> None:
    service, store = await opened()
    outcomes = await settled(
        do(service, agent("a"), write("k", 1)),
        do(service, agent("b"), write("k", 2)),
        do(service, agent("b"), read("k")),
        do(service, agent("b"), write("k", 2)),
    )
    assert codes(outcomes) == ["ok", "unseen-revision", "ok", "ok"]
    assert len(store.appends) == 2
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_a_long_queue_is_committed_in_batches_of_bounded_size() -> None:
    service, store = await opened(batch_events=10)
    await asyncio.gather(*(do(service, agent("a"), write(f"k{n}", 1)) for n in range(35)))
    assert store.appends == [1, 10, 10, 10, 5]


async def test_a_query_waits_for_the_commit_in_flight() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    writing = asyncio.create_task(do(service, agent("a"), write("k", 1)))
    await appending(store)
    asking = asyncio.create_task(service.query(BOARD, AUDITOR, ask.GetLedger()))
    await asyncio.sleep(0.01)
    assert not asking.done()
    store.gate.set()
    await writing
    assert [entry.key for entry in (await asking).entries] == ["k"]


async def test_nothing_of_a_commit_that_fails_is_shown() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    store.faults = [(Unavailable("the disk is full"), False)]
    writing = asyncio.create_task(do(service, agent("a"), write("k", 1)))
    await appending(store)
    asking = asyncio.create_task(service.query(BOARD, AUDITOR, ask.GetLedger()))
    await asyncio.sleep(0)
    store.gate.set()
    assert codes(await settled(writing)) == ["unavailable"]
    assert (await asking).entries == []


async def test_a_caller_that_stops_waiting_does_not_stop_the_commit() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    writing = asyncio.create_task(do(service, agent("a"), write("k", 1)))
    queued = None
    await appending(store)
    queued = asyncio.create_task(do(service, agent("a"), write("l", 1)))
    await asyncio.sleep(0)
    writing.cancel()
    queued.cancel()
    await settled(writing, queued)
    store.gate.set()
    await service.close()
    assert [row.key for row in store.logs[BOARD]] == [None, "k", "l"]


async def test_closing_finishes_what_was_taken_and_takes_no_more() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    calls = [asyncio.create_task(do(service, agent("a"), write(f"k{n}", 1))) for n in range(5)]
    await appending(store)
    late = asyncio.create_task(do(service, agent("b"), write("late", 1)))
    await asyncio.sleep(0)
    closing = asyncio.create_task(service.close())
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="closing"):
        await do(service, agent("a"), write("k9", 1))
    with pytest.raises(Unavailable, match="closing"):
        await service.query(None, OPERATOR, ask.ListBoards())
    assert not closing.done()
    store.gate.set()
    await closing
    assert codes(await settled(*calls, late)) == ["ok"] * 6
    await service.close()


async def test_too_many_waiting_commands_are_turned_away_with_advice() -> None:
    service, store = await opened(pending_commands=3)
    outcomes = await settled(*(do(service, agent("a"), write(f"k{n}", 1)) for n in range(5)))
    assert codes(outcomes) == ["ok", "ok", "ok", "unavailable", "unavailable"]
    assert outcomes[3].members == {"limit": 3, "retry_after": 1}
    assert len(store.logs[BOARD]) == 4


async def test_a_command_that_is_refused_outright_leaves_no_trace() -> None:
    service, store = await opened()
    before = await live_bytes(service)
    outcomes = await settled(
        do(service, agent("new"), ask.WriteBatch(writes=[])),
        do(service, agent("new"), ask.ReadProposals()),
        do(service, agent("new"), ask.AcceptProposal(proposal="proposal:9")),
    )
    assert codes(outcomes) == ["malformed", "ok", "unknown-proposal"]
    assert await live_bytes(service) == before == folded(store.logs[BOARD])


async def test_errors_are_raised_only_once_what_they_rest_on_is_committed() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    first = asyncio.create_task(do(service, agent("a"), ask.EndTurn(turn=3)))
    second = asyncio.create_task(do(service, agent("a"), ask.EndTurn(turn=2)))
    await appending(store)
    await asyncio.sleep(0.01)
    assert not second.done()
    store.gate.set()
    assert codes(await settled(first, second)) == ["ok", "turn-out-of-order"]


async def test_one_board_in_trouble_does_not_hold_up_another() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    stuck = asyncio.create_task(do(service, agent("a"), write("k", 1)))
    await appending(store)
    gate, store.gate = store.gate, None
    assert (await service.execute("other", agent("a"), write("k", 1))).seq == 2
    gate.set()
    await stuck


async def test_a_long_batch_of_one_board_lets_the_others_have_their_turn() -> None:
    service, _ = await opened()
    await do(service, A, write("k", 1), board="other")
    ended: list[str] = []

    async def one(board: str, number: int) -> None:
        await do(service, A, write(f"k{number}", 1), board=board)
        ended.append(board)

    await asyncio.gather(*(one(BOARD, n) for n in range(1500)), one("other", 1))
    assert ended[0] == "other"


async def test_the_first_command_opens_a_board_only_where_that_is_allowed() -> None:
    store = LogStore()
    strict = Service(store, service_over(store).settings)
    with pytest.raises(UnknownBoard):
        await do(strict, agent("a"), write("k", 1), NO_CALL)
    assert store.logs[BOARD] == []
    assert (await service_over(store).execute(BOARD, agent("a"), write("k", 1))).seq == 2
    assert [row.kind for row in store.logs[BOARD]] == ["board.opened", "entry.written"]


async def test_concurrent_first_requests_load_a_board_once() -> None:
    _, store = await opened()
    service = service_over(store)
    await asyncio.gather(
        service.query(BOARD, AUDITOR, ask.GetBoard()),
        service.query(BOARD, AUDITOR, ask.GetAgents()),
        *(do(service, agent("a"), write(f"k{n}", 1)) for n in range(5)),
    )
    assert store.loads == [BOARD]


async def test_a_rejection_is_logged_and_raised_with_its_context() -> None:
    service, store = await opened()
    await do(service, agent("a"), write("k", 1))
    with pytest.raises(UnseenRevision) as caught:
        await do(service, agent("b"), write("k", 2))
    assert store.logs[BOARD][-2].kind == "write.rejected"
    assert (caught.value.seq, caught.value.head) == (4, 4)
    assert [signal.name for signal in caught.value.signals] == ["revision-break"]


async def test_a_name_that_no_board_can_have_is_refused() -> None:
    service = service_over(LogStore())
    with pytest.raises(Malformed):
        await service.execute("a\nb", agent("a"), write("k", 1))
    with pytest.raises(Malformed):
        await service.query(None, AUDITOR, ask.GetBoard())


async def test_ids_of_commands_sort_by_time_and_times_never_decrease() -> None:
    store = LogStore()
    times = iter([5_000_000, 3_000_000, 9_000_000, *[9_500_000] * 100])
    service = Service(store, service_over(store).settings, auto_open=True, clock=lambda: next(times))
    for name in ("a", "b", "c"):
        await do(service, agent(name), write(name, 1))
    stamps = [row.recorded_at for row in store.logs[BOARD]]
    assert stamps == sorted(stamps)
    ids = [row.command_id for row in store.logs[BOARD] if row.request_digest]
    assert all(one.startswith("~") for one in ids)
    assert len(set(ids)) == 3
