"""Servers that share one database: what each does once another has appended to its board."""

import asyncio
import logging

import pytest

from blackboard.errors import (
    BoardTooNew,
    IdempotencyKeyReused,
    IntegrityFailure,
    NotFound,
    StoreBusy,
    Unavailable,
    UnknownBoard,
)
from blackboard.events.envelope import Command, Draft, Row, seal, tip_of
from blackboard.events.kinds import FORMAT, BoardFormatRaised
from blackboard.messages import commands as ask
from blackboard.service import Service
from blackboard.store.contract import SeqTaken
from tests.service.sharing import Database, Follower, SharedStore, closed, lost, prompt
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


def store_of(service: Service) -> SharedStore:
    assert isinstance(service.store, SharedStore)
    return service.store


async def eventually(condition: object, within: float = 5.0) -> None:
    assert callable(condition)
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.001)


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


async def test_a_board_that_another_server_opens_later_can_be_followed_from_then_on() -> None:
    database = Database(hints=lost)
    first, second = database.server(), database.server()
    with pytest.raises(UnknownBoard):
        await Follower(second).reach(1)
    await do(first, OPERATOR, ask.OpenBoard())
    following = Follower(second)
    await do(first, A, write("k", 1))
    assert await following.reach(2) == [1, 2]
    await closed(first, second)


async def test_what_is_not_in_memory_is_followed_from_the_table_alone() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2)
    following = Follower(second)
    for number in range(5):
        await do(first, A, write(f"k{number}", 1))
    assert await following.reach(6) == [1, 2, 3, 4, 5, 6]
    assert store_of(second).loads == []
    assert second.metrics.feed_lag_seconds.count > 0
    await closed(first, second)


async def test_a_board_too_new_to_be_folded_is_followed_all_the_same() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    following = Follower(second)
    database.first.store([raised(database.logs[BOARD])])
    database.tell(None, BOARD)
    assert await following.reach(2) == [1, 2]
    with pytest.raises(BoardTooNew):
        await do(second, A, write("k", 1))
    await closed(first, second)


def raised(log: list[Row]) -> Row:
    """The row with which a release to come raises the board beyond what this one folds."""
    rows, _ = seal(
        BOARD,
        tip_of(log[-1]),
        Command("operator:ops", "newer", b"{}"),
        [Draft(BoardFormatRaised(format=FORMAT + 1))],
        salts=[bytes(16)],
        now=log[-1].recorded_at,
    )
    return rows[0]


async def test_a_log_put_back_and_written_on_is_noticed_at_the_next_look() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    for number in range(1, 6):
        await do(first, A, write("k", number))
    assert (await second.query(BOARD, AUDITOR, ask.GetBoard())).head == 6
    database.put_back(BOARD, 3)
    for service in (first, second):
        assert [
            entry.revision for entry in (await service.query(BOARD, AUDITOR, ask.GetLedger())).entries
        ] == [2]
    await do(first, A, write("k", 3, "else"))
    for number in range(3):
        await do(first, A, write(f"l{number}", 1))
    ledger = await second.query(BOARD, AUDITOR, ask.GetLedger())
    assert {entry.key: entry.revision for entry in ledger.entries} == {"k": 3, "l0": 1, "l1": 1, "l2": 1}
    assert (await do(second, A, write("k", 4))).seq == 8
    check_log(database.logs[BOARD])
    assert folded(database.logs[BOARD]) == await live_bytes(first) == await live_bytes(second)
    await closed(first, second)


async def test_a_log_put_back_is_noticed_by_the_next_append() -> None:
    database = Database(hints=lost)
    (service,) = await database.servers(1)
    for number in range(1, 6):
        await do(service, A, write("k", number))
    database.put_back(BOARD, 3)
    assert (await do(service, A, write("l", 1))).seq == 4
    check_log(database.logs[BOARD])
    assert folded(database.logs[BOARD]) == await live_bytes(service)
    await closed(service)


@pytest.mark.parametrize("folded_too", [True, False], ids=["in memory", "not in memory"])
@pytest.mark.parametrize("beyond", [False, True], ids=["shorter", "longer again"])
async def test_feeds_of_a_log_put_back_end_and_say_so(folded_too: bool, beyond: bool) -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    for number in range(1, 6):
        await do(first, A, write("k", number))
    if folded_too:
        await second.query(BOARD, AUDITOR, ask.GetBoard())
    following = Follower(second)
    await eventually(lambda: len(following.rows) == 6)
    database.put_back(BOARD, 3)
    if beyond and folded_too:
        writer = database.server()
        await asyncio.gather(*(do(writer, A, write(f"l{number}", 1)) for number in range(6)))
        await closed(writer)
    with pytest.raises(IntegrityFailure, match="put back to an earlier state"):
        await following.reach(99)
    again = Follower(second)
    assert await again.reach(len(database.logs[BOARD])) == list(range(1, len(database.logs[BOARD]) + 1))
    await closed(first, second)


