"""The observed incident in its three forms, as the design of the write gate says that they come out; and
the second act: one compaction, four actions, one block.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from blackboard.cli.demo import BOARDS, Form, play
from blackboard.cli.demo.play import FORMS, Place, Played, play_form
from blackboard.cli.demo.show import Collector
from blackboard.events.kinds import KINDS
from tests.cli.conftest import Cli

Outcome = tuple[Played, Collector]


async def played(form: Form, tmp_path: Path) -> Outcome:
    collector = Collector(form, BOARDS[form])
    return await play_form(Place(f"sqlite:///{tmp_path}/demo.db"), form, BOARDS[form], collector), collector


def of_kind(collector: Collector, kind: str) -> list[Any]:
    assert kind in {known for known, _ in KINDS}
    return [event for event in collector.events if event.kind == kind]


def codes(rejection: Any) -> list[str]:
    return [rule["code"] for rule in rejection.body["rules"]]


def signals(collector: Collector) -> list[tuple[str, str]]:
    return [(event.body["signal"], event.body["effect"]) for event in of_kind(collector, "signal.raised")]


async def test_announced_the_write_from_the_summary_is_rejected_with_every_rule(tmp_path: Path) -> None:
    one, seen = await played("announced", tmp_path)
    (rejection,) = of_kind(seen, "write.rejected")
    assert rejection.body["code"] == "revalidation-required"
    assert codes(rejection) == [
        "revalidation-required",
        "revision-not-advancing",
        "unseen-revision",
        "completion-unverified",
    ]
    assert rejection.body["remedy"]["keys"] == ["task/B"]
    (compaction,) = of_kind(seen, "agent.compacted")
    assert compaction.body["agents"] == ["executor"]
    assert (len(one.outcome.corrupt), one.outcome.rejected) == (0, 1)
    assert one.outcome.rereads > 0


async def test_announced_the_peers_hear_of_it_at_their_next_call(tmp_path: Path) -> None:
    _, seen = await played("announced", tmp_path)
    heard = {remark["who"] for remark in seen.remarks if "agent:executor is compacted" in remark["text"]}
    assert heard == {"planner", "verifier"}


async def test_announced_after_a_full_read_the_executor_sees_what_is_so_and_goes_on(tmp_path: Path) -> None:
    _, seen = await played("announced", tmp_path)
    lost, restored, end = seen.compared
    assert lost["divergent"] == [
        {"agent": "executor", "task": "B", "believes": "complete", "ledger": "failed, retry pending"}
    ]
    assert restored["divergent"] == end["divergent"] == []
    assert end["ledger"] == end["truth"] == {"A": "complete", "B": "complete", "C": "pending"}


async def test_silent_a_stale_revision_and_then_a_guessed_one_are_rejected(tmp_path: Path) -> None:
    _, seen = await played("silent", tmp_path)
    stale, guessed, suspended = of_kind(seen, "write.rejected")
    assert codes(stale)[0] == "revision-not-advancing"
    assert codes(guessed) == ["unseen-revision", "completion-unverified"]
    assert guessed.body["writes"][0]["revision"] == stale.body["rules"][0]["evidence"]["current"] + 1
    assert codes(suspended) == ["revalidation-required"]
    assert suspended.body["writes"][0]["key"] == "task/C"
    assert of_kind(seen, "agent.compacted") == []


async def test_silent_the_uncited_report_suspends_writes_and_narrow_turns_are_flagged(tmp_path: Path) -> None:
    _, seen = await played("silent", tmp_path)
    raised = Counter(signals(seen))
    assert raised["citation-decay", "suspect"] == 1
    assert raised["write-breadth", "flag"] == 1
    assert raised["revision-break", "flag"] == 2
    decay = next(one for one in of_kind(seen, "signal.raised") if one.body["signal"] == "citation-decay")
    report = next(
        one for one in of_kind(seen, "message.posted") if "completed tasks are done" in one.body["text"]
    )
    assert decay.seq == report.seq + 1


async def test_silent_a_full_read_restores_the_executor(tmp_path: Path) -> None:
    one, seen = await played("silent", tmp_path)
    assert [len(compared["divergent"]) for compared in seen.compared] == [1, 0, 0]
    assert seen.compared[-1]["ledger"] == seen.compared[-1]["truth"]
    assert (len(one.outcome.corrupt), one.outcome.rejected) == (0, 3)


async def test_with_the_gate_off_the_corruption_is_accepted_and_the_log_tells_all_of_it(
    tmp_path: Path,
) -> None:
    one, seen = await played("gate off", tmp_path)
    (corrupt,) = one.outcome.corrupt
    (compaction,) = of_kind(seen, "agent.compacted")
    written = next(event for event in seen.events if event.seq == corrupt.seq)
    assert (written.key, written.actor, written.body["value"]) == (
        "task/B",
        "agent:executor",
        {"status": "complete"},
    )
    assert corrupt.truly.status == "failed"
    assert corrupt.compaction == compaction.seq
    assert (corrupt.seen, corrupt.current) == (3, 4)
    assert corrupt.stopped_by == [
        "revalidation-required",
        "revision-not-advancing",
        "unseen-revision",
        "completion-unverified",
    ]
    assert (one.outcome.rejected, one.outcome.rereads) == (0, 0)
    assert signals(seen) == []


async def test_with_the_gate_off_everybody_ends_up_believing_what_is_not_so(tmp_path: Path) -> None:
    _, seen = await played("gate off", tmp_path)
    end = seen.compared[-1]
    assert end["divergent"] == []
    assert end["ledger"]["B"] == "complete"
    assert end["truth"]["B"] == "failed"
    assert any(remark["text"].endswith("it ships") for remark in seen.remarks)


@pytest.mark.parametrize("form", FORMS)
async def test_the_log_is_shown_whole_and_in_order(form: Form, tmp_path: Path) -> None:
    _, seen = await played(form, tmp_path)
    assert [event.seq for event in seen.events] == list(range(1, len(seen.events) + 1))


async def test_boards_of_an_earlier_run_are_left_alone(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/demo.db")
    await play_form(place, "silent", "demo-silent", Collector("silent", "demo-silent"))
    assert list((await play.free_names(place)).values()) == [
        "demo-2",
        "demo-2-silent",
        "demo-2-off",
        "demo-2-refunds",
    ]


def test_the_command_prints_rejections_beliefs_and_the_table(cli: Cli) -> None:
    ran = cli("demo")
    assert ran.code == 0
    assert "task/B  unseen-revision: " in ran.out
    assert "remedy: " in ran.out
    assert "executor believes" in ran.out
    assert "the ledger says" in ran.out
    table = [line.split() for line in ran.lines[-3:]]
    assert [row[-3:] for row in table] == [["0", "1", "9"], ["0", "3", "9"], ["1", "0", "0"]]
    assert "log --board demo --db" in ran.err


def test_afterwards_the_same_log_is_found_without_naming_the_file(cli: Cli) -> None:
    document = cli("demo", "--json").json
    for form in document["forms"]:
        shown = cli("log", "--board", form["board"], "--json")
        assert shown.code == 0
        assert [json.loads(line) for line in shown.lines] == form["events"]
    assert cli("show", "executor", "--board", "demo").code == 0


def test_each_run_replaces_the_last_ones_file(cli: Cli) -> None:
    first, second = (cli("demo", "--json").json for _ in range(2))
    assert [row["board"] for row in first["table"]] == [row["board"] for row in second["table"]]
    assert first["table"] == second["table"]
    assert first["forms"][0]["events"][0]["hash"] != second["forms"][0]["events"][0]["hash"]


def test_the_json_has_forms_beliefs_and_the_table(cli: Cli, tmp_path: Path) -> None:
    document = cli("demo", "--json", "--db", str(tmp_path / "d.db")).json
    assert [form["form"] for form in document["forms"]] == ["announced", "silent", "gate off"]
    for form, row in zip(document["forms"], document["table"], strict=True):
        assert row["corrupt_writes_accepted"] == len(form["corrupt_writes"])
        assert row["rejected"] == sum(event["kind"] == "write.rejected" for event in form["events"])
        assert {"seq", "moment", "believed", "ledger", "truth", "divergent"} == set(form["beliefs"][0])
    assert cli("log", "--board", "demo", "--db", str(tmp_path / "d.db")).code == 0


def test_in_the_second_act_one_compaction_and_four_actions_give_one_block(cli: Cli) -> None:
    checks = cli("demo", "--json").json["refunds"]["checks"]
    told = [
        (check["tool"], check["params"], check["verdict"]["verdict"], check["verdict"]["policy"]["answer"])
        for check in checks
    ]
    assert told == [
        ("refunds.create", {"amount": 8400}, "BLOCK", "needs-approval"),
        ("refunds.create", {"amount": 120}, "PASS", "allowed-by"),
        ("refunds.create", {"amount": 5000}, "PASS", "default"),
        ("notes.append", {"ticket": 7741}, "PASS", "default"),
        ("refunds.create", {"amount": 8400}, "PASS", "needs-approval"),
    ]
    (reason,) = checks[0]["verdict"]["reasons"]
    assert (reason["code"], reason["id"], reason["reread"]) == (
        "dropped-binding-constraint",
        "f_011",
        ["f_011"],
    )


def test_the_second_act_is_a_log_like_any_other(cli: Cli) -> None:
    board = cli("demo", "--json").json["refunds"]["board"]
    events = [json.loads(line) for line in cli("log", "--board", board, "--json").lines]
    assert Counter(event["kind"] for event in events) == {
        "board.opened": 1,
        "record.added": 52,
        "board.read": 2,
        "agent.compacted": 1,
        "action.checked": 5,
    }
    (compaction,) = (event["body"] for event in events if event["kind"] == "agent.compacted")
    assert len(compaction["kept"]) == 16


def test_the_second_act_is_printed_with_the_reason_and_the_way_back(cli: Cli) -> None:
    out = cli("demo").out
    _, _, act = out.partition("=== second act")
    assert act.count("BLOCK dropped-binding-constraint") == 1
    assert "read again: f_011" in act
    assert act.index("f_011 is read again") > act.index("BLOCK")
