"""Connections to PostgreSQL: how many there are, what holds in each, and what the server tells of itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest

from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.store import open_store
from blackboard.store.durability import at_risk
from blackboard.store.postgresql.connecting import session
from blackboard.store.postgresql.store import PostgresqlStore
from blackboard.store.revision import NEWEST
from tests.store.support import BOARD, everything, filled, opened


@asynccontextmanager
async def opened_store(url: str, **settings: Any) -> AsyncIterator[PostgresqlStore]:
    store = await open_store(url, Settings(**settings))
    try:
        yield cast(PostgresqlStore, store)
    finally:
        await store.close()


async def sessions(url: str, expected: dict[str, int]) -> dict[str, int]:
    """The store's connections by purpose, as the server counts them; it may need a moment to see one end."""
    connection = await asyncpg.connect(url)
    found: dict[str, int] = {}
    for _ in range(100):
        counted = await connection.fetch(
            "SELECT application_name, count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name LIKE 'blackboard%' GROUP BY 1"
        )
        found = {name.removeprefix("blackboard "): count for name, count in counted}
        if found == expected:
            break
        await asyncio.sleep(0.05)
    await connection.close()
    return found


async def shown(store: PostgresqlStore, purpose: str, name: str) -> str:
    pool = store._writing if purpose == "write" else store._reading
    value: str = await pool.run(lambda connection: connection.fetchval(f"SHOW {name}"))
    return value


async def test_there_are_never_more_connections_than_were_set(tables_url: str) -> None:
    async with opened_store(tables_url, write_connections=2, read_connections=3) as store:
        logs = [(await filled(store, 1, f"board-{n}"))[0] for n in range(10)]
        for _ in range(5):
            batches = [log.write("task/A") for log in logs]
            reads = [store.rows(log.board) for log in logs]
            await asyncio.gather(*(store.append(batch) for batch in batches), *reads)
        expected = {"write": 2, "read": 3, "listen": 1}
        assert await sessions(tables_url, expected) == expected
        assert (await store.check())["open_connections"] == 5
    assert await sessions(tables_url, {}) == {}


async def test_nothing_is_connected_that_is_not_needed(tables_url: str) -> None:
    async with opened_store(tables_url) as store:
        await store.tip(BOARD)
        expected = {"read": 1}
        assert await sessions(tables_url, expected) == expected


@pytest.mark.parametrize("isolation", ["read-committed", "serializable"])
async def test_every_session_has_what_the_settings_say(postgres_url: str, isolation: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    database = postgres_url.rpartition("/")[2]
    for default in ("default_transaction_isolation = 'repeatable read'", "statement_timeout = 1"):
        await connection.execute(f"ALTER DATABASE {database} SET {default}")
    await connection.close()
    settings = {"isolation": isolation, "statement_timeout_seconds": 7.0, "idle_in_transaction_seconds": 0.25}
    async with opened_store(postgres_url, **settings) as store:
        for purpose in ("write", "read"):
            assert await shown(store, purpose, "transaction_isolation") == isolation.replace("-", " ")
            assert await shown(store, purpose, "statement_timeout") == "7s"
            assert await shown(store, purpose, "idle_in_transaction_session_timeout") == "250ms"
        assert await shown(store, "read", "transaction_read_only") == "on"
        assert await shown(store, "write", "transaction_read_only") == "off"
        assert (await store.check())["isolation"] == isolation.replace("-", " ")


def test_the_page_on_poolers_names_every_setting_that_a_session_begins_with() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "postgresql.md").read_text(encoding="utf-8")
    poolers = page.partition("## Poolers")[2].partition("\n## ")[0]
    listed = re.findall(r"\w+", poolers.partition("ignore_startup_parameters = ")[2].partition(").")[0])
    begun = set(session(Settings(durability="normal"), "write")) - {"application_name"}
    assert begun <= set(listed)


