"""PostgreSQL in trouble: an honest error without a password, nothing half done, and on it goes afterwards."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from blackboard.config import Settings
from blackboard.errors import (
    BlackboardError,
    IntegrityFailure,
    Malformed,
    NotAllowed,
    OutcomeUnknown,
    SchemaMismatch,
    StoreBusy,
    Unavailable,
)
from blackboard.store import open_store
from blackboard.store.contract import SeqTaken, Store
from tests.faults.serving import free_port
from tests.postgres.cluster import Cluster, Databases, database_at, own_cluster
from tests.store.support import BOARD, everything, filled, loaded, opened


@asynccontextmanager
async def opened_store(url: str, *, read_only: bool = False, **settings: Any) -> AsyncIterator[Store]:
    store = await open_store(url, Settings(**settings), read_only=read_only)
    try:
        yield store
    finally:
        await store.close()


async def execute(url: str, *statements: str) -> None:
    """As an administrator would, beside the store."""
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def refused(url: str) -> BlackboardError:
    """What opening says of a URL, which must not be its password."""
    with pytest.raises(BlackboardError) as error:
        await open_store(url, Settings(connect_seconds=5))
    assert "secret" not in repr([error.value, error.value.detail, error.value.members, error.value.__cause__])
    return error.value


def changed(url: str, *, user: str = "", password: str = "", database: str = "", query: str = "") -> str:
    parts = urlsplit(url)
    named = f"{user or parts.username}:{password or parts.password}@{parts.hostname}:{parts.port}"
    return f"postgresql://{named}{database or parts.path}{query}"


async def test_a_wrong_password_is_not_repeated(tables_url: str) -> None:
    error = await refused(changed(tables_url, password="secret-7"))
    assert isinstance(error, Unavailable)
    assert "refuses this user" in error.detail
    assert "postgresql://postgres@127.0.0.1" in error.detail


async def test_an_unknown_user_is_named(tables_url: str) -> None:
    assert "nobody@127.0.0.1" in (await refused(changed(tables_url, user="nobody"))).detail


async def test_a_database_that_does_not_exist_is_named(tables_url: str) -> None:
    error = await refused(changed(tables_url, database="/missing"))
    assert isinstance(error, Unavailable)
    assert "/missing does not exist: create it" in error.detail


async def test_a_server_that_is_not_there_is_named() -> None:
    port = free_port()
    error = await refused(f"postgresql://someone:secret@127.0.0.1:{port}/board")
    assert isinstance(error, Unavailable)
    assert f"127.0.0.1:{port}/board cannot be reached" in error.detail
    assert error.members["retry_after"] == 1


async def test_a_host_that_nobody_knows_is_named() -> None:
    error = await refused("postgresql://someone:secret@no-such-host.invalid/board")
    assert "no-such-host.invalid/board cannot be reached" in error.detail


async def test_a_server_that_says_nothing_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://someone:secret@127.0.0.1:{silent.getsockname()[1]}/board"
        with pytest.raises(Unavailable, match="cannot be reached"):
            await open_store(url, Settings(connect_seconds=0.2))


@pytest.mark.parametrize("option", ["sslmode=maybe", "no_such_setting=1", "work_mem=many"])
async def test_options_that_are_wrong_are_refused(tables_url: str, option: str) -> None:
    error = await refused(changed(tables_url, query=f"?{option}&password=secret"))
    assert isinstance(error, Malformed)
    assert "has options that" in error.detail


async def test_who_may_not_connect_or_write_is_told(postgres_url: str, postgres_databases: Databases) -> None:
    async with opened_store(postgres_url):
        pass
    name, password = f"guest_{secrets.token_hex(4)}", secrets.token_hex(8)
    postgres_databases.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}' CONNECTION LIMIT 3")
    try:
        url = changed(postgres_url, user=name, password=password)
        error = await refused(url)
        assert "may not do that" in error.detail
        await execute(postgres_url, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
        async with opened_store(url, notify=False) as store:
            _, rows = opened()
            with pytest.raises(Unavailable, match="grant it SELECT, INSERT") as denied:
                await store.append(rows)
            assert not isinstance(denied.value, OutcomeUnknown)
            assert await store.boards() == []
    finally:
        postgres_databases.execute(f"DROP OWNED BY {name}")
        await execute(postgres_url, f"DROP OWNED BY {name}")
        postgres_databases.execute(f"DROP ROLE {name}")


async def test_connections_that_are_used_up_are_said_to_be(
    postgres_url: str, postgres_databases: Databases
) -> None:
    name, password = f"guest_{secrets.token_hex(4)}", secrets.token_hex(8)
    postgres_databases.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}' CONNECTION LIMIT 3")
    try:
        async with opened_store(postgres_url):
            await execute(postgres_url, f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}")
        url = changed(postgres_url, user=name, password=password)
        async with opened_store(url, notify=False, read_connections=8, write_connections=1) as store:
            await filled(store, 50)
            found = await asyncio.gather(*(store.rows(BOARD) for _ in range(40)), return_exceptions=True)
            failed = [error for error in found if isinstance(error, BaseException)]
            assert failed
            assert all(isinstance(error, Unavailable) for error in failed)
            assert "no connection left" in str(failed[0])
            assert len(await store.rows(BOARD)) == 51
    finally:
        await execute(postgres_url, f"DROP OWNED BY {name}")
        postgres_databases.execute(f"DROP ROLE {name}")


async def test_a_database_of_another_encoding_is_refused(postgres_databases: Databases) -> None:
    url = postgres_databases.create()
    name = urlsplit(url).path[1:]
    postgres_databases.drop(url)
    postgres_databases.execute(
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    try:
        assert "ENCODING 'UTF8'" in (await refused(url)).detail
    finally:
        postgres_databases.drop(url)


async def test_another_applications_database_is_refused(postgres_url: str) -> None:
    await execute(postgres_url, "CREATE TABLE invoices (id int)")
    assert isinstance(await refused(postgres_url), SchemaMismatch)


async def test_tables_that_go_missing_are_a_schema_mismatch(postgres_url: str) -> None:
    async with opened_store(postgres_url) as store:
        await execute(postgres_url, "DROP TABLE events")
        _, rows = opened()
        for call in (store.append(rows), store.tip(BOARD), store.boards()):
            with pytest.raises(SchemaMismatch, match="blackboard db upgrade"):
                await call


async def test_who_only_reads_makes_and_changes_nothing(postgres_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="blackboard db upgrade"):
        await open_store(postgres_url, Settings(), read_only=True)
    async with opened_store(postgres_url) as owner, opened_store(postgres_url, read_only=True) as reader:
        log, rows = await filled(owner, 3)
        assert await everything(reader) == rows
        for call in (reader.append(log.write("task/A")), reader.snapshot(*(await loaded(reader))[:2])):
            with pytest.raises(NotAllowed, match="for reading only"):
                await call
        with pytest.raises(NotAllowed):
            async with reader.lock(BOARD):
                pass
        connections = reader._reading  # type: ignore[attr-defined]  # what lies beneath the contract
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connections.run(lambda connection: connection.execute("DELETE FROM events"))


@asynccontextmanager
async def board_held(url: str) -> AsyncIterator[None]:
    """Somebody else holds the board's row."""
    connection = await asyncpg.connect(url)
    async with connection.transaction():
        await connection.fetch("SELECT id FROM boards WHERE id = $1 FOR UPDATE", BOARD)
        yield
    await connection.close()


