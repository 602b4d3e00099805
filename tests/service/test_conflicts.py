"""Somebody else appends to the same log: decide again on what is there, and never resend."""

import asyncio

import pytest

from blackboard.errors import IntegrityFailure, StoreBusy, Unavailable
from blackboard.events.envelope import Event, Row
from blackboard.messages import commands as ask
from blackboard.messages.commands import Write
from blackboard.service import CaughtUp, Service
from blackboard.store.contract import SeqTaken
from tests.service.support import (
    AUDITOR,
    BOARD,
    OPERATOR,
    LogStore,
    agent,
    check_log,
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


async def test_two_services_on_one_store_lose_nothing_and_leave_no_gap() -> None:
    first, store = await opened(shared=True)
    second = service_over(store, shared=True)

    async def work(service: Service, name: str) -> None:
        for number in range(40):
            reply = await do(service, agent(name), write(f"{name}/{number}", 1), key(f"{number}"))
            assert store.logs[BOARD][reply.seq - 1].key == f"{name}/{number}"

    await asyncio.gather(
        *(work(first, f"f{n}") for n in range(4)), *(work(second, f"s{n}") for n in range(4))
    )
    log = store.logs[BOARD]
    check_log(log)
    assert len(log) == 1 + 8 * 40
    assert first.metrics.conflicts + second.metrics.conflicts > 0
    assert folded(log) == await live_bytes(first) == await live_bytes(second)


async def test_after_a_conflict_the_whole_batch_is_decided_again_on_fresh_state() -> None:
    first, store = await opened()
    second = service_over(store)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    outcomes = await settled(
        do(second, B, write("k", 1)),
        do(second, B, write("l", 1)),
    )
    # On the state that the second one had, both would have been accepted.
    assert codes(outcomes) == ["revision-not-advancing", "ok"]
    check_log(store.logs[BOARD])


async def test_the_same_key_at_two_services_takes_effect_once() -> None:
    first, store = await opened(shared=True)
    second = service_over(store, shared=True)
    outcomes = await settled(*(do(service, A, write("k", 1), key("one")) for service in (first, second) * 3))
    assert codes(outcomes) == ["ok"] * 6
    assert {reply.seq for reply in outcomes} == {2}
    check_log(store.logs[BOARD])


async def test_an_answer_that_appends_nothing_rests_on_a_tip_checked_after_the_question() -> None:
    first, store = await opened(shared=True)
    second = service_over(store, shared=True)
    ledger = await second.query(BOARD, AUDITOR, ask.GetLedger())
    assert ledger.entries == []
    await do(first, A, write("k", 1))
    assert [entry.key for entry in (await second.query(BOARD, AUDITOR, ask.GetLedger())).entries] == ["k"]
    assert (await do(second, OPERATOR, ask.OpenBoard())).head == 2
    await do(first, OPERATOR, ask.OpenBoard(), board="other")
    assert (await second.query("other", AUDITOR, ask.GetBoard())).head == 1


async def test_conflicts_without_end_are_an_honest_answer_in_bounded_time() -> None:
    service, store = await opened(conflict_seconds=0.05)
    store.refuse = lambda rows: SeqTaken()
    outcomes = await settled(do(service, A, write("k", 1)), do(service, A, write("l", 1)))
    assert [type(outcome) for outcome in outcomes] == [StoreBusy, StoreBusy]
    assert outcomes[0].members["retry_after"] == 1
    store.refuse = lambda rows: None
    assert (await do(service, A, write("k", 1))).seq == 2


async def test_rows_that_a_decision_needs_are_fetched_again_after_a_conflict() -> None:
    first, store = await opened()
    second = service_over(store)
    await do(first, A, write("k", 1, "x"))
    await do(first, A, write("k", 2, "y"))
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("l", 1))
    outcomes = await settled(do(second, A, write("k", 1, "x")), do(second, A, write("m", 1)))
    assert outcomes[0].replayed
    assert outcomes[0].entries[0].seq == 2
    assert store.fetches == [("k", 1), ("k", 1)]


