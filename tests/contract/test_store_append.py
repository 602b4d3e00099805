"""Appending: whole or not at all, in order, once."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from blackboard.errors import Malformed, Unavailable
from blackboard.events.envelope import verify_row
from blackboard.store.contract import CommandTaken, SeqTaken, Store
from tests.store.support import BOARD, EXECUTOR, Log, everything, filled, opened, seqs

TEXTS = [
    "",
    "naïve",
    "日本語",
    "🧩 e\u0301",
    "nul \0 inside",
    '"quoted\\"',
    "line\nbreak\u2028",
    "x" * 60_000,
]


async def test_what_was_appended_is_read_back_member_by_member(store: Store) -> None:
    log, rows = opened()
    rows += log.write("task/A", {"status": "failed"}, turn=7)
    rows += log.say("B failed, retry pending", actor="agent:verifier")
    await store.append(rows)
    assert await everything(store) == rows
    assert await store.tip(BOARD) == log.tip


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_text_of_every_kind_survives(store: Store, text: str) -> None:
    log, rows = opened()
    rows += log.say(text)
    name = text.replace("\0", "")[:50]  # no name holds a control character
    rows += log.write(f"key/{name}", {"text": text}, actor=f"agent:{name}", command_id=f"id {name}")
    await store.append(rows)
    assert await everything(store) == rows
    entry = await store.entry(BOARD, f"key/{name}", 1)
    assert entry is not None
    assert entry.seq == 3


async def test_a_name_with_a_nul_is_kept_or_refused_whole(store: Store) -> None:
    log, rows = await filled(store, 1)
    batch = log.write("fine") + log.write("nul \0 inside")
    if (await store.check())["engine"] == "postgresql":
        with pytest.raises(Malformed, match="NUL"):
            await store.append(batch)
        batch = []
    await store.append(batch)
    assert await everything(store) == rows + batch


@pytest.mark.parametrize("number", [1, 2, 63, 64, 65, 200, 3_000])
async def test_a_batch_of_any_size_goes_in_as_a_whole(store: Store, number: int) -> None:
    log, rows = opened()
    await store.append(rows)
    batch = log.writes(number)
    await store.append(batch)
    assert await everything(store) == rows + batch


async def test_a_log_appended_in_pieces_is_gapless_and_chained(store: Store) -> None:
    log, rows = opened()
    await store.append(rows)
    for number in (1, 3, 64, 1, 70, 2):
        await store.append(log.writes(number))
    found = await everything(store)
    assert seqs(found) == list(range(1, 143))
    previous = bytes(32)
    for row in found:
        assert verify_row(row, previous)
        previous = row.hash


async def test_no_rows_are_no_append(store: Store) -> None:
    await store.append([])
    assert await store.boards() == []


async def test_the_first_event_makes_the_board(store: Store) -> None:
    await filled(store, 2, "b")
    await filled(store, 4, "a")
    assert [(row.name, row.head) for row in await store.boards()] == [("a", 5), ("b", 3)]
    assert (await store.boards())[0].opened_at == (await everything(store, "a"))[0].recorded_at


async def test_a_seq_can_be_taken_once(store: Store) -> None:
    log, rows = await filled(store, 3)
    late = Log(tip=log.tip, by="rival")
    await store.append(log.write("task/A"))
    with pytest.raises(SeqTaken):
        await store.append(late.write("task/B"))
    assert seqs(await everything(store)) == [*seqs(rows), 5]


async def test_a_board_is_opened_once(store: Store) -> None:
    await filled(store, 1)
    with pytest.raises(SeqTaken):
        await store.append(Log(by="rival").open())


async def test_rows_that_do_not_continue_the_log_are_refused(store: Store) -> None:
    log, rows = await filled(store, 3)
    log.write("task/lost")
    for number in (1, 70):
        with pytest.raises(SeqTaken):
            await store.append(log.writes(number))
    assert await everything(store) == rows


async def test_a_board_does_not_begin_in_the_middle(store: Store) -> None:
    log, _ = opened()
    with pytest.raises(SeqTaken):
        await store.append(log.write("task/A"))
    assert await store.boards() == []
    assert await store.tip(BOARD) is None


@pytest.mark.parametrize("number", [0, 100])
async def test_a_command_id_of_an_actor_is_bound_once(store: Store, number: int) -> None:
    log, rows = opened()
    rows += log.write("task/A", command_id="k1")
    await store.append(rows)
    batch = log.writes(number) + log.say("fresh", command_id="k2") + log.say("again", command_id="k1")
    with pytest.raises(CommandTaken) as taken:
        await store.append(batch)
    assert taken.value.commands == ((EXECUTOR, "k1"),)
    assert await everything(store) == rows


async def test_two_commands_of_one_batch_cannot_share_an_id(store: Store) -> None:
    log, rows = opened()
    await store.append(rows)
    with pytest.raises(CommandTaken) as taken:
        await store.append(log.say("one", command_id="k1") + log.say("two", command_id="k1"))
    assert taken.value.commands == ((EXECUTOR, "k1"),)


async def test_a_command_id_is_scoped_to_board_and_actor(store: Store) -> None:
    for board in ("a", "b"):
        log, rows = opened(board)
        rows += log.say("one", command_id="k1")
        rows += log.say("two", command_id="k1", actor="agent:verifier")
        await store.append(rows)
    assert [row.head for row in await store.boards()] == [3, 3]


async def test_later_events_of_a_command_share_its_id(store: Store) -> None:
    log, rows = opened()
    rows += log.seal(*[log.draft(f"task/{n}") for n in range(5)], command_id="k1")
    await store.append(rows)
    assert await everything(store) == rows


async def test_a_revision_of_a_key_is_stored_once(store: Store) -> None:
    log, rows = await filled(store, 3, keys=1)
    with pytest.raises(SeqTaken):
        await store.append(log.seal(log.draft("task/0", "other", revision=2)))
    assert await everything(store) == rows


async def test_after_a_refused_append_the_next_one_goes_in(store: Store) -> None:
    log, _ = await filled(store, 3)
    refused = Log(tip=log.tip, by="rival")
    refused.write("lost")
    for _ in range(3):
        with pytest.raises(SeqTaken):
            await store.append(refused.writes(70))
    await store.append(log.write("task/A"))
    assert len(await everything(store)) == 5


async def test_boards_do_not_wait_for_each_others_conflicts(store: Store) -> None:
    logs = [(await filled(store, 1, f"board-{n}"))[0] for n in range(8)]
    refused = [Log(log.board, log.tip, by="rival") for log in logs[:4]]
    for log in logs[:4]:
        await store.append(log.write("first"))
    batches = [log.writes(5) for log in refused] + [log.writes(5) for log in logs[4:]]
    done = await asyncio.gather(*(store.append(batch) for batch in batches), return_exceptions=True)
    assert [type(error) for error in done[:4]] == [CommandTaken] * 4 or [type(e) for e in done[:4]] == [
        SeqTaken
    ] * 4
    assert done[4:] == [None] * 4
    assert [row.head for row in await store.boards()] == [3] * 4 + [7] * 4


async def test_of_two_that_append_at_one_seq_one_wins(store: Store) -> None:
    log, _ = await filled(store, 1)
    rivals = [Log(tip=log.tip, by=f"rival-{n}").say("mine") for n in range(10)]
    done = await asyncio.gather(*(store.append(rows) for rows in rivals), return_exceptions=True)
    assert sorted(type(error).__name__ for error in done) == ["NoneType"] + ["SeqTaken"] * 9
    assert len(await everything(store)) == 3


async def test_many_boards_are_appended_to_at_once(store: Store) -> None:
    async def run(name: str) -> list[int]:
        log, rows = opened(name)
        await store.append(rows)
        for number in (1, 2, 70, 1):
            await store.append(log.writes(number))
        return seqs(await everything(store, name))

    done = await asyncio.gather(*(run(f"board-{n}") for n in range(12)))
    assert done == [list(range(1, 76))] * 12


@pytest.mark.parametrize("number", [1, 100])
async def test_a_cancelled_caller_leaves_the_batch_whole_or_absent(store: Store, number: int) -> None:
    log, _ = await filled(store, 1)
    batch = log.writes(number)
    for turns in range(4):
        task = asyncio.create_task(store.append(batch))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    with contextlib.suppress(SeqTaken, CommandTaken):
        await store.append(batch)
    assert len(await everything(store)) == 2 + number


async def test_closing_finishes_what_was_begun(store: Store) -> None:
    log, _ = await filled(store, 1)
    batch = log.writes(100)
    task = asyncio.create_task(store.append(batch))
    await asyncio.sleep(0)
    await asyncio.gather(store.close(), store.close())
    await store.close()
    assert task.done()
    assert task.exception() is None


async def test_a_closed_store_says_so(store: Store) -> None:
    log, _ = await filled(store, 1)
    await store.close()
    for call in (store.append(log.write("late")), store.tip(BOARD), store.load(BOARD), store.boards()):
        with pytest.raises(Unavailable):
            await call