async def test_a_statement_that_takes_too_long_is_ended_and_stores_nothing(tables_url: str) -> None:
    async with opened_store(tables_url, statement_timeout_seconds=0.2) as store:
        log, rows = await filled(store, 3)
        batch = log.write("task/A")
        async with board_held(tables_url):
            with pytest.raises(StoreBusy, match="statement_timeout_seconds") as error:
                await store.append(batch)
            assert "nothing was stored" in error.value.detail
            with pytest.raises(StoreBusy):
                async with store.lock(BOARD):
                    pass
            assert await everything(store) == rows
        await store.append(batch)
        assert await everything(store) == rows + batch


async def test_a_holder_that_does_nothing_loses_its_lock(tables_url: str) -> None:
    async with opened_store(tables_url, idle_in_transaction_seconds=0.2) as store:
        log, rows = await filled(store, 3)
        batch = log.write("task/A")
        async with store.lock(BOARD) as locked:
            await asyncio.sleep(0.6)
            with pytest.raises(SeqTaken):  # somebody else may have been faster
                await locked.append(batch)
        assert await everything(store) == rows
        async with store.lock(BOARD) as locked:
            await locked.append(batch)
        assert await everything(store) == rows + batch


async def ended(url: str, like: str) -> int:
    """End the sessions of one purpose from outside; how many there were."""
    connection = await asyncpg.connect(url)
    found = await connection.fetch(
        "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity "
        "WHERE application_name = $1 AND datname = current_database()",
        like,
    )
    await connection.close()
    return len(found)


@pytest.mark.parametrize("way", ["plain", "locked"])
async def test_an_append_whose_connection_is_cut_may_have_been_stored(tables_url: str, way: str) -> None:
    async with opened_store(tables_url) as store:
        log, rows = await filled(store, 3)
        batch = log.write("task/A")
        # The row is inserted, and then the statement waits for us: the cut meets it in the middle.
        await execute(
            tables_url,
            "CREATE FUNCTION injected.dawdle() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(30); RETURN NULL; END $$",
            "CREATE TRIGGER dawdle AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION injected.dawdle()",
        )

        async def append() -> None:
            if way == "plain":
                await store.append(batch)
            else:
                async with store.lock(BOARD) as locked:
                    await locked.append(batch)

        task = asyncio.create_task(append())
        await asyncio.sleep(0.3)
        assert await ended(tables_url, "blackboard write") == 1
        with pytest.raises(OutcomeUnknown, match="same idempotency key"):
            await task
        await execute(tables_url, "DROP TRIGGER dawdle ON events")
        assert await everything(store) == rows
        await store.append(batch)
        assert await everything(store) == rows + batch


