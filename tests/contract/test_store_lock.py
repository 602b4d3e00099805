"""Locking a board: who holds it sees everything, and nobody else appends."""

from __future__ import annotations

import asyncio

import pytest

from blackboard.store.contract import CommandTaken, SeqTaken, Store
from tests.store.support import BOARD, Log, everything, filled, opened


async def test_what_the_holder_appends_is_committed_when_it_returns(store: Store) -> None:
    log, rows = await filled(store, 3)
    batch = log.writes(5)
    async with store.lock(BOARD) as locked:
        await locked.append(batch)
        assert await store.tip(BOARD) == log.tip
    assert await everything(store) == rows + batch


async def test_reads_go_on_inside_the_lock(store: Store) -> None:
    log, rows = await filled(store, 3)
    async with store.lock(BOARD) as locked:
        assert await store.tip(BOARD) == log.tip
        assert await store.rows(BOARD) == rows
        found = await store.load(BOARD)
        assert found is not None
        assert found.tip == log.tip
        await locked.append(log.write("task/A"))


async def test_many_may_hold_one_board_one_after_another(store: Store) -> None:
    await filled(store, 1)

    async def decide(number: int) -> None:
        async with store.lock(BOARD) as locked:
            tip = await store.tip(BOARD)
            assert tip is not None
            try:
                await locked.append(Log(tip=tip, by=f"holder-{number}").say("mine"))
            except SeqTaken:
                assert not store.shared  # its owner keeps the order by itself

    await asyncio.gather(*(decide(number) for number in range(20)))
    if store.shared:
        assert len(await everything(store)) == 22


async def test_a_lock_left_without_an_append_changes_nothing(store: Store) -> None:
    log, rows = await filled(store, 3)
    for _ in range(20):
        async with store.lock(BOARD):
            pass
        with pytest.raises(LookupError):
            async with store.lock(BOARD):
                raise LookupError
    await store.append(log.write("task/A"))
    assert len(await everything(store)) == len(rows) + 1


async def test_a_board_that_does_not_exist_is_opened_under_its_lock(store: Store) -> None:
    log, rows = opened()
    async with store.lock(BOARD) as locked:
        await locked.append(rows)
    async with store.lock(BOARD) as locked:
        await locked.append(log.write("task/A"))
    assert (await store.boards())[0].head == 2


async def test_the_holders_append_is_refused_as_any_other(store: Store) -> None:
    log, rows = await filled(store, 3)
    late = Log(tip=log.tip, by="rival")
    late.say("lost")
    with pytest.raises(SeqTaken):
        async with store.lock(BOARD) as locked:
            await locked.append(late.say("not behind the tip"))
    with pytest.raises(CommandTaken) as taken:
        async with store.lock(BOARD) as locked:
            await locked.append(Log(tip=log.tip).say("again", command_id="command-2"))
    assert taken.value.commands == (("agent:executor", "command-2"),)
    assert await everything(store) == rows
    async with store.lock(BOARD) as locked:
        await locked.append(log.write("task/A"))


async def test_a_cancelled_holder_lets_go(store: Store) -> None:
    log, _ = await filled(store, 1)
    begun = asyncio.Event()

    async def hold() -> None:
        async with store.lock(BOARD):
            begun.set()
            await asyncio.sleep(60)

    for _ in range(20):
        begun.clear()
        task = asyncio.create_task(hold())
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])
    async with store.lock(BOARD) as locked:
        await locked.append(log.write("task/A"))


async def test_listening_is_at_most_a_hint(store: Store) -> None:
    heard: list[str | None] = []
    await store.listen(heard.append)
    log, _ = await filled(store, 3)
    await store.append(log.write("task/A"))
    await asyncio.sleep(0.05)
    assert heard == []  # nobody is told of what it has done itself
