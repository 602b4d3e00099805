"""Serialization failures, injected: nothing is lost, nothing happens twice, and each one is counted."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from blackboard.config import Settings
from blackboard.errors import StoreBusy
from blackboard.events.envelope import GENESIS, Row
from blackboard.store import open_store
from blackboard.store.contract import CommandTaken, SeqTaken, Store
from tests.contract.test_store_reads import token
from tests.store.support import BOARD, Log, everything, filled, loaded, seqs

FAILING = """
CREATE FUNCTION injected.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF random() < {chance} THEN
    RAISE EXCEPTION 'could not serialize access (injected)' USING ERRCODE = '{state}';
  END IF;
  RETURN NULL;
END $$
"""
AT_ONCE = (
    "CREATE TRIGGER fail_{table} AFTER INSERT OR DELETE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION injected.fail()"
)
AT_COMMIT = (
    "CREATE CONSTRAINT TRIGGER fail_{table} AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED "
    "FOR EACH ROW EXECUTE FUNCTION injected.fail()"
)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    store = await open_store(url, Settings(isolation="serializable"))
    try:
        yield store
    finally:
        await store.close()


async def inject(url: str, trigger: str, *tables: str, chance: float = 0.3, state: str = "40001") -> None:
    """From now on a share of what is written to these tables fails."""
    connection = await asyncpg.connect(url)
    await connection.execute(FAILING.format(chance=chance, state=state))
    for table in tables:
        await connection.execute(trigger.format(table=table))
    await connection.close()


@pytest.mark.parametrize("state", ["40001", "40P01"])
@pytest.mark.parametrize("trigger", [AT_ONCE, AT_COMMIT], ids=["at-once", "at-commit"])
async def test_a_hundred_appends_go_in_through_injected_failures(
    tables_url: str, trigger: str, state: str
) -> None:
    async with opened(tables_url) as store:
        log, rows = await filled(store, 1)
        await inject(tables_url, trigger, "events", state=state)
        for _ in range(100):
            rows += (batch := log.write("task/A"))
            await store.append(batch)
        assert await everything(store) == rows
        assert store.retries[state] >= 10
        assert set(store.retries) == {state}


async def test_an_append_that_keeps_failing_is_handed_back_to_be_decided_again(tables_url: str) -> None:
    async with opened(tables_url) as store:
        log, rows = await filled(store, 1)
        await inject(tables_url, AT_ONCE, "events", chance=1)
        with pytest.raises(SeqTaken):
            await store.append(log.write("task/A"))
        assert store.retries["40001"] == 10
        assert await everything(store) == rows


async def test_a_lock_holders_failure_is_handed_back(tables_url: str) -> None:
    async with opened(tables_url) as store:
        log, rows = await filled(store, 1)
        batch = log.write("task/A")
        await inject(tables_url, AT_COMMIT, "events")
        failed = 0
        while (await store.tip(BOARD)) != log.tip:
            try:
                async with store.lock(BOARD) as locked:
                    await locked.append(batch)
            except SeqTaken:
                failed += 1
        assert store.retries["40001"] == failed
        assert await everything(store) == rows + batch


async def test_tokens_and_snapshots_go_in_through_injected_failures(tables_url: str) -> None:
    async with opened(tables_url) as store:
        log, _ = await filled(store, 50)
        await inject(tables_url, AT_ONCE, "tokens", "saved_boards", "saved_parts", chance=0.1)
        for number in range(20):
            await store.put_token(token(number % 3, revoked_at=number))
            await store.append(log.write("task/A"))
            found = await loaded(store)
            await store.snapshot(found.board, found.tip)
            assert (await loaded(store)).replayed == 0
        assert [kept.reply.revoked_at for kept in await store.tokens()] == [17, 19, 18]
        assert store.retries["40001"] >= 3


async def test_tokens_that_are_put_at_once_do_not_refuse_each_other(tables_url: str) -> None:
    async with opened(tables_url) as one, opened(tables_url) as other:
        for _ in range(5):
            await asyncio.gather(*(store.put_token(token(1)) for store in (one, other) for _ in range(4)))
        assert await one.tokens() == [token(1)]


async def test_a_write_that_keeps_failing_says_that_the_store_is_busy(tables_url: str) -> None:
    async with opened(tables_url) as store:
        await inject(tables_url, AT_ONCE, "tokens", chance=1)
        with pytest.raises(StoreBusy, match="nothing was stored"):
            await store.put_token(token(1))
        assert store.retries["40001"] == 10


async def test_reads_go_through_injected_failures(tables_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tables_url) as store:
        log, rows = await filled(store, 1_200)
        found = await loaded(store)
        await store.snapshot(found.board, found.tip)
    fetch, chance = asyncpg.Connection.fetch, random.Random(7)

    async def failing(connection: asyncpg.Connection, query: str, *args: Any) -> Any:
        found = await fetch(connection, query, *args)
        if chance.random() < 0.2:
            raise asyncpg.SerializationError("injected")
        return found

    monkeypatch.setattr(asyncpg.Connection, "fetch", failing)
    async with opened(tables_url) as store:
        assert await everything(store) == rows
        assert (await loaded(store, verify=True)).tip == log.tip
        assert (await loaded(store)).replayed == 0
        assert [row.name for row in await store.boards()] == [BOARD]
        assert store.retries["40001"] >= 3


async def test_four_writers_at_serializable_with_injected_failures_lose_and_double_nothing(
    tables_url: str,
) -> None:
    """Each decides on the tip that it sees, and again on a new one where somebody else was faster."""
    conflicts: Counter[str] = Counter()

    async def write(store: Store, name: str) -> None:
        for number in range(25):
            while True:
                log = Log(tip=await store.tip(BOARD) or GENESIS, by=name)
                rows: list[Row] = log.say("mine", command_id=f"{name}-{number}")
                try:
                    await store.append(rows)
                except SeqTaken:
                    conflicts[name] += 1
                except CommandTaken:
                    raise AssertionError("it was stored before, and not acknowledged") from None
                else:
                    break

    async with opened(tables_url) as one, opened(tables_url) as other:
        await filled(one, 1)
        await inject(tables_url, AT_COMMIT, "events", chance=0.2)
        await asyncio.gather(*(write(store, f"{n}-{id(store)}") for store in (one, other) for n in range(2)))
        found = await everything(one)
        assert seqs(found) == list(range(1, 103))
        assert len({row.command_id for row in found}) == 102
        assert conflicts.total() > 0
        assert one.retries["40001"] + other.retries["40001"] > 0
