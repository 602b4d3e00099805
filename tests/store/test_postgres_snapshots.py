"""Snapshots that several servers take of one board: whole or not there, whoever else takes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from blackboard.config import Settings
from blackboard.errors import OutcomeUnknown, Unavailable
from blackboard.projections import snapshot
from blackboard.store import open_store
from blackboard.store.contract import Store
from tests.store.support import BOARD, filled, loaded
from tests.store.test_postgres_trouble import ended


@pytest.fixture
async def stores(tables_url: str) -> AsyncIterator[list[Store]]:
    """Two servers' stores over one database, and a board whose snapshot has several parts."""
    opened = [await open_store(tables_url, Settings()) for _ in range(2)]
    log, _ = await filled(opened[0], 1)
    for number in range(20):
        await opened[0].append(log.write(f"large/{number}", "x" * 60_000))
    yield opened
    for store in opened:
        await store.close()


async def test_two_servers_save_one_board_at_the_same_seq(stores: list[Store]) -> None:
    for _ in range(10):
        found = [await loaded(store) for store in stores]
        await asyncio.gather(*(s.snapshot(f.board, f.tip) for s, f in zip(stores, found, strict=True)))
        for store in stores:
            assert (await loaded(store)).replayed == 0


async def test_servers_that_save_at_different_seqs_leave_the_newest(stores: list[Store]) -> None:
    early, late = [await loaded(stores[0], at=at) for at in (15, 22)]
    for _ in range(5):
        await asyncio.gather(
            stores[0].snapshot(early.board, early.tip), stores[1].snapshot(late.board, late.tip)
        )
        assert (await loaded(stores[0])).snapshot_seq == 22


async def test_a_snapshot_that_was_cut_short_is_not_there(stores: list[Store], tables_url: str) -> None:
    store = stores[0]
    found = await loaded(store)
    async with in_the_way(tables_url, snapshot.FINGERPRINT, found.tip.seq) as waited_for:
        task = asyncio.create_task(store.snapshot(found.board, found.tip))
        while not await waited_for():  # noqa: ASYNC110 - another process is looked at
            await asyncio.sleep(0.001)
        await ended(tables_url, "blackboard write")
        with pytest.raises((OutcomeUnknown, Unavailable)):
            await task
    assert (await loaded(stores[1])).replayed == 22
    await store.snapshot(found.board, found.tip)
    assert (await loaded(stores[1])).replayed == 0


@asynccontextmanager
async def in_the_way(
    url: str, fingerprint: str, seq: int
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, bool]]]:
    """An open transaction with this snapshot's row: who saves it waits there, all its parts written."""
    holding, looking = await asyncpg.connect(url), await asyncpg.connect(url)
    transaction = holding.transaction()
    await transaction.start()
    await holding.execute(
        "INSERT INTO saved_boards (board, fingerprint, seq, digest, parts, bytes) "
        "VALUES ($1, $2, $3, '', 1, 1)",
        BOARD,
        fingerprint,
        seq,
    )

    async def waited_for() -> bool:
        return bool(
            await looking.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND application_name = 'blackboard write' AND wait_event_type = 'Lock'"
            )
        )

    try:
        yield waited_for
    finally:
        await transaction.rollback()
        await holding.close()
        await looking.close()


async def test_a_board_is_loaded_whole_while_its_snapshots_are_replaced(stores: list[Store]) -> None:
    found = [await loaded(stores[0], at=at) for at in (20, 21, 22)]
    going = True

    async def replace() -> None:
        while going:
            for each in found:
                await stores[0].snapshot(each.board, each.tip)

    task = asyncio.create_task(replace())
    for _ in range(30):
        assert (await loaded(stores[1])).tip == found[-1].tip
    going = False
    await task
    assert await stores[1].tip(BOARD) == found[-1].tip