async def test_a_read_on_a_connection_that_is_dead_is_made_again(tables_url: str) -> None:
    async with opened_store(tables_url, read_connections=2) as store:
        _, rows = await filled(store, 300)
        for _ in range(5):
            await asyncio.gather(*(store.tip(BOARD) for _ in range(20)))
            assert await ended(tables_url, "blackboard read") >= 1
            assert await asyncio.gather(*(store.rows(BOARD) for _ in range(10))) == [rows] * 10


FULL = """
CREATE FUNCTION injected.full_disk() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: no space left on device' USING ERRCODE = '{state}'; END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION injected.full_disk();
"""


async def test_a_full_disk_refuses_what_does_not_fit_and_takes_it_later(tables_url: str) -> None:
    async with opened_store(tables_url) as store:
        log, rows = await filled(store, 3)
        batch = log.write("task/A")
        await execute(tables_url, FULL.format(state="53100"))
        for _ in range(3):
            with pytest.raises(Unavailable, match="no space is left") as error:
                await store.append(batch)
            assert not isinstance(error.value, OutcomeUnknown)
        assert await everything(store) == rows
        await execute(tables_url, "DROP TRIGGER full_disk ON events")
        await store.append(batch)
        assert await everything(store) == rows + batch


@pytest.mark.parametrize(
    ("state", "kind", "match"),
    [
        ("XX001", IntegrityFailure, "restore a backup"),
        ("26000", Unavailable, "does not keep prepared statements"),
        ("55P03", StoreBusy, "try again"),
        ("54000", Unavailable, "cannot be used now; nothing was stored"),
    ],
)
async def test_what_the_server_says_becomes_what_to_do(
    tables_url: str, state: str, kind: type[BlackboardError], match: str
) -> None:
    async with opened_store(tables_url) as store:
        log, rows = await filled(store, 3)
        await execute(tables_url, FULL.format(state=state))
        with pytest.raises(kind, match=match):
            await store.append(log.write("task/A"))
        assert await everything(store) == rows


@pytest.mark.parametrize("kind", ["row", "board"])
async def test_a_lock_holder_never_waits_for_a_reader(tables_url: str, kind: str) -> None:
    async with opened_store(tables_url, read_connections=1, write_connections=1) as store:
        await filled(store, 3)
        async with store.lock(BOARD):
            for _ in range(10):
                found = await (store.tip(BOARD) if kind == "row" else store.load(BOARD))
                assert found is not None


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A server of our own, which is stopped, killed and turned into a replica."""
    with own_cluster({"wal_level": "replica", "fsync": "off"}) as running:
        yield running


@pytest.mark.parametrize("way", ["stop", "kill"])
async def test_a_server_that_is_gone_is_an_error_at_once_and_none_when_it_is_back(
    cluster: Cluster, way: str
) -> None:
    async with opened_store(database_at(cluster)) as store:
        log, rows = await filled(store, 20)
        batch = log.writes(3)
        getattr(cluster, way)()
        for _ in range(3):
            async with asyncio.timeout(2):
                for call in (store.append(batch), store.tip(BOARD), store.check()):
                    with pytest.raises(Unavailable):
                        await call
        cluster.start()
        assert await everything(store) == rows
        await store.append(batch)
        assert await everything(store) == rows + batch
        assert (await loaded(store)).tip == log.tip


async def test_hints_are_heard_again_after_the_server_was_gone(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    url = database_at(cluster)
    heard: asyncio.Queue[str | None] = asyncio.Queue()
    async with opened_store(url) as one, opened_store(url) as other:
        await other.listen(heard.put_nowait)
        log, _ = await filled(one, 1)
        assert await asyncio.wait_for(heard.get(), 5) == BOARD
        cluster.kill()
        async with asyncio.timeout(15):
            while len(caplog.messages) < 2:  # noqa: ASYNC110 - a log has no event
                await asyncio.sleep(0.01)
        cluster.start()
        assert await asyncio.wait_for(heard.get(), 15) is None  # look everywhere
        await one.append(log.write("task/A"))
        assert await asyncio.wait_for(heard.get(), 15) == BOARD
    gone, back = caplog.messages[:2], caplog.messages[2:]
    assert all("the database is gone" in one for one in gone), "said once by each, however often it is tried"
    assert [one.endswith(" is back") for one in back] == [True, True]
    assert f"{urlsplit(url).password}@" not in caplog.text


async def test_a_replica_is_read_and_says_that_it_cannot_be_written(cluster: Cluster) -> None:
    url = database_at(cluster)
    async with opened_store(url) as store:
        log, rows = await filled(store, 20)
    cluster.stop()
    signal = cluster._data / "standby.signal"
    signal.touch()
    cluster.start()
    try:
        async with opened_store(url) as store:
            assert await everything(store) == rows
            assert (await loaded(store)).tip == log.tip
            with pytest.raises(Unavailable, match="name the primary"):
                await store.append(log.write("task/A"))
            with pytest.raises(Unavailable, match="it is a replica"):
                async with store.lock(BOARD):
                    pass
            await store.listen(lambda _board: None)
            assert (await store.check())["replica"] is True
    finally:
        cluster.stop()
        signal.unlink()
        cluster.start()
