"""Loading a board: the fold of its log, from a snapshot where one is usable."""

from __future__ import annotations

import asyncio

import pytest

from blackboard.errors import BeyondHead, BoardTooNew, IntegrityFailure
from blackboard.events import kinds
from blackboard.events.envelope import GENESIS, unseal
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store.contract import Loaded, Store
from tests.store.support import BOARD, Log, filled, loaded, opened, values


def folded(rows: list) -> Board:
    board = Board()
    for row in rows:
        evolve(board, unseal(row))
    return board


def state(board: Board) -> bytes:
    return b"".join(snapshot.encode(snapshot.capture(board)))


async def saved(store: Store, at: int | None = None) -> Loaded:
    found = await loaded(store, at=at)
    await store.snapshot(found.board, found.tip)
    return found


@pytest.mark.parametrize("verify", [False, True])
async def test_a_loaded_board_equals_the_fold_of_its_rows(store: Store, verify: bool) -> None:
    log, rows = await filled(store, 1_234)
    found = await loaded(store, verify=verify)
    assert (found.tip, found.snapshot_seq, found.replayed) == (log.tip, 0, 1_235)
    assert state(found.board) == state(folded(rows))


@pytest.mark.parametrize("at", [1, 2, 499, 500, 501, 700])
async def test_a_board_is_loaded_as_of_any_seq(store: Store, at: int) -> None:
    _, rows = await filled(store, 699)
    found = await loaded(store, at=at)
    assert found.tip == (at, rows[at - 1].hash, rows[at - 1].recorded_at)
    assert state(found.board) == state(folded(rows[:at]))


async def test_before_its_first_event_a_board_is_unopened(store: Store) -> None:
    await filled(store, 3)
    found = await loaded(store, at=0)
    assert (found.board.head, found.tip, found.replayed) == (0, GENESIS, 0)


@pytest.mark.parametrize("at", [5, 100, -1])
async def test_there_is_nothing_beyond_the_head(store: Store, at: int) -> None:
    await filled(store, 3)
    with pytest.raises(BeyondHead) as error:
        await store.load(BOARD, at)
    assert error.value.members["head"] == 4


async def test_a_snapshot_saves_the_replay_and_changes_nothing(store: Store) -> None:
    log, rows = await filled(store, 40)
    await saved(store)
    assert (await loaded(store)).replayed == 0
    await store.append(log.writes(7))
    found = await loaded(store)
    assert (found.snapshot_seq, found.replayed, found.tip) == (41, 7, log.tip)
    assert state(found.board) == state((await loaded(store, verify=True)).board)
    assert rows


async def test_an_earlier_seq_is_loaded_without_a_later_snapshot(store: Store) -> None:
    _, rows = await filled(store, 40)
    await saved(store)
    found = await loaded(store, at=20)
    assert found.snapshot_seq == 0
    assert state(found.board) == state(folded(rows[:20]))


async def test_a_newer_snapshot_takes_the_place_of_the_older(store: Store) -> None:
    log, _ = await filled(store, 10)
    await saved(store)
    await store.append(log.writes(10))
    await saved(store)
    assert (await loaded(store)).snapshot_seq == 21
    assert (await loaded(store, at=15)).snapshot_seq == 0


async def test_a_snapshot_may_be_taken_again(store: Store) -> None:
    await filled(store, 10)
    await saved(store)
    await saved(store)
    assert (await loaded(store)).snapshot_seq == 11


async def test_verifying_does_without_snapshots(store: Store) -> None:
    await filled(store, 10)
    await saved(store)
    found = await loaded(store, verify=True)
    assert (found.snapshot_seq, found.replayed) == (0, 11)


