"""A board embedded on PostgreSQL: who shares it, what it opens, how it ends, and what it never says."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

import blackboard
from blackboard.client import Board, SyncBoard
from blackboard.client.embedded import EmbeddedTransport
from blackboard.config import Settings
from blackboard.store.migrating import migrate
from tests.postgres.cluster import Databases, own_cluster

UP_TO = Settings(connect_seconds=5.0, conflict_seconds=2.0)


def runtime_of(board: SyncBoard) -> object:
    transport = board._board._transport
    assert isinstance(transport, EmbeddedTransport)
    return transport.runtime.service


def python(code: str, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | {"URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def spellings(url: str) -> list[str]:
    """The same database of the same user, written in other ways."""
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port}"
    return [
        url,
        url.replace("postgresql://", "postgres://"),
        f"postgresql://{place}{parts.path}?user={parts.username}&password={quote(parts.password or '')}",
    ]


def test_every_spelling_of_a_url_shares_one_runtime(postgres_url: str) -> None:
    boards = [blackboard.connect_sync(url, board="b", agent="a") for url in spellings(postgres_url)]
    try:
        assert len({id(runtime_of(board)) for board in boards}) == 1
        boards[0].write("k", 1, revision=1)
        assert [board.read("k").value for board in boards] == [1, 1, 1]
    finally:
        for board in boards:
            board.close()


def test_another_database_of_the_same_server_is_another_board(
    postgres_url: str, postgres_databases: Databases
) -> None:
    other = postgres_databases.create()
    with (
        blackboard.connect_sync(postgres_url, board="b", agent="a") as one,
        blackboard.connect_sync(other, board="b", agent="a") as two,
    ):
        assert runtime_of(one) is not runtime_of(two)
        one.write("k", 1, revision=1)
        assert two.read("k").revision == 0
    postgres_databases.drop(other)


async def test_an_agents_first_command_opens_a_board_where_the_settings_allow_it(postgres_url: str) -> None:
    async with blackboard.connect(
        postgres_url, board="b", agent="a", settings=Settings(auto_open=False)
    ) as board:
        with pytest.raises(blackboard.UnknownBoard):
            await board.read("k")
    async with blackboard.connect(postgres_url, board="b", agent="a") as board:
        assert (await board.read("k")).revision == 0
        assert [event.kind async for event in board.log()] == ["board.opened", "board.read"]


@pytest.mark.parametrize("revision", ["0001", "0002"])
async def test_older_tables_are_left_as_they_are_and_the_command_to_run_is_named(
    revision: str, postgres_url: str
) -> None:
    await asyncio.to_thread(migrate, postgres_url, revision)
    with pytest.raises(blackboard.SchemaMismatch, match="blackboard db upgrade") as caught:
        await blackboard.connect(postgres_url, board="b", agent="a")
    assert revision in caught.value.detail
    assert postgres_url not in caught.value.detail
    await asyncio.to_thread(migrate, postgres_url)
    async with blackboard.connect(postgres_url, board="b", agent="a") as board:
        await board.write("k", 1, revision=1)


async def test_what_was_acknowledged_is_there_when_it_is_opened_again(postgres_url: str) -> None:
    for revision in range(1, 4):
        async with blackboard.connect(postgres_url, board="b", agent="a") as board:
            await board.write("k", revision, revision=revision)
            assert (await board.read("k")).value == revision


FORGOTTEN = """
    import os, blackboard
    board = blackboard.connect_sync(os.environ["URL"], board="b", agent="a")
    board.write("k", 1, revision=1)
    events = board.follow()
    print(next(events).seq)
"""


def test_a_forgotten_close_neither_hangs_nor_complains(postgres_url: str) -> None:
    began = time.monotonic()
    done = python(FORGOTTEN, postgres_url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert time.monotonic() - began < 20


FORKED = """
    import os, sys, warnings, blackboard
    warnings.simplefilter("ignore")
    def connect():
        return blackboard.connect_sync(os.environ["URL"], board="b", agent="a")
    board = connect()
    board.write("k", "before", revision=1)
    if (pid := os.fork()) == 0:
        try:
            board.read("k")
        except blackboard.Unavailable as error:
            print(error.code, "connect in the child" in error.detail)
        with connect() as own:
            own.write("k", "by the child", revision=2)
        board.close()
        sys.exit()
    print(os.waitpid(pid, 0)[1], flush=True)
    print(board.read("k").value)
    board.write("k", "after", revision=3)
    board.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_connects_anew_and_leaves_the_parents_connections_alone(postgres_url: str) -> None:
    done = python(FORKED, postgres_url)
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["unavailable True", "0", "by the child", ""]


@pytest.mark.parametrize("wrong", ["password", "database", "port"])
async def test_what_cannot_be_reached_is_unavailable_and_no_password_is_told(
    wrong: str, postgres_url: str
) -> None:
    parts = urlsplit(postgres_url)
    changed = {
        "password": postgres_url.replace(str(parts.password), "geheim"),
        "database": postgres_url + "_not_there",
        "port": postgres_url.replace(f":{parts.port}/", ":1/"),
    }[wrong]
    with pytest.raises(blackboard.Unavailable) as caught:
        await blackboard.connect(changed, board="b", agent="a", settings=UP_TO)
    told: BaseException | None = caught.value
    while told is not None:
        assert "geheim" not in repr(told)
        assert str(parts.password) not in repr(told)
        told = told.__cause__ or told.__context__
    assert str(parts.hostname) in caught.value.detail


async def test_postgres_may_go_and_come_back_under_an_open_board() -> None:
    with own_cluster({"fsync": "off"}) as cluster:
        board = await blackboard.connect(cluster.url, board="b", agent="a", settings=UP_TO)
        await board.write("k", 1, revision=1)
        cluster.kill()
        with pytest.raises((blackboard.Unavailable, blackboard.OutcomeUnknown)):
            await board.write("k", 2, revision=2)
        began = time.monotonic()
        with pytest.raises(blackboard.Unavailable):
            await board.read("k")
        assert time.monotonic() - began < 20
        cluster.start()
        await _as_soon_as_it_is_back(board)
        entry = await board.read("k")
        ack = await board.write("k", 3, revision=entry.revision + 1)
        assert ack.head == ack.seq
        cluster.kill()
        began = time.monotonic()
        await board.close()
        assert time.monotonic() - began < 20


async def _as_soon_as_it_is_back(board: Board) -> Any:
    for _ in range(50):
        try:
            return await board.read("k")
        except blackboard.Unavailable:
            continue
    raise AssertionError("it does not recover")
