"""`record add`, `record read` and `check` from a shell, on a file and on a server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import blackboard
from blackboard.cli.app import run
from blackboard.messages.replies import Reply
from tests.cli.conftest import COMMAND, Cli, Ran, Server

Where = tuple[str, ...]
CONTEXT = set(Reply.__struct_fields__)
ANN = ("--agent", "ann")
TOOL = "refunds.create"
CAP = {
    "kind": "policy",
    "id": "cap",
    "scope": TOOL,
    "predicate": {"field": "amount", "op": "gt", "value": 5000},
    "effect": "deny",
}
BIG, SMALL = '{"amount": 8400}', '{"amount": 120}'


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run `check`: 0 is PASS, and 1 is nothing but BLOCK, or a PASS that the rules do not permit."""

    def call(*argv: str) -> Ran:
        capsys.readouterr()
        code = run(["check", *argv])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        word = said.out.partition(" ")[0].partition("\n")[0]
        if "--json" not in argv:
            assert {0: word == "PASS", 1: word == "BLOCK" or "--enforce" in argv, 2: not said.out}[code]
        return Ran(code, said.out, said.err)

    return call


@pytest.fixture
def capped(cli: Cli, board: Where) -> Where:
    """A board with one rule, that ann has read, and lost."""
    assert cli("record", "add", json.dumps(CAP), *board).code == 0
    assert cli("record", "read", *board, *ANN).code == 0
    assert cli("compact", *board, *ANN).code == 0
    return board


# -- records


def test_a_record_is_added_and_named(cli: Cli, board: Where) -> None:
    assert cli("record", "add", json.dumps(CAP), *board) == (0, "cap\n", "")
    assert cli("record", "add", '{"kind": "chatter", "text": "hello"}', *board).lines == ["record:3"]
    log = cli("log", *board)
    assert [line.split()[2] for line in log.lines] == ["board.opened", "record.added", "record.added"]


def test_a_record_comes_from_a_file_or_from_stdin(cli: Cli, board: Where, spawn: Cli, tmp_path: Path) -> None:
    path = tmp_path / "cap.json"
    path.write_text(json.dumps(CAP), encoding="utf-8")
    assert cli("record", "add", "--file", str(path), *board).lines == ["cap"]
    typed = spawn("record", "add", "--file", "-", *board, stdin='{"kind": "fact", "field": "a", "value": 1}')
    assert (typed.code, typed.out) == (0, "record:3\n")


def test_a_retry_is_told_as_such(cli: Cli, board: Where) -> None:
    add = ("record", "add", json.dumps(CAP), *board, "--operator", "ops", "--idempotency-key", "k")
    assert [cli(*add).lines, cli(*add).lines] == [["cap"], ["cap  replayed"]]


def test_records_are_read_all_or_by_id(cli: Cli, board: Where) -> None:
    cli("record", "add", json.dumps(CAP), *board)
    cli("record", "add", '{"kind": "fact", "field": "tier", "value": "g\\u202eold"}', *board)
    read = cli("record", "read", *board, *ANN)
    assert read.code == 0
    assert read.lines[0].split() == ["SEQ", "ID", "KIND", "SAYS"]
    assert [line.split()[:3] for line in read.lines[1:]] == [
        ["2", "cap", "policy"],
        ["3", "record:3", "fact"],
    ]
    assert '"effect":"deny"' in read.lines[1]
    assert "\u202e" not in read.out
    one = cli("record", "read", "cap", "nope", *board, *ANN)
    assert (one.code, len(one.lines)) == (0, 2)
    assert "no record has the id nope" in one.err


def test_every_answer_is_there_in_json_with_its_context(cli: Cli, board: Where) -> None:
    added = cli("record", "add", json.dumps(CAP), *board, "--json").json
    assert added.keys() >= CONTEXT
    assert (added["id"], added["record"]) == ("cap", CAP | {"scope": [TOOL], "seq": 2})
    read = cli("record", "read", "cap", "nope", *board, *ANN, "--json").json
    assert read.keys() >= CONTEXT
    assert (read["records"], read["unknown_records"]) == ([added["record"]], ["nope"])