async def test_a_snapshot_of_another_fingerprint_is_not_used(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, _ = await filled(store, 10)
    await saved(store)
    monkeypatch.setattr(snapshot, "FINGERPRINT", "another")
    assert (await loaded(store)).replayed == 11
    await saved(store)
    assert (await loaded(store)).replayed == 0
    monkeypatch.undo()
    await store.append(log.write("task/A"))
    assert (await loaded(store)).replayed == 1


async def test_the_board_may_move_on_while_its_snapshot_is_taken(store: Store) -> None:
    log, rows = await filled(store, 50)
    found = await loaded(store)
    task = asyncio.create_task(store.snapshot(found.board, found.tip))
    await asyncio.sleep(0)
    more = log.writes(20)
    for row in more:
        evolve(found.board, unseal(row))
    await store.append(more)
    await task
    assert state((await loaded(store, at=51)).board) == state(folded(rows))
    assert (await loaded(store)).replayed == 20


async def test_a_large_snapshot_comes_back_whole(store: Store) -> None:
    log, rows = opened()
    for n in range(60):
        rows += log.write(f"task/{n}", "x" * 50_000)
    await store.append(rows)
    await saved(store)
    found = await loaded(store)
    assert found.replayed == 0
    assert values(found)["task/59"] == "x" * 50_000
    assert state(found.board) == state(folded(rows))


async def test_each_load_gives_a_board_of_its_own(store: Store) -> None:
    log, _ = await filled(store, 3)
    first, second = await loaded(store), await loaded(store)
    evolve(first.board, unseal(log.write("task/0", "mine")[0]))
    assert values(second)["task/0"] != "mine"


async def test_a_board_of_a_later_format_names_the_release_that_it_takes(store: Store) -> None:
    log, rows = opened()
    rows += log.body(kinds.BoardFormatRaised(format=kinds.FORMAT + 1), actor="operator:ops")
    rows += log.say("after")
    await store.append(rows)
    with pytest.raises(BoardTooNew) as error:
        await store.load(BOARD)
    assert error.value.members["format"] == kinds.FORMAT + 1
    assert (await loaded(store, at=1)).board.head == 1
    await filled(store, 1, "other")
    assert (await loaded(store, "other")).board.head == 2


async def test_kinds_of_a_later_release_are_counted_not_folded(store: Store) -> None:
    log, rows = opened()
    row = log.say("not yet known")[0]
    await store.append([*rows, row._replace(kind="something.new")])
    found = await loaded(store)
    assert found.board.head == 2


@pytest.mark.parametrize(
    "change",
    [{"hash": bytes(32)}, {"body": '{"text":"other"}'}, {"actor": "agent:other"}, {"recorded_at": 1}],
    ids=["hash", "body", "envelope", "time"],
)
async def test_verifying_finds_a_row_that_was_changed(store: Store, change: dict) -> None:
    log, rows = opened()
    rows += log.say("one") + log.say("two") + log.say("three")
    rows[2] = rows[2]._replace(**change)
    await store.append(rows)
    assert (await loaded(store)).board.head == 4
    with pytest.raises(IntegrityFailure) as error:
        await store.load(BOARD, verify=True)
    assert (error.value.members["board"], error.value.members["seq"]) == (BOARD, 3)


async def test_a_redacted_row_still_verifies(store: Store) -> None:
    log, rows = opened()
    rows += log.say("one") + log.say("two")
    rows[1] = rows[1]._replace(body=None, salt=None)
    await store.append(rows)
    assert (await loaded(store, verify=True)).board.head == 3


@pytest.mark.parametrize(
    "change",
    [{"body": '{"text":"other"}', "salt": None}, {"salt": None}, {"body": None}],
    ids=["edited and unsalted", "salt gone", "body gone"],
)
async def test_an_edit_does_not_pass_for_a_redaction(store: Store, change: dict) -> None:
    log, rows = opened()
    rows += log.say("one") + log.say("two")
    rows[1] = rows[1]._replace(**change)
    await store.append(rows)
    with pytest.raises(IntegrityFailure, match="together or not at all") as error:
        await store.load(BOARD, verify=True)
    assert error.value.members["seq"] == 2


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("kind", ["entry.written", "agent.compacted", "board.read"])
async def test_a_log_that_has_lost_what_makes_its_state_is_not_folded(
    store: Store, kind: str, verify: bool
) -> None:
    log, rows = opened()
    rows += log.write("task/A")
    rows += log.body(kinds.BoardRead(keys={"task/A": 1}))
    rows += log.body(kinds.AgentCompacted(agents=["executor"], base_seq=3, cause="clear", declared_by="self"))
    lost = next(index for index, row in enumerate(rows) if row.kind == kind)
    rows[lost] = rows[lost]._replace(body=None, salt=None)
    await store.append(rows)
    with pytest.raises(IntegrityFailure, match=f"without that of {kind}") as error:
        await store.load(BOARD, verify=verify)
    assert error.value.members["seq"] == lost + 1


@pytest.mark.parametrize("body", ['{"text":', '{"text":7}', '{"payload_hash":"zz","value":1}'])
async def test_a_stored_body_that_does_not_decode_is_named(store: Store, body: str) -> None:
    log, rows = opened()
    rows += log.say("one")
    rows[1] = rows[1]._replace(body=body)
    await store.append(rows)
    with pytest.raises(IntegrityFailure) as error:
        await store.load(BOARD)
    assert error.value.members["seq"] == 2


async def test_a_stored_entry_that_cannot_be_folded_is_named(store: Store) -> None:
    log, rows = opened()
    rows += log.write("task/A")
    rows[1] = rows[1]._replace(body='{"payload_hash":"not hex","value":1}')
    await store.append(rows)
    with pytest.raises(IntegrityFailure, match="event 2 of board"):
        await store.load(BOARD)


async def test_the_loop_goes_on_while_a_long_log_is_folded(store: Store) -> None:
    await filled(store, 5_000)
    turns = 0

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    ticking = asyncio.create_task(tick())
    await loaded(store)
    ticking.cancel()
    assert turns >= 10


async def test_boards_are_loaded_beside_appends(store: Store) -> None:
    log, _ = await filled(store, 600)
    loads = [asyncio.create_task(loaded(store)) for _ in range(5)]
    for _ in range(10):
        await store.append(log.writes(3))
    for found in await asyncio.gather(*loads):
        assert found.board.head == found.tip.seq >= 601
    assert (await loaded(store)).tip == log.tip
    assert isinstance(log, Log)
