"""Servers that share one database: how feeds and boards in memory hear of what others append."""

import asyncio
import logging

import pytest

from blackboard.errors import (
    BoardTooNew,
    IntegrityFailure,
    Unavailable,
    UnknownBoard,
)
from blackboard.events.envelope import Command, Draft, Row, seal, tip_of
from blackboard.events.kinds import FORMAT, BoardFormatRaised
from blackboard.messages import commands as ask
from tests.service.sharing import Database, Follower, closed, eventually, lost, prompt, store_of
from tests.service.support import (
    AUDITOR,
    BOARD,
    OPERATOR,
    agent,
    check_log,
    do,
    folded,
    live_bytes,
    write,
)

A, B = agent("a"), agent("b")


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


async def test_rows_read_while_the_log_was_put_back_are_given_to_nobody() -> None:
    database = Database(hints=lost)
    first, second = await database.servers(2, poll_seconds=60)
    for number in range(1, 6):
        await do(first, A, write("k", number))
    await second.query(BOARD, AUDITOR, ask.GetBoard())
    store = store_of(second)
    reads: list[str] = []

    def reading(what: str) -> None:
        reads.append(what)
        if what == "rows" and reads.count("rows") == 1:  # the follower's first look at the table
            second._cache.get(BOARD).working.feed.restart(3)

    store.reading = reading
    following = Follower(second)
    with pytest.raises(IntegrityFailure, match="followed up to 0: it was put back"):
        await following.reach(99)
    assert following.rows == []
    await closed(first, second)