async def test_events_that_do_not_continue_the_log_are_served_from_by_nobody() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await do(first, A, write("k", 1))
    await do(first, A, write("k", 2))
    log = database.logs[BOARD]
    log[1] = log[1]._replace(actor="agent:b")
    with pytest.raises(IntegrityFailure, match="event 2 of board 'release'"):
        await second.query(BOARD, AUDITOR, ask.GetBoard())
    await closed(first, second)


async def test_a_hint_makes_the_next_command_catch_up_before_it_is_decided() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    for number in range(10):
        await do(first, A, write(f"k{number}", 1))
        await asyncio.sleep(0.001)
        await do(second, B, write(f"l{number}", 1))
        await asyncio.sleep(0.001)
    assert first.metrics.conflicts == second.metrics.conflicts == 0
    assert store_of(first).locks == store_of(second).locks == 0
    await closed(first, second)


async def test_hints_wake_the_feeds_long_before_the_next_look() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2, poll_seconds=60)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    following = Follower(second)
    for number in range(5):
        await do(first, A, write(f"k{number}", 1))
    assert await following.reach(6, within=2) == [1, 2, 3, 4, 5, 6]
    lag = second.metrics.feed_lag_seconds
    assert 0 < lag.count <= 5
    assert lag.total < 1
    await closed(first, second)


async def test_without_any_hint_a_followed_board_is_looked_at_all_the_same() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2, poll_seconds=0.01)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    following = Follower(second)
    for number in range(5):
        await do(first, A, write(f"k{number}", 1))
    assert await following.reach(6) == [1, 2, 3, 4, 5, 6]
    await closed(first, second)


async def test_when_hints_were_lost_every_board_is_looked_at() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2, poll_seconds=60)
    following = Follower(second)
    await eventually(lambda: len(following.rows) == 1)
    await do(first, A, write("k", 1))
    hear = store_of(second).hear
    assert hear is not None
    hear(None)
    assert await following.reach(2, within=2) == [1, 2]
    await closed(first, second)


async def test_hints_are_asked_for_until_the_store_gives_them(caplog: pytest.LogCaptureFixture) -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2, poll_seconds=0.01)
    troubles = [RuntimeError("a fault"), Unavailable("the database does not answer")]

    def reading(what: str) -> None:
        if what == "listen" and troubles:
            raise troubles.pop()

    store_of(second).reading = reading
    following = Follower(second)
    await eventually(lambda: store_of(second).hear is not None)
    await do(first, A, write("k", 1))
    assert await following.reach(2) == [1, 2]
    assert [record.message for record in caplog.records] == [
        "no hints of what others append, only looking: the database does not answer",
        "no hints of what others append, only looking",
    ]
    await closed(first, second)


async def test_feeds_go_on_by_themselves_when_the_database_is_back(caplog: pytest.LogCaptureFixture) -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2, poll_seconds=0.005)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    following = Follower(second)
    await eventually(lambda: len(following.rows) == 1)
    await do(first, A, write("k", 1))

    def down(what: str) -> None:
        raise Unavailable("the database does not answer")

    def faulty(what: str) -> None:
        raise RuntimeError("a fault")

    for trouble in (down, faulty):
        store_of(second).reading = trouble
        await asyncio.sleep(0.03)
    store_of(second).reading = lambda what: None
    assert await following.reach(2) == [1, 2]
    assert {record.message for record in caplog.records} == {f"board {BOARD}: its feeds wait"}
    await closed(first, second)


async def test_hints_of_boards_that_are_not_in_memory_bring_none_there() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2, idle_board_seconds=0.05)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    for number in range(20):
        await do(first, A, write(f"k{number}", 1))
        await asyncio.sleep(0.01)
    assert second._cache.all() == []
    assert second.metrics.boards_evicted == 1
    assert (await do(second, B, write("l", 1))).seq == 22
    await closed(first, second)


async def test_a_followed_board_is_not_evicted_however_idle_and_hears_of_others() -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2, idle_board_seconds=0.05, live_boards=1)
    following = Follower(second)
    await do(second, A, write("k", 1), board="other")
    await asyncio.sleep(0.15)
    await do(first, A, write("k", 1))
    assert await following.reach(2) == [1, 2]
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


async def test_nothing_is_heard_any_more_once_the_service_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    database = Database(hints=prompt)
    first, second = await database.servers(2)
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    await asyncio.sleep(0)
    await closed(second)
    looks: list[str] = []
    store_of(second).reading = looks.append
    await do(first, A, write("k", 1))
    await asyncio.sleep(0.05)
    assert looks == []
    with caplog.at_level(logging.WARNING):
        await closed(second, first)
    assert caplog.records == []
