"""Where a command goes when nobody says, and how it names itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from blackboard.cli import session
from blackboard.cli.session import Session, Target, program
from tests.cli.conftest import Cli


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BLACKBOARD_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state"


def announce(state: Path, url: str) -> None:
    running = {"url": url, "database": "d", "durability": "full", "pid": 1, "version": "0"}
    (state / "server.json").write_text(json.dumps(running))


def test_without_a_server_it_is_the_file_of_the_settings(state: Path) -> None:
    assert Session().target.file == state / "blackboard.db"


def test_a_server_that_no_longer_answers_is_passed_over(state: Path, cli: Cli) -> None:
    announce(state, "http://127.0.0.1:1")
    assert Session().target.file == state / "blackboard.db"
    told = cli("doctor")
    assert "warn  server: http://127.0.0.1:1 has announced itself and does not answer" in told.out


def test_a_server_that_answers_goes_before_the_file(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "answers", lambda url: True)
    announce(state, "http://127.0.0.1:8377")
    assert Session().target.url == "http://127.0.0.1:8377"
    assert Session(flags={"db": "x.db"}).target.file == Path.cwd() / "x.db"


def test_the_local_operators_token_goes_to_the_local_server_alone(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "answers", lambda url: True)
    announce(state, "http://127.0.0.1:8377")
    secret = "bb_" + "x" * 43
    (state / "operator.token").write_text(secret)
    (state / "operator.token").chmod(0o600)
    for url, token in [
        ("http://127.0.0.1:8377/", secret),
        ("http://localhost:8377", secret),
        ("http://127.0.0.1:8378", None),
        ("http://example.org:8377", None),
    ]:
        assert Session(flags={"server": url}).target.token == token, url
    monkeypatch.setenv("BLACKBOARD_TOKEN", "bb_mine")
    assert Session(flags={"server": "http://127.0.0.1:8377"}).target.token == "bb_mine"


def test_the_environments_server_is_used_unless_a_file_is_named(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLACKBOARD_SERVER", "http://127.0.0.1:9/")
    assert Session().target == Target("http://127.0.0.1:9")
    assert not Session(flags={"db": "x.db"}).target.is_server


def test_a_demo_board_is_found_in_the_demos_file_unless_there_is_one_of_that_name(
    state: Path, cli: Cli
) -> None:
    played = cli("demo", "--json").json
    assert cli("board", "open", "other").code == 0
    assert len(cli("log", "--board", "demo").lines) == len(played["forms"][0]["events"])
    assert cli("read", "task/B", "--board", "demo", "--agent", "kim").code == 0
    assert cli("board", "open", "demo").lines == ["demo: opened"]
    assert len(cli("log", "--board", "demo").lines) == 1
    assert len(cli("log", "--board", "demo-off").lines) > 1


def test_more_entries_than_a_page_holds_are_all_shown(cli: Cli, tmp_path: Path) -> None:
    where = ("--db", str(tmp_path / "x.db"), "--board", "b")
    for part in range(2):
        batch = tmp_path / "batch.json"
        batch.write_text(
            json.dumps([{"key": f"k{part}{n:04}", "revision": 1, "value": n} for n in range(600)])
        )
        assert cli("write", "--batch", str(batch), *where, "--agent", "a").code == 0
    assert len(cli("ledger", *where).lines) == 1201
    assert len(cli("ledger", *where, "--json").json["entries"]) == 1200
    assert len(cli("read", "--all", *where, "--agent", "a", "--raw").lines) == 1200
    assert len(cli("log", *where).lines) > 1200


@pytest.mark.parametrize(
    ("called", "told"),
    [
        ("pytest", "blackboard"),
        ("checkout/.venv/bin/blackboard", "./checkout/scripts/blackboard"),
        ("env/bin/blackboard", "./env/bin/blackboard"),
        ("/opt/env/bin/blackboard", "/opt/env/bin/blackboard"),
    ],
)
def test_the_command_names_itself_so_that_it_can_be_pasted(
    called: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkout/scripts").mkdir(parents=True)
    (tmp_path / "checkout/scripts/blackboard").write_text("")
    monkeypatch.setattr(
        sys, "argv", [str(tmp_path / called) if "/" in called and called[0] != "/" else called]
    )
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert program() == told


def test_on_the_path_the_command_is_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blackboard").write_text("#!/bin/sh\n")
    (tmp_path / "blackboard").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "blackboard")])
    assert program() == "blackboard"