async def test_needed_rows_of_a_batch_are_fetched_together() -> None:
    service, store = await opened()
    for number in range(5):
        await do(service, A, write(f"k{number}", 1, "x"))
        await do(service, A, write(f"k{number}", 2, "y"))
    outcomes = await settled(*(do(service, A, write(f"k{n}", 1, "x")) for n in range(5)))
    assert [reply.entries[0].seq for reply in outcomes] == [2, 4, 6, 8, 10]
    assert sorted(store.fetches) == [(f"k{n}", 1) for n in range(5)]
    assert service.metrics.rows_fetched == 5


async def test_a_need_may_be_met_by_what_the_same_batch_has_decided() -> None:
    service, store = await opened()
    outcomes = await settled(
        do(service, A, write("k", 1, "x")),
        do(service, A, write("k", 2, "y")),
        do(service, A, write("k", 1, "x")),
        do(service, A, write("k", 1, "z")),
    )
    assert codes(outcomes) == ["ok", "ok", "ok", "revision-reused"]
    assert outcomes[2].replayed
    assert outcomes[2].superseded_by == 3
    assert len(store.appends) == 2


async def test_what_a_view_held_is_fetched_from_the_log_or_from_the_same_batch() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1, "x"))
    await do(service, B, read("k"))
    await do(service, A, write("k", 2, "y"))
    fetched, uncommitted = (
        await settled(
            do(service, B, write("k", 3)),
            do(service, B, read("l")),
            do(service, A, write("l", 1)),
            do(service, B, write("l", 2)),
        ),
        await settled(
            do(service, A, write("m", 1)),
            do(service, B, read("m")),
            do(service, A, write("m", 2)),
            do(service, B, write("m", 3)),
        ),
    )
    assert codes(fetched) == ["unseen-revision", "ok", "ok", "unseen-revision"]
    assert codes(uncommitted) == ["ok", "ok", "ok", "unseen-revision"]
    assert [error.evidence["held"] for error in (fetched[0], fetched[3], uncommitted[3])] == [1, 0, 1]
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_trouble_with_the_rows_that_one_command_needs_is_its_own() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1, "x"))
    await do(service, A, write("k", 2, "y"))

    def reading(what: str) -> None:
        if what == "entry":
            raise Unavailable("this page of the file does not read")

    store.reading = reading
    outcomes = await settled(
        do(service, B, write("l", 1)),
        do(service, A, write("k", 1, "x")),
        do(service, B, write("m", 1)),
    )
    assert codes(outcomes) == ["ok", "unavailable", "ok"]
    check_log(store.logs[BOARD])


async def test_trouble_with_the_rows_of_a_later_command_is_not_the_first_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service, store = await opened()
    for name in "kl":
        await do(service, A, write(name, 1, "x"))
        await do(service, A, write(name, 2, "y"))
    whole = store.entry

    async def entry(board: str, name: str, revision: int) -> Event | None:
        if name == "l":
            raise IntegrityFailure("this row does not fit its digest")
        return await whole(board, name, revision)

    monkeypatch.setattr(store, "entry", entry)
    outcomes = await settled(do(service, A, write("k", 1, "x")), do(service, A, write("l", 1, "x")))
    assert codes(outcomes) == ["ok", "integrity-failure"]


async def test_a_batch_of_one_command_is_all_or_nothing() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1))
    with pytest.raises(Exception, match="k"):
        await do(service, B, ask.WriteBatch(writes=[Write("l", 1, 1), Write("k", 2, 1)]))
    assert [row.key for row in store.logs[BOARD] if row.kind == "entry.written"] == ["k"]


async def test_a_followed_board_hears_of_others_events_when_it_meets_them() -> None:
    first, store = await opened()
    second = service_over(store)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    feed = second.follow(BOARD, AUDITOR, after=1)
    caught_up = await anext(feed)
    assert isinstance(caught_up, CaughtUp)
    assert caught_up.head == 1
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    rows = [await anext(feed), await anext(feed)]
    assert [isinstance(row, Row) and row.seq for row in rows] == [2, 3]
    await feed.aclose()


def test_the_double_of_the_store_is_a_store() -> None:
    from blackboard.store.contract import Store

    store: Store = LogStore()
    assert store.url