async def test_durability_normal_does_not_wait_for_the_disk_and_full_leaves_it_to_the_server(
    tables_url: str,
) -> None:
    async with opened_store(tables_url, durability="normal") as store:
        assert await shown(store, "write", "synchronous_commit") == "off"
        assert "synchronous_commit=off" in at_risk(await store.check())
    async with opened_store(tables_url) as store:
        assert await shown(store, "write", "synchronous_commit") == "on"
        assert "synchronous_commit=off" not in at_risk(await store.check())


async def test_the_check_tells_what_an_acknowledgement_rests_on(tables_url: str) -> None:
    async with opened_store(tables_url) as store:
        found = await store.check()
        assert found["engine"] == "postgresql"
        assert found["revision"] == found["newest_revision"] == NEWEST
        assert {found["fsync"], found["full_page_writes"]} <= {"on", "off"}
        assert (found["synchronous_commit"], found["isolation"]) == ("on", "read committed")
        assert found["replica"] is found["pooled"] is False
        assert abs(int(found["clock_ahead_ms"])) < 1_000
        assert int(found["bytes"]) > 0
        assert 0 < int(found["connections"]) <= int(found["connections_most"])
    connection = await asyncpg.connect(tables_url)
    assert found["version"] == await connection.fetchval("SHOW server_version")
    assert found["fsync"] == await connection.fetchval("SHOW fsync")
    await connection.close()


async def test_a_reader_who_gives_up_disturbs_nobody(tables_url: str) -> None:
    async with opened_store(tables_url, read_connections=2) as store:
        _, rows = await filled(store, 2_000)
        for turns in range(40):
            task = asyncio.create_task(store.rows(BOARD, limit=10_000))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        assert await everything(store) == rows
        assert (await sessions(tables_url, {"read": 2, "write": 1, "listen": 1}))["read"] <= 2


async def test_who_stops_waiting_for_a_lock_does_not_get_it(tables_url: str) -> None:
    async with opened_store(tables_url, write_connections=3) as store:
        log, _ = await filled(store, 1)

        async def wait() -> None:
            async with store.lock(BOARD):
                raise AssertionError("it was not free")

        async with store.lock(BOARD) as locked:
            for _ in range(10):
                task = asyncio.create_task(wait())
                await asyncio.sleep(0.02)
                task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
            await locked.append(log.write("task/A"))
        async with asyncio.timeout(5), store.lock(BOARD) as locked:
            await locked.append(log.write("task/A"))


async def test_closing_finishes_appends_that_wait_for_a_connection(tables_url: str) -> None:
    async with opened_store(tables_url, write_connections=1) as store:
        batches = [opened(f"board-{n}")[1] for n in range(20)]
        tasks = [asyncio.create_task(store.append(batch)) for batch in batches]
        await asyncio.sleep(0)
        await store.close()
        done = await asyncio.gather(*tasks, return_exceptions=True)
    async with opened_store(tables_url) as store:
        stored = {row.name for row in await store.boards()}
    for batch, outcome in zip(batches, done, strict=True):
        assert (batch[0].board in stored) is (outcome is None)
        assert outcome is None or isinstance(outcome, Unavailable)
    assert done[0] is None


async def test_a_cancelled_holder_in_the_middle_of_its_commit_commits_or_does_not(tables_url: str) -> None:
    async with opened_store(tables_url) as store:
        log, rows = await filled(store, 1)

        async def commit(batch: list) -> None:
            async with store.lock(BOARD) as locked:
                await locked.append(batch)

        for turns in range(0, 30, 3):
            batch = log.write("task/A")
            task = asyncio.create_task(commit(batch))
            for _ in range(turns):
                await asyncio.sleep(0)
            await asyncio.sleep(0.001 if turns % 2 else 0)
            task.cancel()
            await asyncio.wait([task])
            async with store.lock(BOARD) as locked:  # which waits for the commit under way
                if await store.tip(BOARD) != log.tip:
                    await locked.append(batch)
            rows += batch
        assert await everything(store) == rows
