"""From a URL and a name to a board: what is accepted, what is refused, and where tokens come from."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import blackboard
from blackboard import config
from blackboard.client import Board, SyncBoard, connect
from blackboard.client.http import HttpTransport
from blackboard.config import OPERATOR_TOKEN
from blackboard.messages.principal import Grants
from tests.client.support import QUICK, Answer, ack, fake_server

SERVER = "http://127.0.0.1:1"


async def test_connect_is_awaited_or_entered() -> None:
    board = await blackboard.connect("memory://", board="b", agent="a")
    assert type(board) is Board
    await board.close()
    async with await blackboard.connect("memory://", board="b", agent="a") as board:
        assert repr(board) == "<Board 'b' at head 0>"
    async with blackboard.connect("memory://", board="b", agent="a") as board:
        assert (board.name, board.head, board.standing, board.guarantee) == ("b", 0, None, None)


def test_connect_sync_is_a_context_manager() -> None:
    with blackboard.connect_sync("memory://", board="b", agent="a") as board:
        assert type(board) is SyncBoard
        assert repr(board) == "<SyncBoard 'b' at head 0>"
        assert (board.name, board.notices, board.moved) == ("b", (), ())


@pytest.mark.parametrize(
    ("options", "member"),
    [
        ({"board": "b"}, "agent"),
        ({"board": "b", "agent": "a", "operator": "o"}, "agent"),
        ({"board": "b", "agent": ""}, "agent"),
        ({"board": "b", "agent": "a\n"}, "agent"),
        ({"board": "b", "agent": 5}, "agent"),
        ({"board": "", "agent": "a"}, "board"),
        ({"board": "b" * 129, "agent": "a"}, "board"),
        ({"board": "b", "agent": "a", "token": "t"}, "token"),
        ({"board": "b", "agent": "a", "grants": {"all": True}}, "grants"),
        ({"board": "b", "agent": "a", "grants": "all"}, "grants"),
        ({"board": "b", "agent": "a", "timeout": 0}, "timeout"),
        ({"board": "b", "agent": "a", "connections": 0}, "connections"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: Any, member: str) -> None:
    with pytest.raises(blackboard.Malformed) as caught:
        blackboard.connect_sync("memory://", **options)
    assert caught.value.member == member


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="agnet"):
        blackboard.connect("memory://", agnet="a")  # type: ignore[call-arg]  # what is refused


@pytest.mark.parametrize(
    "url", ["http://", "http://host:port", "http://u:p@host", "http://host/?a=1", "https://[::1", "ftp://x/y"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(blackboard.Malformed):
        blackboard.connect_sync(url, board="b", agent="a" if url.startswith("ftp") else None)


def test_over_http_grants_and_settings_are_the_servers() -> None:
    for options in ({"grants": Grants()}, {"settings": config.Settings()}):
        with pytest.raises(blackboard.Malformed, match="over HTTP"):
            blackboard.connect_sync(SERVER, board="b", **options)


async def test_embedded_grants_default_to_the_narrow_side() -> None:
    async with blackboard.connect("memory://", board="b", agent="a") as board:
        with pytest.raises(blackboard.NotAllowed, match="report_peers"):
            await board.compacted(agents=["b"])
    async with blackboard.connect(
        "memory://", board="b", agent="a", grants={"report_peers": True, "writes": ["mine/*"]}
    ) as board:
        await board.compacted(agents=["b"])
        with pytest.raises(blackboard.NotAllowed):
            await board.write("k", 1, revision=1)


async def test_a_board_has_to_be_named_for_what_concerns_one() -> None:
    async with blackboard.connect("memory://", operator="o") as board:
        assert (await board.list_boards()).boards == []
        with pytest.raises(blackboard.Malformed, match="name the board"):
            await board.get_board()
        with pytest.raises(blackboard.Malformed, match="name the board"):
            async for _ in board.follow():
                pass


async def test_an_embedded_board_has_no_tokens() -> None:
    async with blackboard.connect("memory://", operator="o") as board:
        with pytest.raises(blackboard.NotAllowed, match="tokens belong to a server"):
            await board.create_token("agent", "a")
        with pytest.raises(blackboard.NotAllowed):
            await board.list_tokens()
        with pytest.raises(blackboard.NotAllowed):
            await board.revoke_token("token-1")


async def test_several_connections_of_a_process_share_one_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'board.db'}"
    async with (
        blackboard.connect(url, board="b", agent="a") as a,
        blackboard.connect(str(tmp_path / "board.db"), board="b", agent="b") as b,
    ):
        await a.write("k", 1, revision=1)
        assert (await b.read("k")).value == 1
        sync = await asyncio.to_thread(blackboard.connect_sync, url, board="b", auditor="kim")
        assert (await asyncio.to_thread(sync.get_board)).head == b.head
        await asyncio.to_thread(sync.close)


async def test_a_relative_file_is_made_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with blackboard.connect("sqlite:///board.db", board="b", agent="a") as board:
        await board.write("k", 1, revision=1)
    assert (tmp_path / "board.db").exists()


async def test_a_board_is_not_opened_where_the_settings_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'board.db'}"
    monkeypatch.setenv("BLACKBOARD_AUTO_OPEN", "false")
    async with blackboard.connect(url, board="b", agent="a") as board:
        with pytest.raises(blackboard.UnknownBoard):
            await board.read("k")


async def sent_token(url_server: Any, **options: Any) -> str | None:
    async with connect(url_server.url, **options) as board:
        await board.list_boards()
    sent: str | None = url_server.asked[-1].headers.get("Authorization")
    return sent


async def test_the_token_is_the_argument_the_environments_or_the_local_operators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with fake_server() as server:
        server.answer({"boards": []})
        assert await sent_token(server) is None
        state = Path(str(config.load().state_dir))
        state.mkdir(parents=True)
        (state / OPERATOR_TOKEN).write_text("bb_local\n")
        (state / OPERATOR_TOKEN).chmod(0o600)
        assert await sent_token(server) == "Bearer bb_local"
        monkeypatch.setenv("BLACKBOARD_TOKEN", "bb_environment")
        assert await sent_token(server) == "Bearer bb_environment"
        assert await sent_token(server, token="bb_argument") == "Bearer bb_argument"


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
async def test_a_token_that_others_can_read_is_not_used() -> None:
    async with fake_server() as server:
        server.answer({"boards": []})
        state = Path(str(config.load().state_dir))
        state.mkdir(parents=True)
        (state / OPERATOR_TOKEN).write_text("bb_local\n")
        (state / OPERATOR_TOKEN).chmod(0o644)
        assert await sent_token(server) is None


async def test_the_local_operators_token_goes_to_this_machine_alone_and_to_no_agent() -> None:
    state = Path(str(config.load().state_dir))
    state.mkdir(parents=True)
    (state / OPERATOR_TOKEN).write_text("bb_local\n")
    (state / OPERATOR_TOKEN).chmod(0o600)

    async def headers(url: str, **options: Any) -> dict[str, str]:
        async with connect(url, board="b", **options) as board:
            assert isinstance(board._transport, HttpTransport)
            return board._transport._wire.headers

    assert await headers("http://localhost:1") == {"Authorization": "Bearer bb_local"}
    assert await headers("http://[::1]:1") == {"Authorization": "Bearer bb_local"}
    assert await headers("http://192.0.2.1:1") == {}
    assert await headers("http://board.example:1") == {}
    async with fake_server() as server:
        server.answer(Answer({"boards": []}, headers={"Blackboard-Actor": "agent:a"}))
        assert "Authorization" in await headers(server.url, token="x", agent="a")
        await headers(server.url, agent="a")
        assert "Authorization" not in server.asked[-1].headers


@pytest.mark.parametrize("token", ["a\nb", "tökén", "\x7f"])
def test_a_token_that_no_header_carries_is_refused(token: str) -> None:
    with pytest.raises(blackboard.Malformed) as caught:
        blackboard.connect_sync(SERVER, board="b", token=token)
    assert caught.value.member == "token"
    assert token not in caught.value.detail


async def test_a_name_given_over_http_must_be_the_tokens() -> None:
    async with fake_server() as server:
        server.answer(Answer({"boards": []}, headers={"Blackboard-Actor": "agent:planner"}))
        async with connect(server.url, board="b", token="t", agent="planner"):
            pass
        for options in ({"agent": "executor"}, {"operator": "planner"}):
            with pytest.raises(blackboard.NotAllowed, match="the token acts as agent:planner"):
                await connect(server.url, board="b", token="t", **options)  # type: ignore[arg-type]  # what is refused
    assert all(asked.path == "/v1/boards" for asked in server.asked)


async def test_without_a_name_connecting_asks_nothing() -> None:
    async with fake_server() as server:
        server.answer(ack())
        async with connect(server.url, board="b", token="t", retry=QUICK):
            pass
    assert server.asked == []
