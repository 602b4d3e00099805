"""Servers that share one database: what each does once another has appended to its board."""

import asyncio

import pytest

from blackboard.errors import (
    IdempotencyKeyReused,
    NotFound,
    StoreBusy,
    Unavailable,
)
from blackboard.messages import commands as ask
from blackboard.service import Service
from blackboard.store.contract import SeqTaken
from tests.service.sharing import Database, closed, eventually, lost, prompt, store_of
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


async def test_what_another_has_appended_is_folded_without_loading_the_board_again() -> None:
    database = Database()
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    for number in range(1200):
        await do(first, A, write(f"k{number}", 1))
    await asyncio.sleep(0.01)
    assert (await do(second, B, write("l", 1))).seq == 1202
    assert (await second.query(BOARD, AUDITOR, ask.GetBoard())).head == 1202
    assert store_of(second).loads == [BOARD]
    assert second.metrics.conflicts == 0
    assert second.metrics.foreign_events == 1200
    assert folded(database.logs[BOARD]) == await live_bytes(first) == await live_bytes(second)
    await closed(first, second)


async def test_after_a_conflict_a_board_is_locked_and_nothing_is_decided_in_vain_again() -> None:
    database = Database(hints=lost)
    services = await database.servers(3)

    async def work(service: Service, name: str) -> None:
        for number in range(40):
            await do(service, agent(name), write(f"{name}/{number}", 1))

    await asyncio.gather(*(work(service, f"s{n}") for n, service in enumerate(services)))
    check_log(database.logs[BOARD])
    assert len(database.logs[BOARD]) == 121
    assert sum(service.metrics.conflicts for service in services) <= 3
    assert sum(service.metrics.lock_commits for service in services) > 100
    assert all(service.metrics.lock_seconds.count >= service.metrics.lock_commits for service in services)
    await closed(*services)


async def test_a_board_that_nobody_else_appends_to_any_more_is_locked_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("blackboard.service.working.LOCK_SECONDS", 0.05)
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    assert store_of(second).locks == 1
    await asyncio.sleep(0.06)
    await do(second, B, write("m", 1))
    assert store_of(second).locks == 1
    await closed(first, second)


async def test_what_comes_while_the_lock_is_waited_for_goes_into_the_same_commit() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    async with database.locks[BOARD]:
        calls = [asyncio.create_task(do(second, B, write("m/0", 1)))]
        for number in range(1, 6):
            await asyncio.sleep(0.001)
            calls.append(asyncio.create_task(do(second, B, write(f"m/{number}", 1))))
        await asyncio.sleep(0.001)
    assert codes(await settled(*calls)) == ["ok"] * 6
    assert store_of(second).appends[-1] == 6
    await closed(first, second)


async def test_a_reply_that_appends_nothing_rests_on_what_others_have_committed_before() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    assert (await second.query(BOARD, AUDITOR, ask.GetLedger())).entries == []
    for number in range(1, 4):
        await do(first, A, write("k", number))
        ledger = await second.query(BOARD, AUDITOR, ask.GetLedger())
        assert [entry.revision for entry in ledger.entries] == [number]
        assert (await do(second, OPERATOR, ask.OpenBoard())).head == number + 1
    assert store_of(second).loads == [BOARD]
    await closed(first, second)


async def test_questions_that_gather_are_answered_after_one_look_at_the_log() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    looks: list[str] = []
    store_of(second).reading = looks.append
    await asyncio.gather(*(second.query(BOARD, AUDITOR, ask.GetBoard()) for _ in range(20)))
    assert looks == ["tip"]
    await closed(first, second)


async def test_a_key_retried_at_another_server_gives_the_first_outcome() -> None:
    database = Database(hints=lost)
    services = await database.servers(3)
    for service in services:
        await service.query(BOARD, AUDITOR, ask.GetBoard())
    first = await do(services[0], A, write("k", 1), key("one"))
    for service in services[1:]:
        again = await do(service, A, write("k", 1), key("one"))
        assert (again.seq, again.replayed) == (first.seq, True)
        with pytest.raises(IdempotencyKeyReused):
            await do(service, A, write("k", 1, "else"), key("one"))
    assert len(database.logs[BOARD]) == 2
    await closed(*services)


async def test_a_key_that_was_caught_up_with_costs_its_retry_no_conflict() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    made = await do(first, A, write("k", 1), key("one"))
    assert (await second.query(BOARD, AUDITOR, ask.GetBoard())).head == 2
    assert (await do(second, A, write("k", 1), key("one"))).seq == made.seq
    assert second.metrics.conflicts == 0
    await closed(first, second)


async def test_a_retry_that_overtakes_its_first_commit_on_the_way_is_decided_again() -> None:
    """The key is found in the log beyond what the board was folded up to."""
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    second._cache.get(BOARD).working.keys.add(A.actor, "one")
    made = await do(first, A, write("k", 1), key("one"))
    again = await do(second, A, write("k", 1), key("one"))
    assert (again.seq, again.head, again.replayed) == (made.seq, made.head, True)
    assert second.metrics.failures == 0
    await closed(first, second)


async def test_an_answer_that_records_nothing_is_decided_again_where_others_have_appended() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await do(first, OPERATOR, ask.SetMode(mode="single-writer", coordinator="a"))
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    made = await do(first, B, ask.Propose(writes=[ask.Write("k", 1, "v")]))
    await do(first, A, ask.ReadProposals())
    # As far as the second one knows there is no such proposal, and it would say so.
    assert (await do(second, A, ask.AcceptProposal(proposal=made.proposal))).entries[0].key == "k"
    with pytest.raises(NotFound):
        await do(first, A, ask.AcceptProposal(proposal="proposal:99"))
    assert first.metrics.conflicts == second.metrics.conflicts == 0
    assert store_of(second).loads == [BOARD]
    await closed(first, second)


