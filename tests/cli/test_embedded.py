"""The operations from a shell, on a file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from blackboard.messages.replies import Reply
from tests.cli.conftest import COMMAND, Cli

CONTEXT = set(Reply.__struct_fields__)
Where = tuple[str, ...]
EXECUTOR = ("--agent", "executor")


def test_a_write_is_read_back_and_stands_in_the_log(cli: Cli, board: Where) -> None:
    wrote = cli("write", "task/B", *board, *EXECUTOR, "--revision", "1", "--value", '{"status": "failed"}')
    assert wrote == (0, "task/B@1  entry:2\n", "")
    read = cli("read", "task/B", "task/C", *board, *EXECUTOR)
    assert read.code == 0
    assert read.lines == [
        "KEY     REV  ID       WRITER    VALUE",
        'task/B    1  entry:2  executor  {"status":"failed"}',
        "task/C    0  -        -         (absent)",
    ]
    assert cli("read", "task/B", *board, *EXECUTOR, "--raw").out == '{"status":"failed"}\n'
    log = cli("log", *board)
    assert [line.split()[:3] for line in log.lines[:2]] == [
        ["1", "operator:" + log.lines[0].split()[1].partition(":")[2], "board.opened"],
        ["2", "executor", "entry.written"],
    ]
    assert "task/B@1 task/C@0" in log.lines[2]


def test_each_way_to_give_a_value(cli: Cli, board: Where, spawn: Cli, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text("[1]")
    assert cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "words").code == 0
    assert (
        cli("write", "b", *board, *EXECUTOR, "--revision", "1", "--file", str(tmp_path / "v.json")).code == 0
    )
    assert (
        spawn("write", "c", *board, *EXECUTOR, "--revision", "1", "--text-file", "-", stdin="typed").code == 0
    )
    assert cli("write", "c", *board, *EXECUTOR, "--revision", "2", "--delete").code == 0
    shown = [line.split()[-1] for line in cli("ledger", *board).lines]
    assert shown == ["VALUE", '"words"', "[1]", "(deleted)"]


def test_a_batch_is_written_whole_or_not_at_all(cli: Cli, board: Where, tmp_path: Path) -> None:
    batch = tmp_path / "batch.json"
    writes = [{"key": "a", "revision": 1, "value": 1}, {"key": "b", "revision": 1, "value": 2}]
    batch.write_text(json.dumps(writes))
    assert cli("write", "--batch", str(batch), *board, *EXECUTOR).lines == ["a@1  entry:2", "b@1  entry:3"]
    writes[0]["revision"], writes[1] = 2, {"key": "b", "value": 3}
    batch.write_text(json.dumps(writes))
    refused = cli("write", "--batch", str(batch), *board, *EXECUTOR, "--json")
    assert (refused.code, refused.json["code"]) == (2, "revision-missing")
    assert cli("ledger", *board, "--json").json["entries"][0]["revision"] == 1


def test_a_retry_is_told_as_such(cli: Cli, board: Where) -> None:
    write = ("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "x")
    assert cli(*write).lines == ["a@1  entry:2"]
    assert cli(*write).lines == ["a@1  entry:2  replayed"]


def test_a_rejection_names_rules_evidence_remedy_and_the_command_to_run_next(cli: Cli, board: Where) -> None:
    cli("write", "task/B", *board, *EXECUTOR, "--revision", "1", "--text", "failed")
    assert cli("compact", *board, *EXECUTOR, "--cause", "summary").code == 0
    refused = cli("write", "task/B", *board, *EXECUTOR, "--revision", "1", "--text", "complete")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.startswith("rejected: revision-reused, logged as seq ")
    for code in ("revalidation-required", "revision-not-advancing", "completion-unverified"):
        assert f"task/B  {code}: " in refused.err
    assert "evidence: " in refused.err
    assert "remedy: " in refused.err
    assert "standing: compacted since seq 3" in refused.err
    assert "  keys: task/B\n" in refused.err
    assert "read everything again: blackboard read --all" in refused.err
    following = refused.err.splitlines()[-1]
    assert following.startswith("next: ")
    argv = following.removeprefix("next: ").split()
    assert argv[1:3] == ["read", "task/B"]
    assert cli(*argv[1:]).code == 0


def test_a_rejection_in_json_has_what_the_server_would_send(cli: Cli, board: Where) -> None:
    cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "x")
    refused = cli("write", "a", *board, "--agent", "planner", "--revision", "2", "--text", "y", "--json")
    assert (refused.code, refused.err) == (3, "")
    assert refused.json["code"] == "unseen-revision"
    assert set(refused.json) >= CONTEXT | {"type", "title", "status", "detail", "rules", "evidence", "remedy"}


def test_every_operation_answers_in_json_with_its_context(cli: Cli, board: Where) -> None:
    runs = [
        ("write", "a", *EXECUTOR, "--revision", "1", "--text", "x"),
        ("read", "--all", *EXECUTOR),
        ("say", "see entry:2", *EXECUTOR, "--to", "planner"),
        ("end-turn", "3", *EXECUTOR),
        ("compact", *EXECUTOR, "--tokens-before", "9", "--tokens-after", "1"),
        ("propose", "a", *EXECUTOR, "--revision", "2", "--text", "y", "--reason", "why"),
        ("proposals",),
        ("board", "policy"),
        ("board", "policy", "--set", "completion_window=4"),
        ("board", "mode", "single-writer", "--coordinator", "planner"),
        ("board", "join", "planner", "--prefix", "task/"),
    ]
    for run in runs:
        ran = cli(*run, *board, "--json")
        assert ran.code == 0, ran
        assert set(ran.json) >= CONTEXT, run


def test_proposals_go_to_the_coordinator(cli: Cli, board: Where) -> None:
    assert cli("board", "mode", "single-writer", "--coordinator", "planner", "--why", "x", *board).code == 0
    refused = cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "x")
    assert refused.code == 3
    assert " propose a " in refused.err
    first = cli(
        "propose", "a", *board, *EXECUTOR, "--revision", "1", "--text", "x", "--reason", "because"
    ).out.strip()
    second = cli("propose", "b", *board, *EXECUTOR, "--revision", "1", "--value", "1").out.strip()
    unread = cli("accept", first, *board, "--agent", "planner")
    assert unread.code == 3
    listed = cli("proposals", *board, "--agent", "planner")
    assert [line.split()[0] for line in listed.lines] == ["PROPOSAL", first, second]
    assert "because" in listed.lines[1]
    assert cli("accept", first, *board, "--agent", "planner").lines[0].startswith("a@1  entry:")
    assert cli("refuse", second, *board, "--agent", "planner", "--reason", "no").code == 0
    assert cli("refuse", second, *board, "--agent", "planner").code == 3
    assert cli("accept", "proposal:999", *board, "--agent", "planner").code == 2


def test_peers_hear_of_a_compaction_at_their_next_call(cli: Cli, board: Where) -> None:
    cli("compact", *board, *EXECUTOR)
    heard = cli("read", "a", *board, "--agent", "planner")
    assert "notice: agent:executor compacted at seq 2" in heard.err


def test_an_operator_reports_the_compaction_of_others(cli: Cli, board: Where) -> None:
    told = cli("compact", *board, "--operator", "ops", "--of", "a", "--of", "b")
    assert told.lines == ["a, b: compacted, no entry seen up to seq 1 is held"]


def test_records_that_were_never_delivered_are_named(cli: Cli, board: Where) -> None:
    told = cli("compact", *board, *EXECUTOR, "--kept", "f_1")
    assert told.code == 0
    assert "never delivered, so not kept: f_1" in told.err
    assert "signal: invented-record (flag), executor" in told.err


def test_agents_and_one_of_them_are_shown_as_of_any_seq(cli: Cli, board: Where) -> None:
    cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "x", "--turn", "1")
    cli("compact", *board, *EXECUTOR)
    shown = cli("agents", *board)
    assert shown.lines[1].split()[:5] == ["executor", "compacted", "3", "1", "0"]
    now = cli("show", "executor", *board)
    assert now.lines[0] == "executor  compacted  as of seq 3"
    assert any(
        line.split()[:4] == ["a", "1", "1", "no"] or line.split()[:4] == ["a", "-", "1", "no"]
        for line in now.lines
    )
    before = cli("show", "executor", *board, "--at", "2")
    assert before.lines[0] == "executor  active  as of seq 2"
    assert cli("show", "executor", *board, "--json").json["view_digest"]
    assert cli("show", "nobody", *board).code == 2
    assert cli("show", "executor", *board, "--at", "99").code == 2


def test_the_log_is_filtered_and_bounded_and_one_document_a_line(cli: Cli, board: Where) -> None:
    for revision in range(1, 4):
        cli("write", "a", *board, *EXECUTOR, "--revision", str(revision), "--value", str(revision))
    seqs = [json.loads(line)["seq"] for line in cli("log", *board, "--json").lines]
    assert seqs == [1, 2, 3, 4]
    assert len(cli("log", *board, "--kind", "entry.written", "--limit", "2").lines) == 2
    assert len(cli("log", *board, "--after", "3").lines) == 1
    assert len(cli("log", *board, "--by", "executor", "--key", "a").lines) == 3
    assert cli("log", *board, "--by", "nobody").lines == []


def test_a_log_in_which_nothing_fits_says_so_and_knows_the_kinds(cli: Cli, board: Where) -> None:
    known = cli("log", *board, "--kind", "write.rejected")
    assert (known.code, known.out, known.err) == (0, "", "no event fits\n")
    mistyped = cli("log", *board, "--kind", "write.rejectd")
    assert (mistyped.code, mistyped.out) == (0, "")
    assert "did you mean write.rejected?" in mistyped.err
    assert "entry.written" in cli("log", *board, "--kind", "zzz").err


def test_following_shows_what_there_is_and_then_what_comes(cli: Cli, board: Where) -> None:
    cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--value", "1")
    followed = cli("follow", *board, "--count", "2", "--json")
    assert [json.loads(line)["kind"] for line in followed.lines] == ["board.opened", "entry.written"]


def test_the_policy_is_shown_and_changed_member_by_member(cli: Cli, board: Where) -> None:
    shown = cli("board", "policy", *board)
    assert 'demotion                      "revalidate"' in shown.out
    changed = cli(
        "board", "policy", *board, "--set", "demotion=read-only", "--set", "signals.citation-decay=off"
    )
    assert changed.code == 0
    policy = cli("board", "policy", *board, "--json").json["policy"]
    assert (policy["demotion"], policy["signals"]["citation-decay"]["effect"]) == ("read-only", "off")
    assert policy["completion"] == "reread"
    assert cli("board", "policy", *board, "--set", "demotoin=off").code == 2
    assert cli("board", "policy", *board, "--set", "demotion").code == 2


def test_a_board_is_opened_once_and_listed(cli: Cli, tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "x.db"))
    policy = tmp_path / "policy.json"
    policy.write_text('{"demotion": "read-only"}')
    opened = cli("board", "open", "one", *db, "--policy", str(policy))
    assert opened.lines == ["one: opened"]
    assert cli("board", "open", "one", *db, "--policy", str(policy)).lines == ["one: was open"]
    assert cli("board", "open", "one", *db, "--set", "demotion=off").code == 3
    assert cli("board", "open", *db).code == 2
    assert [line.split()[:2] for line in cli("board", "list", *db).lines] == [["BOARD", "HEAD"], ["one", "1"]]
    assert cli("board", "list", *db, "--json").json["boards"][0]["head"] == 1


def test_a_policy_without_the_whole_guarantee_is_told_with_every_answer(cli: Cli, board: Where) -> None:
    cli("board", "policy", *board, "--set", "require_view=false")
    assert (
        "guarantee: this board's policy switches off require_view: false"
        in cli("read", "a", *board, *EXECUTOR).err
    )


def test_who_acts_must_fit_the_command(cli: Cli, board: Where) -> None:
    assert "--agent NAME" in cli("read", "a", *board).err
    both = cli("compact", *board, "--agent", "a", "--operator", "b")
    assert both.code == 2
    assert cli("board", "mode", "open", *board, "--agent", "a").code == 2


def test_identity_and_board_may_come_from_the_environment(
    cli: Cli, board: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLACKBOARD_AGENT", "executor")
    monkeypatch.setenv("BLACKBOARD_BOARD", "release-42")
    assert cli("read", "a", *board[:2]).code == 0
    assert "executor" in cli("log", *board[:2]).lines[-1]


def test_commands_that_only_look_make_no_file(cli: Cli, tmp_path: Path) -> None:
    for command in (["log"], ["agents"], ["ledger"], ["show", "a"], ["follow"]):
        ran = cli(*command, "--db", str(tmp_path / "none.db"), "--board", "b")
        assert (ran.code, ran.out) == (4, "")
        assert "there is no file" in ran.err
    assert cli("board", "list", "--db", str(tmp_path / "none.db")).code == 4
    assert list(tmp_path.iterdir()) == []


def test_an_owned_file_is_looked_at_and_not_written(cli: Cli, board: Where) -> None:
    cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "x")
    owner = [*COMMAND, "follow", *board]
    with subprocess.Popen(owner, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        looked = cli("log", *board)
        assert (looked.code, len(looked.lines)) == (0, 2)
        assert "looking at it read-only" in looked.err
        assert cli("show", "executor", *board).code == 0
        assert cli("follow", *board, "--count", "2").code == 0
        assert cli("board", "list", *board[:2]).code == 0
        busy = cli("write", "a", *board, *EXECUTOR, "--revision", "2", "--text", "y")
        process.terminate()
        process.wait(30)
    assert busy.code == 6
    assert "store-busy" in busy.err
    assert "--server" in busy.err


def test_values_of_agents_steer_no_terminal(cli: Cli, board: Where) -> None:
    cli("write", "a", *board, *EXECUTOR, "--revision", "1", "--text", "\x1b[2Jhidden\u202e")
    cli("say", "look\x07 at\nthis", *board, *EXECUTOR)
    for command in (["read", "a", *EXECUTOR], ["log"], ["ledger"], ["log", "--json"]):
        shown = cli(*command, *board).out
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
