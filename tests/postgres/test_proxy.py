"""The proxy of the fault tests does what it says: what it loses is lost, and nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.postgres.proxy import Fault, Proxy, proxying

LOST = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, ConnectionError)
APPEND = "INSERT INTO events (board, seq) VALUES ('b', $1)"


class Choice:
    """What happens at the next commits, told by the test."""

    fault: Fault = "none"

    def __call__(self) -> Fault:
        return self.fault


@asynccontextmanager
async def through(url: str, choice: Choice) -> AsyncIterator[tuple[Proxy, str]]:
    port = urlsplit(url).port
    assert port is not None
    async with proxying(port, choice) as proxy:
        yield proxy, url.replace(f":{port}/", f":{proxy.port}/")


async def connected(url: str) -> Any:
    return await asyncpg.connect(url)


async def stored(url: str) -> list[int]:
    """The events in the database, asked without a proxy."""
    direct = await connected(url)
    try:
        return [row["seq"] for row in await direct.fetch("SELECT seq FROM events ORDER BY seq")]
    finally:
        await direct.close()


@pytest.fixture
async def table(postgres_url: str) -> str:
    direct = await connected(postgres_url)
    await direct.execute("CREATE TABLE events (board text, seq int); CREATE TABLE other (n int)")
    await direct.close()
    return postgres_url


async def append(connection: Any, seq: int, how: str) -> None:
    if how == "prepared":
        await connection.execute(APPEND, seq)
    elif how == "text":
        await connection.execute(APPEND.replace("$1", str(seq)))
    elif how == "many":
        await connection.executemany(APPEND, [(seq,)])
    else:
        async with connection.transaction():
            await connection.fetch("SELECT 1 FROM events FOR UPDATE")
            await connection.execute(APPEND, seq)


HOW = pytest.mark.parametrize("how", ["prepared", "text", "many", "transaction"])


@HOW
async def test_a_postgres_append_passes_and_is_asked_about_once(table: str, how: str) -> None:
    async with through(table, Choice()) as (proxy, url):
        connection = await connected(url)
        for seq in (1, 2, 3):
            await append(connection, seq, how)
        await connection.execute("INSERT INTO other VALUES (1)")
        assert await connection.fetchval("SELECT count(*) FROM events") == 3
        await connection.close()
        assert proxy.faults == ["none"] * 3


@HOW
@pytest.mark.parametrize(("fault", "kept"), [("before", [1]), ("after", [1, 2])])
async def test_a_postgres_connection_is_cut_before_or_after_the_commit(
    table: str, how: str, fault: Fault, kept: list[int]
) -> None:
    choice = Choice()
    async with through(table, choice) as (proxy, url):
        connection = await connected(url)
        await append(connection, 1, how)
        choice.fault = fault
        with pytest.raises(LOST):
            await append(connection, 2, how)
        assert await stored(table) == kept
        assert proxy.faults == ["none", fault]
        assert proxy.cuts["transaction" if how == "transaction" else "statement", fault] == 1
        choice.fault = "none"
        again = await connected(url)
        await append(again, 3, how)
        await again.close()
        assert await stored(table) == [*kept, 3]


async def test_a_postgres_transaction_that_is_rolled_back_commits_nothing(table: str) -> None:
    choice = Choice()
    choice.fault = "before"
    async with through(table, choice) as (proxy, url):
        connection = await connected(url)
        given_up = connection.transaction()
        await given_up.start()
        await connection.execute(APPEND, 1)
        await given_up.rollback()
        async with connection.transaction():
            await connection.execute("INSERT INTO other VALUES (1)")
        await connection.close()
        assert proxy.faults == []


async def test_a_postgres_commit_is_delayed(table: str) -> None:
    async with through(table, Choice()) as (proxy, url):
        connection = await connected(url)
        proxy.delay = 0.2
        begun = time.monotonic()
        await connection.fetchval("SELECT 1")
        assert time.monotonic() - begun < 0.2
        await append(connection, 1, "prepared")
        assert time.monotonic() - begun >= 0.2
        await connection.close()


async def test_all_postgres_connections_are_cut_at_once_and_new_ones_pass(table: str) -> None:
    async with through(table, Choice()) as (proxy, url):
        several = [await connected(url) for _ in range(3)]
        proxy.cut()
        for connection in several:
            with pytest.raises(LOST):
                await connection.fetchval("SELECT 1")
        connection = await connected(url)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
