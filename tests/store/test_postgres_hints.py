"""Hints: who appended tells the others, soon, together, and never holds anything up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from blackboard.config import Settings
from blackboard.store import open_store
from blackboard.store.contract import SeqTaken, Store
from blackboard.store.postgresql import listening
from tests.store.support import Log, filled

Heard = asyncio.Queue[str | None]


@asynccontextmanager
async def opened(url: str, **settings: Any) -> AsyncIterator[Store]:
    store = await open_store(url, Settings(**settings))
    try:
        yield store
    finally:
        await store.close()


async def listener(store: Store) -> Heard:
    heard: Heard = asyncio.Queue()
    await store.listen(heard.put_nowait)
    return heard


async def soon(heard: Heard) -> str | None:
    return await asyncio.wait_for(heard.get(), 5)


async def quiet(heard: Heard) -> bool:
    """Whether nothing comes in a while in which something would have."""
    await asyncio.sleep(0.1)
    return heard.empty()


async def notifications(url: str) -> tuple[asyncpg.Connection, list[str]]:
    """What any client of the database hears."""
    seen: list[str] = []
    connection = await asyncpg.connect(url)
    await connection.add_listener(listening.CHANNEL, lambda *told: seen.append(told[3]))
    return connection, seen


async def test_the_others_hear_of_an_append_and_oneself_does_not(tables_url: str) -> None:
    async with opened(tables_url) as one, opened(tables_url) as other:
        ours, theirs = await listener(one), await listener(other)
        log, _ = await filled(one, 1, "a")
        assert await soon(theirs) == "a"
        async with one.lock("a") as locked:
            await locked.append(log.write("task/A"))
        assert await soon(theirs) == "a"
        assert await quiet(ours)
        await filled(other, 1, "naïve 🧩")
        assert await soon(ours) == "naïve 🧩"
        assert await quiet(theirs)


async def test_who_does_not_listen_tells_the_others_too(tables_url: str) -> None:
    async with opened(tables_url) as other:
        heard = await listener(other)
        async with opened(tables_url) as one:  # closed at once: what was told still goes out
            await filled(one, 1)
        assert await soon(heard) == "release"


async def test_hints_of_a_few_milliseconds_go_out_together(tables_url: str) -> None:
    connection, seen = await notifications(tables_url)
    async with opened(tables_url) as store:
        logs = [(await filled(store, 1, f"board-{n}"))[0] for n in range(3)]
        await asyncio.sleep(0.2)
        seen.clear()
        began = time.monotonic()
        for _ in range(30):
            await asyncio.gather(*(store.append(log.write("task/A")) for log in logs))
        took = time.monotonic() - began
        await asyncio.sleep(0.2)
    assert {*seen} == {log.board for log in logs}
    assert len(seen) <= 3 * (took / listening.GATHER_SECONDS + 2)
    await connection.close()


async def test_an_append_that_was_refused_is_not_told(tables_url: str) -> None:
    async with opened(tables_url) as one, opened(tables_url) as other:
        log, _ = await filled(one, 1)
        await asyncio.sleep(0.1)  # that has been told
        heard = await listener(other)
        late = Log(tip=log.tip, by="rival")
        late.say("lost")
        with pytest.raises(SeqTaken):
            await one.append(late.say("not behind the tip"))
        assert await quiet(heard)


async def test_switched_off_nothing_is_told_or_heard(tables_url: str) -> None:
    connection, seen = await notifications(tables_url)
    async with opened(tables_url, notify=False) as one, opened(tables_url) as other:
        heard = await listener(one)
        await filled(one, 1, "a")
        await filled(other, 1, "b")
        assert await quiet(heard)
        names = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'blackboard listen'"
        assert await connection.fetchval(names + " AND datname = current_database()") == 1
    assert seen == ["b"]
    await connection.close()


async def test_a_listener_that_was_cut_looks_everywhere(tables_url: str) -> None:
    connection = await asyncpg.connect(tables_url)
    async with opened(tables_url) as one, opened(tables_url, notify=False) as other:
        heard = await listener(one)
        await connection.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'blackboard listen' AND datname = current_database()"
        )
        await filled(other, 1)  # whatever happens meanwhile
        assert await soon(heard) is None
    await connection.close()


async def test_an_idle_listener_is_asked_whether_it_still_is_one(
    tables_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "LIVENESS_SECONDS", 0.05)
    async with opened(tables_url) as one, opened(tables_url) as other:
        heard = await listener(one)
        await asyncio.sleep(0.3)
        await filled(other, 1)
        assert await soon(heard) == "release"


async def test_an_engine_without_notifications_is_used_without_them(
    tables_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unsupported(_connection: asyncpg.Connection, _channel: str, _hear: Any) -> None:
        raise asyncpg.FeatureNotSupportedError("LISTEN is not implemented")

    monkeypatch.setattr(asyncpg.Connection, "add_listener", unsupported)
    async with opened(tables_url) as store:
        async with asyncio.timeout(5):
            heard = await listener(store)
        await filled(store, 1)
        assert await quiet(heard)


async def test_closing_does_not_wait_for_hints_that_nobody_takes(
    tables_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_args: Any) -> Any:
        await asyncio.sleep(60)

    store = await open_store(tables_url, Settings())
    monkeypatch.setattr(listening, "connect", never)
    await filled(store, 1)
    async with asyncio.timeout(listening.LAST_SECONDS + 1):
        await store.close()