async def test_a_cancelled_caller_cancels_nothing_even_while_the_lock_is_waited_for() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    async with database.locks[BOARD]:
        calls = [asyncio.create_task(do(second, B, write(f"m/{number}", 1))) for number in range(4)]
        await asyncio.sleep(0.005)
        calls[0].cancel()
        calls[2].cancel()
        await asyncio.sleep(0.005)
    await settled(*calls)
    await eventually(lambda: len(database.logs[BOARD]) == 7)
    assert [call.cancelled() for call in calls] == [True, False, True, False]
    await closed(first, second)


async def test_a_lock_that_is_not_to_be_had_is_an_honest_answer_in_bounded_time() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2, conflict_seconds=0.1)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    started = asyncio.get_running_loop().time()
    async with database.locks[BOARD]:
        outcomes = await settled(*(do(second, B, write(f"m/{number}", 1)) for number in range(3)))
        assert [type(outcome) for outcome in outcomes] == [StoreBusy] * 3
        assert outcomes[0].members["retry_after"] == 1
        assert asyncio.get_running_loop().time() - started < 2
    assert len(database.logs[BOARD]) == 3
    assert (await do(second, B, write("m/0", 1))).seq == 4
    await closed(first, second)


async def test_conflicts_without_end_while_the_board_is_locked_end_too() -> None:
    """A lock that does not hold, as where the board's row was not there to be locked."""
    database = Database(hints=lost)
    (service,) = await database.servers(1, conflict_seconds=0.1)
    store_of(service).refuse = lambda rows: SeqTaken()
    outcomes = await settled(do(service, A, write("k", 1)))
    assert [type(outcome) for outcome in outcomes] == [StoreBusy]
    assert store_of(service).locks > 1
    store_of(service).refuse = lambda rows: None
    assert (await do(service, A, write("k", 1))).seq == 2
    await closed(service)


async def test_closing_while_a_board_is_locked_finishes_what_was_taken() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    async with database.locks[BOARD]:
        calls = [asyncio.create_task(do(second, B, write(f"m/{number}", 1))) for number in range(4)]
        await asyncio.sleep(0.005)
        closing = asyncio.create_task(second.close())
        await asyncio.sleep(0.005)
        assert not closing.done()
        with pytest.raises(Unavailable, match="closing"):
            await do(second, B, write("late", 1))
    await asyncio.wait_for(closing, 5)
    assert codes(await settled(*calls)) == ["ok"] * 4
    assert len(database.logs[BOARD]) == 7
    await closed(first)


async def test_the_result_of_a_commit_under_the_lock_may_be_lost_and_is_found() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    database.unknown = 100
    outcomes = await settled(*(do(second, B, write(f"m/{number}", 1)) for number in range(3)))
    database.unknown = 0
    assert codes(outcomes) == ["ok"] * 3
    assert [row.key for row in database.logs[BOARD][3:]] == ["m/0", "m/1", "m/2"]
    assert second.metrics.unknown_outcomes > 0
    check_log(database.logs[BOARD])
    await closed(first, second)


async def test_a_board_opened_by_two_servers_at_once_is_opened_by_one() -> None:
    for seed in range(20):
        database = Database(seed, steps=3)
        first, second = database.server(), database.server()
        outcomes = await settled(
            do(first, OPERATOR, ask.OpenBoard()), do(second, A, write("k", 1)), do(first, B, write("l", 1))
        )
        assert codes(outcomes) == ["ok"] * 3
        check_log(database.logs[BOARD])
        kinds = [row.kind for row in database.logs[BOARD]]
        assert kinds.count("board.opened") == 1
        assert sorted(row.key for row in database.logs[BOARD] if row.key) == ["k", "l"]
        await closed(first, second)


async def test_refusals_at_other_servers_count_against_the_same_allowance() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2, rejections_per_minute=4)
    await do(first, A, write("k", 1))
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    outcomes = []
    for number in range(4):
        for service in (first, second):
            outcomes += await settled(do(service, B, write("k", 2, number)))
            await asyncio.sleep(0.001)
    assert codes(outcomes).count("rate-limited") == 4
    assert [row.kind for row in database.logs[BOARD]].count("write.rejected") == 4
    await closed(first, second)


async def test_one_commands_trouble_stays_its_own_while_the_board_is_locked() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(second, B, write("l", 1))
    store_of(second).refuse = lambda rows: (
        Unavailable("this value is too much for the disk") if any(row.key == "m/1" for row in rows) else None
    )
    outcomes = await settled(*(do(second, B, write(f"m/{number}", 1)) for number in range(4)))
    assert codes(outcomes) == ["ok", "unavailable", "ok", "ok"]
    assert store_of(second).locks == 6, "one for the conflict, one for the batch, one for each command"
    check_log(database.logs[BOARD])
    await closed(first, second)


async def test_a_board_that_was_not_used_for_a_while_catches_up_before_its_next_command() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2, poll_seconds=0.03)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await asyncio.sleep(0.05)
    assert (await do(second, B, write("l", 1))).seq == 3
    assert second.metrics.conflicts == 0
    await closed(first, second)


async def test_a_log_put_back_and_as_long_again_is_not_appended_to_unseen() -> None:
    """The next seq is free, and what it would continue is another event than the one in memory."""
    database = Database(hints=lost)
    first, second = await database.servers(2, poll_seconds=0.03)
    await do(first, A, write("k", 1))
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    database.put_back(BOARD, 1)
    writer = database.server()
    await do(writer, A, write("k", 1, "else"))
    await asyncio.sleep(0.05)
    assert (await do(second, B, write("l", 1))).seq == 3
    check_log(database.logs[BOARD])
    await closed(first, second, writer)
