"""Every command on a PostgreSQL database: as on a file, beside others, and silent about its password."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from blackboard.cli.app import run
from blackboard.store.revision import NEWEST
from tests.cli.conftest import COMMAND, Cli, Ran
from tests.client.live import LiveServer
from tests.evolution.databases import thaw
from tests.postgres.cluster import Databases

EXECUTOR = ("--agent", "executor")
CAP = json.dumps(
    {"id": "cap", "kind": "policy", "scope": "refunds.create", "effect": "deny"}
    | {"predicate": {"field": "amount", "op": "gt", "value": 5000}}
)
ONCE = {"recorded_at", "hash", "salt", "body_digest", "request_digest", "command_id", "url"}
"""Members that no two runs share."""
WRONG = "geheim"


@pytest.fixture(scope="module")
def unopened(postgres_databases: Databases) -> Iterator[str]:
    """A database that this process has not open: who connects has to give its password."""
    url = postgres_databases.create()
    yield url
    postgres_databases.drop(url)


@pytest.fixture
def where(postgres_url: str, cli: Cli) -> tuple[str, ...]:
    """The options that name an open board on PostgreSQL."""
    place = ("--db", postgres_url, "--board", "release-42")
    assert cli("board", "open", *place).lines == ["release-42: opened"]
    return place


def password(url: str) -> str:
    found = urlsplit(url).password
    assert found
    return found


def without_password(url: str) -> str:
    return url.replace(f":{password(url)}@", "@")


def test_what_is_written_is_read_back_and_stands_in_the_log(cli: Cli, where: tuple[str, ...]) -> None:
    wrote = cli("write", "task/B", *where, *EXECUTOR, "--revision", "1", "--value", '{"status": "failed"}')
    assert wrote == (0, "task/B@1  entry:2\n", "")
    assert cli("read", "task/B", *where, *EXECUTOR, "--raw").out == '{"status":"failed"}\n'
    assert cli("say", "B failed, see entry:2", *where, *EXECUTOR).lines[0].endswith(", cited: entry:2")
    assert [line.split()[2] for line in cli("log", *where).lines] == [
        "board.opened",
        "entry.written",
        "board.read",
        "message.posted",
    ]
    assert "task/B" in cli("ledger", *where).out
    assert "executor" in cli("agents", *where).out
    assert "task/B" in cli("show", "executor", *where).out
    assert cli("board", "list", *where[:2]).code == 0


def test_the_command_that_a_rejection_names_runs_and_holds_no_password(
    cli: Cli, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("write", "k", *where, *EXECUTOR, "--revision", "1", "--text", "x")
    assert cli("compact", *where, *EXECUTOR).code == 0
    refused = cli("write", "k", *where, *EXECUTOR, "--revision", "2", "--text", "y")
    assert (refused.code, refused.out) == (3, "")
    assert password(where[1]) not in refused.err
    following = refused.err.splitlines()[-1].removeprefix("next: ").split()
    assert without_password(where[1]) in following
    monkeypatch.setenv("PGPASSWORD", password(where[1]))
    assert cli(*following[1:]).code == 0
    assert cli("write", "k", *where, *EXECUTOR, "--revision", "2", "--text", "y").code == 0


def test_a_check_ends_with_0_for_pass_and_1_for_block(
    where: tuple[str, ...], cli: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli("record", "add", CAP, *where).code == 0
    check = ["check", "refunds.create", *where, *EXECUTOR, "--params"]
    assert run([*check, '{"amount": 8400}']) == 1
    assert capsys.readouterr().out.startswith("BLOCK")
    assert cli(*check, '{"amount": 120}').out.startswith("PASS")
    assert cli("record", "read", *where, *EXECUTOR).code == 0
    assert cli(*check, '{"amount": 8400}').out.startswith("PASS")


def test_the_incident_is_the_same_as_in_a_file_event_for_event(
    cli: Cli, postgres_url: str, tmp_path: Path
) -> None:
    played = cli("demo", "--json", "--db", postgres_url)
    assert played.code == 0
    assert played.json["url"] == without_password(postgres_url)
    assert password(postgres_url) not in played.out + played.err
    file = cli("demo", "--json", "--db", str(tmp_path / "demo.db"))
    assert _told(played.json) == _told(file.json)
    again = cli("demo", "--db", postgres_url)
    assert "log --board demo-2 --db" in again.err
    assert password(postgres_url) not in again.out + again.err


def _told(document: dict[str, Any]) -> dict[str, Any]:
    """All that does not depend on who of two that read at the same moment came first."""
    found: dict[str, Any] = _plain(document)
    for form in found["forms"]:
        events, form["events"] = form["events"], {}
        for event in events:
            of_actor = form["events"].setdefault(event["actor"], [])
            of_actor.append({name: member for name, member in event.items() if name != "seq"})
        form["remarks"] = [(remark["who"], remark["text"]) for remark in form["remarks"]]
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items() if name not in ONCE}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def test_the_environment_names_the_database_too(
    cli: Cli, where: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLACKBOARD_DB", where[1])
    monkeypatch.setenv("BLACKBOARD_BOARD", "release-42")
    assert cli("write", "k", *EXECUTOR, "--revision", "1", "--text", "x").code == 0
    assert len(cli("log").lines) == 2
    assert cli("read", "k", "--board", "demo", *EXECUTOR).code == 0


def test_a_board_may_be_followed_while_others_write_it(cli: Cli, where: tuple[str, ...]) -> None:
    following = subprocess.Popen(
        [*COMMAND, "follow", "--count", "3", "--json", "--board", "release-42"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BLACKBOARD_DB": where[1]},
    )
    with following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["kind"] == "board.opened"
        for revision in (1, 2):
            ran = cli("write", "k", *where, *EXECUTOR, "--revision", str(revision), "--text", "x")
            assert ran.code == 0
            assert json.loads(following.stdout.readline())["seq"] == 1 + revision
        assert following.communicate(timeout=30) == ("", "")
    assert following.returncode == 0


def test_tokens_are_made_listed_and_revoked(cli: Cli, postgres_url: str) -> None:
    where = ("--db", postgres_url)
    made = cli("token", "create", "agent", "executor", *where, "--json").json
    (listed,) = cli("token", "list", *where, "--json").json["tokens"]
    assert (listed["id"], listed["name"], listed.get("token")) == (made["id"], "executor", None)
    assert cli("token", "revoke", made["id"], *where).code == 0
    assert cli("token", "list", *where, "--json").json["tokens"][0]["revoked_at"] is not None
    assert cli("token", "revoke", "token-nobody-made", *where).code == 2


@pytest.mark.parametrize("look", [("log",), ("ledger",), ("agents",), ("follow", "--count", "1")])
def test_a_look_makes_no_tables_and_says_who_does(look: tuple[str, ...], cli: Cli, postgres_url: str) -> None:
    told = cli(*look, "--db", postgres_url, "--board", "b")
    assert "run `blackboard db upgrade`" in told.err
    assert told.code == 6
    assert cli("db", "current", "--db", postgres_url).out.startswith("no tables")


def test_tables_are_made_checked_and_told_of(cli: Cli, postgres_url: str) -> None:
    where = ("--db", postgres_url)
    made = cli("db", "upgrade", *where)
    assert made.out.startswith("no tables -> ")
    newest = made.lines[0].split()[-1]
    assert cli("db", "current", *where).lines == [f"{newest} (newest {newest})"]
    assert cli("board", "open", *where, "--board", "b").code == 0
    assert "1 board, 1 event" in cli("db", "check", *where).out
    doctor = cli("doctor", *where)
    assert doctor.code in (0, 2)
    assert "board b: head 1" in doctor.out
    assert password(postgres_url) not in doctor.out + doctor.err


def test_each_step_of_an_upgrade_on_postgres_names_the_next(cli: Cli, postgres_url: str) -> None:
    """Whoever deploys before expanding must not be led to contract under servers that still run."""
    where = ("--db", postgres_url)
    thaw("0002", postgres_url)
    early = cli("agents", "--board", "b", *where)
    assert "run `blackboard db upgrade --expand` while servers of an earlier release use it" in early.err
    assert "--expand while servers of an earlier release use it" in cli("db", "current", *where).err
    expanded = cli("db", "upgrade", "--expand", *where)
    assert expanded.lines[0] == "0002 -> 0003"
    then = "when no server of an earlier one runs, `blackboard db upgrade` takes it to"
    assert then in expanded.err
    assert then in cli("db", "current", *where).err
    assert "schema: revision 0003; when no server of an earlier release runs" in cli("doctor", *where).out
    assert cli("db", "upgrade", *where) == (0, f"0003 -> {NEWEST}\n", "")
    assert cli("db", "current", *where).err == ""


COMMANDS: list[tuple[str, ...]] = [
    ("board", "open", "b"),
    ("board", "list"),
    ("read", "k", "--board", "b", *EXECUTOR),
    ("write", "k", "--board", "b", *EXECUTOR, "--revision", "1", "--text", "x"),
    ("say", "x", "--board", "b", *EXECUTOR),
    ("log", "--board", "b"),
    ("follow", "--board", "b"),
    ("token", "list"),
    ("token", "create", "agent", "a"),
    ("db", "current"),
    ("db", "check"),
    ("db", "upgrade"),
    ("demo",),
    ("check", "t", "--board", "b", *EXECUTOR),
    ("doctor",),
]
ENDS_WITH_2 = {"check", "doctor"}


def wrong(url: str, what: str) -> str:
    parts = urlsplit(url)
    return {
        "another password": url.replace(password(url), WRONG),
        "no such database": f"{url}_not_there",
        "no server there": url.replace(f":{parts.port}/", ":1/"),
    }[what]


MISTAKES = ["another password", "no such database", "no server there"]


@pytest.mark.parametrize("what", MISTAKES)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_what_cannot_be_reached_is_told_in_one_line(
    what: str, command: tuple[str, ...], cli: Cli, unopened: str
) -> None:
    url = wrong(unopened, what)
    ran = cli(*command, "--db", url)
    assert ran.code == (2 if command[0] in ENDS_WITH_2 else 6)
    lines = [line for line in (ran.out if command[0] == "doctor" else ran.err).splitlines() if line]
    assert sum(str(urlsplit(url).hostname) in line for line in lines) == 1, lines
    assert command[0] == "doctor" or len(lines) == 2
    told(ran, url)


@pytest.mark.parametrize("flag", ["--json", "--debug"])
@pytest.mark.parametrize("what", MISTAKES)
def test_neither_a_document_nor_a_traceback_holds_the_password(
    what: str, flag: str, unopened: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = wrong(unopened, what)
    code = run(["read", "k", "--board", "b", *EXECUTOR, "--db", url, flag])
    said = capsys.readouterr()
    assert code == 6
    assert ("Traceback" in said.err) == (flag == "--debug")
    told(Ran(code, said.out, said.err), url)


def test_a_server_that_finds_no_database_ends_with_6(spawn: Cli, unopened: str) -> None:
    url = wrong(unopened, "another password")
    ran = spawn("serve", "--port", "0", BLACKBOARD_DB=url)
    assert ran.code == 6
    assert "Traceback" not in ran.err
    told(ran, url)


def test_a_database_is_no_server(cli: Cli, unopened: str) -> None:
    ran = cli("read", "k", "--board", "b", *EXECUTOR, "--server", unopened)
    assert ran.code == 2
    assert "name it as --db" in ran.err
    told(ran, unopened)


def test_a_server_leaves_no_password_behind(postgres_server: LiveServer) -> None:
    url = postgres_server.db
    assert url is not None
    files = [path for path in postgres_server.directory.rglob("*") if path.is_file()]
    assert {"server.json", "server.log"} <= {path.name for path in files}
    for path in files:
        assert password(url).encode() not in path.read_bytes(), path


def told(ran: Ran, url: str) -> None:
    """Nothing that was said holds the password."""
    assert password(url) not in ran.out + ran.err


def test_who_may_only_read_the_tables_may_look_and_no_more(cli: Cli, where: tuple[str, ...]) -> None:
    assert cli("write", "k", *where, *EXECUTOR, "--revision", "1", "--text", "x").code == 0
    reader, secret = f"reader_{secrets.token_hex(4)}", secrets.token_hex(8)
    granting = Databases(where[1])
    granting.execute(f"CREATE ROLE {reader} LOGIN PASSWORD '{secret}'")
    granting.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}")
    try:
        parts = urlsplit(where[1])
        url = f"postgresql://{reader}:{secret}@{parts.hostname}:{parts.port}{parts.path}"
        place = ("--db", url, "--board", "release-42")
        assert len(cli("log", *place).lines) == 2
        assert "x" in cli("ledger", *place).out
        assert len(cli("follow", "--count", "2", *place).lines) == 2
        refused = cli("write", "k", *place, *EXECUTOR, "--revision", "2", "--text", "y")
        assert refused.code == 6
        assert "grant it SELECT, INSERT, UPDATE and DELETE" in refused.err
        told(refused, url)
    finally:
        granting.execute(f"DROP OWNED BY {reader}")
        granting.execute(f"DROP ROLE {reader}")
        granting.close()