def test_an_agent_needs_the_grant_for_the_kind(cli: Cli, board: Where) -> None:
    refused = cli("record", "add", json.dumps(CAP), *board, *ANN)
    assert (refused.code, refused.out) == (4, "")
    assert "'policy'" in refused.err
    assert cli("record", "add", '{"kind": "chatter"}', *board, *ANN).code == 0


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no record": ((), "give the record as JSON, or by --file FILE"),
    "two records": (("{}", "--file", "x.json"), "give the record as JSON, or by --file FILE"),
    "no JSON": (("{'kind': 'fact'}",), "RECORD is not JSON"),
    "a member twice": (('{"kind": "chatter", "kind": "fact"}',), "a key appears twice"),
    "a number that no double has": (
        ('{"kind": "fact", "field": "a", "value": 0.1000000000000000055}',),
        "it is not rounded",
    ),
    "a list": (("[]",), "a record is a JSON object"),
    "a file that is not there": (("--file", "missing.json"), "No such file"),
    "no kind": (("{}",), "/record/kind: is required"),
    "a member that is none": (('{"kind": "chatter", "txt": "x"}',), "/record/txt: is not a member here"),
    "a seq": (('{"kind": "chatter", "seq": 2}',), "leave it out"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_record_that_is_none_ends_with_2_and_what_is_wrong(cli: Cli, board: Where, case: str) -> None:
    argv, said = WRONG[case]
    ran = cli("record", "add", *argv, *board)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "--text" not in ran.err
    assert len(cli("log", *board).lines) == 1
    told = cli("record", "add", *argv, *board, "--json")
    assert (told.code, said in told.json["detail"]) == (2, True)


def of_format_1(directory: Path) -> Where:
    """The options that name a board without records."""
    path = directory / "old.db"
    with blackboard.connect_sync(f"sqlite:///{path}", board="old", operator="ops") as operator:
        operator.open_board(format=1)
    return "--db", str(path), "--board", "old"


def test_a_board_of_format_1_says_what_to_do(cli: Cli, tmp_path: Path) -> None:
    where = of_format_1(tmp_path)
    ran = cli("record", "add", json.dumps(CAP), *where)
    assert (ran.code, ran.out) == (3, "")
    assert "raise_format(2)" in ran.err
    assert cli("board", "format", "2", *where).code == 0
    assert cli("record", "add", json.dumps(CAP), *where).code == 0


# -- checks


def test_pass_ends_with_0_and_block_with_1(check: Cli, capped: Where) -> None:
    passed = check(TOOL, "--params", SMALL, *capped, *ANN)
    assert passed.code == 0
    assert passed.lines == ["PASS  check:5", "policy: default", "note: dropped as chatter: 0"]
    blocked = check(TOOL, "--params", BIG, *capped, *ANN)
    assert blocked.code == 1
    assert blocked.lines[:2] == ["BLOCK (dropped-binding-constraint)  check:6", "policy: deny (cap)"]
    assert blocked.lines[2].startswith("reason: dropped-binding-constraint: policy 'cap' (deny) is not held")


def test_a_block_names_the_command_that_lifts_it(cli: Cli, check: Cli, capped: Where) -> None:
    blocked = check(TOOL, "--params", BIG, *capped, *ANN)
    (again,) = [line for line in blocked.err.splitlines() if line.startswith("read again: ")]
    argv = again.removeprefix("read again: ").split()
    assert argv == ["blackboard", "record", "read", "cap"]
    assert cli(*argv[1:], *capped, *ANN).code == 0
    assert check(TOOL, "--params", BIG, *capped, *ANN).code == 0


def test_a_key_of_the_ledger_is_read_again_by_its_own_command(cli: Cli, check: Cli, board: Where) -> None:
    rule = CAP | {"predicate": {"field": "task/B", "op": "ne", "value": "green", "source": "ledger"}}
    assert cli("write", "task/B", *board, "--agent", "b", "--revision", "1", "--text", "red").code == 0
    cli("record", "add", json.dumps(rule), *board)
    cli("record", "read", *board, *ANN)
    blocked = check(TOOL, *board, *ANN)
    assert blocked.code == 1
    assert "read again: blackboard read task/B" in blocked.err
    assert cli("read", "task/B", *board, *ANN).code == 0
    assert check(TOOL, *board, *ANN).code == 0


def test_with_enforce_pass_alone_is_not_enough(cli: Cli, check: Cli, capped: Where) -> None:
    cli("record", "read", *capped, *ANN)
    argv = (TOOL, "--params", BIG, *capped, *ANN)
    assert check(*argv).code == 0
    enforced = check(*argv, "--enforce")
    assert (enforced.code, enforced.lines[0].split()[0]) == (1, "PASS")
    assert "policy: deny (cap)" in enforced.lines
    assert check(TOOL, "--params", SMALL, *capped, *ANN, "--enforce").code == 0
    cli("record", "add", json.dumps(CAP | {"id": "may", "effect": "allow", "supersedes": "cap"}), *capped)
    cli("record", "read", *capped, *ANN)
    permitted = check(*argv, "--enforce")
    assert (permitted.code, permitted.lines[1]) == (0, "policy: allowed-by (may)")


def test_the_verdict_in_json_has_what_the_server_would_send(check: Cli, capped: Where) -> None:
    blocked = check(TOOL, "--params", BIG, *capped, *ANN, "--json")
    assert blocked.code == 1
    assert blocked.json.keys() >= CONTEXT | {"verdict", "policy", "reasons", "notes", "digest", "judged_at"}
    assert (blocked.json["verdict"], blocked.json["policy"]) == (
        "BLOCK",
        {"answer": "deny", "rules": ["cap"]},
    )
    assert blocked.json["reasons"][0]["reread"] == ["cap"]
    enforced = check(TOOL, "--params", SMALL, *capped, *ANN, "--json", "--enforce")
    assert (enforced.code, enforced.json["verdict"]) == (0, "PASS")


def test_what_nobody_can_evaluate_passes_only_where_that_was_chosen(
    cli: Cli, check: Cli, board: Where
) -> None:
    cli("record", "add", '{"kind": "summary", "id": "s"}', *board)
    cli("record", "read", *board, *ANN)
    cli("compact", *board, *ANN)
    assert check(TOOL, *board, *ANN).code == 1
    blind = check(TOOL, *board, *ANN, "--allow-unevaluable")
    assert blind.code == 0
    assert "you chose to fly blind" in blind.out


def test_a_basis_that_moved_blocks(cli: Cli, check: Cli, board: Where) -> None:
    cli("write", "task/B", *board, *ANN, "--revision", "1", "--text", "x")
    assert check(TOOL, *board, *ANN, "--basis", "task/B=1").code == 0
    moved = check(TOOL, *board, *ANN, "--basis", "task/B=2")
    assert (moved.code, moved.lines[0].split()[1]) == (1, "(basis-moved)")
    assert "read again: blackboard read task/B" in moved.err


def test_parameters_come_from_a_file_or_from_stdin(spawn: Cli, capped: Where, tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text(BIG, encoding="utf-8")
    assert spawn("check", TOOL, "--params-file", str(path), *capped, *ANN).code == 1
    assert spawn("check", TOOL, "--params-file", "-", *capped, *ANN, stdin=SMALL).code == 0
    assert spawn("check", TOOL, "--params-file", "-", *capped, *ANN, stdin=BIG).code == 1


ERRORS: dict[str, tuple[str, ...]] = {
    "no tool": (),
    "a pattern for a tool": ("refunds.*",),
    "params that are no JSON": (TOOL, "--params", "{"),
    "params that are a list": (TOOL, "--params", "[1]"),
    "a parameter twice": (TOOL, "--params", '{"amount": 1, "amount": 9000}'),
    "a number that no double has": (TOOL, "--params", '{"amount": 5000.00000000000000001}'),
    "NaN": (TOOL, "--params", '{"amount": NaN}'),
    "params twice": (TOOL, "--params", "{}", "--params-file", "x.json"),
    "a file that is not there": (TOOL, "--params-file", "missing.json"),
    "a basis that is none": (TOOL, "--basis", "task/B"),
    "a basis that is too high": (TOOL, "--basis", f"task/B={2**53}"),
    "a turn that is none": (TOOL, "--turn", "-1"),
    "an option that is none": (TOOL, "--enforced"),
    "two databases": (TOOL, "--server", "http://127.0.0.1:1"),
    "an operator": (TOOL, "--operator", "ops"),
}


@pytest.mark.parametrize("json_", [(), ("--json",)], ids=["words", "json"])
@pytest.mark.parametrize("case", ERRORS)
def test_whatever_is_wrong_ends_with_2_and_is_no_verdict(
    check: Cli, capped: Where, case: str, json_: tuple[str, ...]
) -> None:
    ran = check(*ERRORS[case], *capped, *ANN, *json_)
    assert ran.code == 2
    if json_:
        assert "verdict" not in ran.json
        assert ran.json["detail"]
    else:
        assert ran.err


def test_a_board_of_format_1_is_no_verdict(check: Cli, tmp_path: Path) -> None:
    ran = check(TOOL, *of_format_1(tmp_path), *ANN)
    assert (ran.code, "raise_format(2)" in ran.err) == (2, True)


def test_a_database_that_cannot_be_opened_is_no_verdict(check: Cli, tmp_path: Path) -> None:
    where = ("--board", "b", *ANN)
    (tmp_path / "no.db").write_bytes(b"this is no database" * 400)
    for path in (tmp_path / "none" / "x.db", tmp_path, tmp_path / "no.db"):
        assert check(TOOL, "--db", str(path), *where).code == 2


def test_a_report_that_cannot_be_delivered_is_no_verdict(capped: Where) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "check", TOOL, "--params", SMALL, *capped, *ANN],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


# -- on a server


Token = Callable[..., str]


@pytest.fixture
def token(cli: Cli, server: Server, monkeypatch: pytest.MonkeyPatch) -> Token:
    """Make a token on the server, whose state directory this command uses."""
    monkeypatch.setenv("BLACKBOARD_STATE_DIR", str(server.state_dir))

    def make(*argv: str) -> str:
        made = cli("token", "create", *argv)
        assert made.code == 0, made
        return made.out.strip()

    return make


def test_the_same_answers_come_from_a_server(cli: Cli, check: Cli, token: Token) -> None:
    where = ("--board", "desk")
    assert cli("board", "open", "desk").code == 0
    secret = token("agent", "ann", "--boards", "desk")
    assert cli("record", "add", json.dumps(CAP), *where).lines == ["cap"]
    assert cli("record", "add", json.dumps(CAP), *where, "--token", secret).code == 4
    unseen = check(TOOL, "--params", BIG, *where, "--token", secret)
    assert (unseen.code, unseen.lines[0]) == (1, "BLOCK (unseen-binding-constraint)  check:3")
    assert cli("record", "read", *where, "--token", secret).code == 0
    assert check(TOOL, "--params", BIG, *where, "--token", secret).code == 0
    assert check(TOOL, "--params", BIG, *where, "--token", secret, "--enforce").code == 1


def test_a_token_may_be_granted_kinds_of_records(cli: Cli, token: Token) -> None:
    cli("board", "open", "granted")
    secret = token("agent", "ann", "--records", "policy", "--records", "fact:desk.*")
    where = ("--board", "granted", "--token", secret)
    assert cli("record", "add", json.dumps(CAP), *where).code == 0
    assert cli("record", "add", '{"kind": "fact", "field": "desk.open", "value": true}', *where).code == 0
    assert cli("record", "add", '{"kind": "fact", "field": "tier", "value": 1}', *where).code == 4


BAD: dict[str, tuple[str, ...]] = {
    "a wrong token": ("--board", "desk", "--token", "bb_" + "x" * 43),
    "a token that is none": ("--board", "desk", "--token", "ü"),
    "an operator's token": ("--board", "desk"),
    "no server": ("--board", "desk", "--server", "http://127.0.0.1:1", "--token", "bb_" + "x" * 43),
    "no address": ("--board", "desk", "--server", "127.0.0.1"),
}


@pytest.mark.usefixtures("token")
@pytest.mark.parametrize("case", BAD)
def test_without_an_answer_of_the_server_there_is_no_verdict(check: Cli, case: str) -> None:
    ran = check(TOOL, "--params", SMALL, *BAD[case])
    assert (ran.code, ran.out) == (2, "")
    told: Any = check(TOOL, "--params", SMALL, *BAD[case], "--json")
    assert (told.code, "verdict" in told.json) == (2, False)


def test_a_board_that_the_token_does_not_reach_is_no_verdict(cli: Cli, check: Cli, token: Token) -> None:
    cli("board", "open", "mine")
    secret = token("agent", "ann", "--boards", "mine")
    for board in ("theirs", "none"):
        assert check(TOOL, "--params", SMALL, "--board", board, "--token", secret).code == 2
