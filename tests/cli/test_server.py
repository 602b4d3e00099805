"""The command against a live server, found by itself or named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Server


@pytest.fixture(autouse=True)
def at_home(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLACKBOARD_STATE_DIR", str(server.state_dir))


def token(cli: Cli, *argv: str) -> str:
    made = cli("token", "create", *argv)
    assert made.code == 0, made
    return made.out.strip()


def test_a_local_server_is_found_with_its_operators_token(cli: Cli, server: Server) -> None:
    assert cli("board", "open", "found").lines == ["found: opened"]
    assert "found" in cli("board", "list", "--server", server.url).out
    assert cli("log", "--board", "found").lines[0].split()[1] == "operator:local"


def test_an_agent_acts_by_its_token(cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("board", "open", "release-1")
    monkeypatch.setenv("BLACKBOARD_TOKEN", token(cli, "agent", "executor", "--boards", "release-*"))
    monkeypatch.setenv("BLACKBOARD_BOARD", "release-1")
    assert cli("write", "task/B", "--revision", "1", "--value", '{"status":"failed"}').lines == [
        "task/B@1  entry:2"
    ]
    assert cli("read", "task/B", "--raw").out == '{"status":"failed"}\n'
    assert cli("say", "B failed, see entry:2").lines == ["message 4, cited: entry:2"]
    assert cli("compact", "--cause", "summary").code == 0
    refused = cli("write", "task/B", "--revision", "2", "--value", '{"status":"complete"}')
    assert refused.code == 3
    assert "revalidation-required" in refused.err
    assert cli("read", "--all").code == 0
    assert cli("write", "task/B", "--revision", "2", "--value", '{"status":"retrying"}').code == 0
    followed = cli("follow", "--count", "3", "--json")
    assert [json.loads(line)["seq"] for line in followed.lines] == [1, 2, 3]
    assert cli("board", "open", "release-2").code == 4
    assert cli("read", "a", "--board", "other").code == 4
    assert cli("token", "list").code == 4


def test_over_http_a_name_without_a_token_is_told_what_to_do(cli: Cli) -> None:
    ran = cli("write", "a", "--board", "b", "--agent", "executor", "--revision", "1", "--text", "x")
    assert ran.code == 2
    assert "blackboard token create agent executor" in ran.err


def test_a_name_that_is_not_the_tokens_is_refused(cli: Cli, server: Server) -> None:
    secret = token(cli, "agent", "executor")
    assert cli("read", "a", "--board", "found", "--agent", "planner", "--token", secret).code == 4


def test_tokens_are_listed_without_secrets_and_end_at_once(cli: Cli, server: Server) -> None:
    made = cli("token", "create", "auditor", "kim", "--days", "1", "--json").json
    assert made["role"] == "auditor"
    assert made["expires_at"] > made["created_at"]
    listed = cli("token", "list", "--json")
    assert made["token"] not in listed.out
    assert made["id"] in [one["id"] for one in listed.json["tokens"]]
    assert cli("board", "list", "--token", made["token"]).code == 0
    assert cli("token", "revoke", made["id"]).code == 0
    assert cli("board", "list", "--token", made["token"]).code == 4
    assert cli("token", "revoke", "token-none").code == 2


@pytest.mark.parametrize("days", ["0", "-1", "nan", "inf", "1e300"])
def test_a_token_expires_after_a_number_of_days_that_there_can_be(
    cli: Cli, server: Server, days: str
) -> None:
    ran = cli("token", "create", "agent", "a", "--days", days)
    assert (ran.code, ran.out) == (2, "")
    assert "days" in ran.err


def test_a_token_may_be_narrow(cli: Cli, server: Server) -> None:
    cli("board", "open", "narrow")
    secret = token(cli, "agent", "a", "--writes", "task/*", "--prefix", "task/", "--report-peers")
    argv = ("--board", "narrow", "--token", secret, "--revision", "1", "--text", "x")
    assert cli("write", "other", *argv).code == 4
    assert cli("write", "task/1", *argv).code == 0


def test_a_wrong_or_missing_token_ends_with_4(
    cli: Cli, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("board", "list", "--server", server.url, "--token", "bb_" + "x" * 43).code == 4
    monkeypatch.setenv("BLACKBOARD_STATE_DIR", str(tmp_path))
    assert cli("board", "list", "--server", server.url).code == 4


def test_the_servers_file_is_looked_at_and_not_written(cli: Cli, server: Server) -> None:
    cli("board", "open", "beside")
    db = ("--db", str(server.database), "--board", "beside")
    assert cli("log", *db).code == 0
    assert cli("read", "a", *db, "--agent", "a").code == 6
    assert cli("token", "create", "agent", "a", "--db", str(server.database)).code == 6
    assert cli("db", "check", "--db", str(server.database)).code == 0
    assert cli("db", "downgrade", "--db", str(server.database)).code == 6


def test_a_server_that_is_not_there_ends_with_6(cli: Cli) -> None:
    ran = cli("board", "list", "--server", "http://127.0.0.1:1", "--token", "bb_" + "x" * 43)
    assert ran.code == 6
    assert "no server answers at 127.0.0.1:1 (Connection refused)" in ran.err
    assert "blackboard serve" in ran.err


@pytest.mark.parametrize("address", ["127.0.0.1:8377", "localhost", "ftp://127.0.0.1:8377", "http://"])
def test_a_server_is_named_by_an_address_and_makes_no_file(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cli("board", "list", "--server", address)
    assert ran.code == 2
    assert "a server is named by its address, as http://" in ran.err
    monkeypatch.setenv("BLACKBOARD_SERVER", address)
    assert cli("log", "--board", "b").code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_and_a_server_are_not_named_together(cli: Cli, server: Server) -> None:
    assert cli("board", "list", "--db", "x.db", "--server", server.url).code == 2


def test_the_demo_runs_on_a_server_under_names_of_its_own(cli: Cli, server: Server) -> None:
    first = cli("demo", "--server", server.url, "--json").json
    second = cli("demo", "--server", server.url, "--json").json
    assert [row["board"] for row in first["table"]] == ["demo", "demo-silent", "demo-off"]
    assert [row["board"] for row in second["table"]] == ["demo-2", "demo-2-silent", "demo-2-off"]
    for row in (first["table"], second["table"]):
        assert [(one["corrupt_writes_accepted"], one["rejected"]) for one in row] == [(0, 1), (0, 3), (1, 0)]
    alive = [one for one in cli("token", "list", "--json").json["tokens"] if one["boards"] == ["demo"]]
    assert alive
    assert all(one["revoked_at"] for one in alive)


def test_doctor_tells_of_the_server_and_of_boards_without_the_whole_guarantee(
    cli: Cli, server: Server
) -> None:
    cli("board", "open", "weak", "--set", "demotion=off")
    found = cli("doctor", "--db", str(server.database), "--json")
    assert found.code == 0
    (told,) = [one for one in found.json["findings"] if one["what"] == "server"]
    assert told["level"] == "warn"
    assert "weak (demotion: off)" in told["found"]
