"""`blackboard keep`: what a compaction has to keep, of a file and of a board."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blackboard.cli.app import run
from tests.cli.conftest import Cli

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "gate"
SOUND = sorted(path for path in FIXTURES.glob("fx?_*.json") if not path.name.startswith("fx5"))
FX1, FX2, FX3, FX4, FX6, FX7 = SOUND
RULE = {
    "id": "p1",
    "seq": 1,
    "kind": "policy",
    "scope": "pay.refund",
    "predicate": {"field": "amount", "op": "gt", "value": 5000},
    "effect": "deny",
}
LEDGER = {
    **RULE,
    "id": "p2",
    "seq": 2,
    "predicate": {"field": "task/B", "op": "ne", "value": 1, "source": "ledger"},
}
CATALOG = [
    {
        "name": "pay.refund",
        "input_schema": {
            "properties": {"amount": {"type": "number", "maximum": 4999.5}},
            "required": ["amount"],
        },
    },
    "notes.append",
]

Write = Callable[..., str]


@pytest.fixture
def file(tmp_path: Path) -> Write:
    """Write a file of records, and name it."""

    def make(path: Path | None = None, **members: Any) -> str:
        content = json.loads(path.read_text(encoding="utf-8")) if path else {"records": [RULE], "kept": []}
        made = tmp_path / "case.json"
        made.write_text(json.dumps(content | members), encoding="utf-8")
        return str(made)

    return make


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(CATALOG), encoding="utf-8")
    return str(path)


def prechecked(capsys: pytest.CaptureFixture[str], *argv: str) -> int:
    code = run(["gate", "--precheck", *argv])
    capsys.readouterr()
    return code


# -- of a file


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_compaction_that_keeps_exactly_this_passes_the_precheck(
    cli: Cli, file: Write, capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    kept = cli("keep", str(path)).lines
    assert prechecked(capsys, file(path, kept=kept)) == 0
    for one in kept:
        assert prechecked(capsys, file(path, kept=[other for other in kept if other != one])) == 1


@pytest.mark.parametrize("scheme", ["given", "head_tail", "recency"])
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_repaired_compaction_passes_the_precheck(
    cli: Cli, file: Write, capsys: pytest.CaptureFixture[str], path: Path, scheme: str
) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    ids = [record["id"] for record in content["records"]]
    before = {"given": content["kept"], "head_tail": ids[:8] + ids[-8:], "recency": ids[-16:]}[scheme]
    after = cli("keep", "--repair", file(path, kept=before)).lines
    assert set(before) <= set(after)
    assert prechecked(capsys, file(path, kept=after)) == 0


def test_what_must_be_kept_is_the_rule_the_fact_or_the_prose_that_was_lost(cli: Cli) -> None:
    assert cli("keep", str(FX1)).lines == ["f_011"]
    assert cli("keep", str(FX2)).lines == ["f_003", "f_020"]
    assert cli("keep", str(FX3)).lines == ["f_025"]
    assert cli("keep", str(FX4)).lines == [f"f_{number:03}" for number in range(9, 17)]
    assert "f_011" in cli("keep", "--repair", str(FX6)).lines


def test_the_document_names_what_is_held_and_what_is_to_be_read(cli: Cli, file: Write) -> None:
    name = file(records=[RULE, LEDGER], delivered=["p2"], kept=["p2"], tools=["pay.refund"])
    for options in ((), ("--repair",)):
        assert cli("keep", "--json", *options, name).json == {
            "records": ["p1", "p2"],
            "held": ["p2"],
            "read": ["p1"],
            "reread": ["task/B"],
        }
    ran = cli("keep", name)
    assert ran.lines == ["p2"]
    assert ran.err.splitlines() == [
        "not held, to be read afterwards: p1",
        "keys to be read again afterwards: task/B",
    ]


def test_the_tools_are_named_by_hand_by_the_file_or_by_the_catalog(
    cli: Cli, file: Write, catalog: str
) -> None:
    assert cli("keep", "--tools", "pay.refund", file()).lines == ["p1"]
    assert cli("keep", "--tools", "notes.append", file(tools=["pay.refund"])).lines == []
    assert cli("keep", file(tools=["pay.refund"])).lines == ["p1"]
    # No refund of the catalog can be above 4999.5.
    assert cli("keep", "--catalog", catalog, file()).lines == []
    assert cli("keep", "--catalog", catalog, "--tools", "pay.refund", file()).lines == []


def test_no_action_is_read(cli: Cli, file: Write) -> None:
    assert cli("keep", file(tools=["pay.refund"], action="nonsense")).lines == ["p1"]


def test_what_is_printed_steers_no_terminal(cli: Cli, file: Write) -> None:
    hostile = {**RULE, "id": "p\u202e1"}
    assert cli("keep", "--tools", "pay.refund", file(records=[hostile])).lines == ["p\\u202e1"]


def test_a_malformed_file_ends_with_2_and_its_name(cli: Cli, file: Write) -> None:
    name = file(records=[{**RULE, "effect": "forbid"}], tools=["pay.refund"])
    ran = cli("keep", name)
    assert (ran.code, ran.out) == (2, "")
    assert "/records/0/effect" in ran.err
    assert ran.err.splitlines()[-1] == f"in {name}"
    assert cli("keep", "--json", name).json["member"] == "/records/0/effect"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("missing.json",), "missing.json: No such file"),
        ((str(FIXTURES),), "Is a directory"),
        (("--kept", "p1", str(FX1)), "ask a board"),
        (("--of", "ann", str(FX1)), "ask a board"),
        (("-", "--catalog", "-"), "can be read once"),
        ((str(FX1), "--tools", ""), "--tools"),
    ],
)
def test_wrong_usage_on_a_file_ends_with_2(cli: Cli, argv: tuple[str, ...], told: str) -> None:
    ran = cli("keep", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_repair_needs_what_is_kept_and_either_needs_tools(cli: Cli, file: Write, tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    path.write_text(json.dumps({"records": [RULE], "tools": ["pay.refund"]}), encoding="utf-8")
    assert cli("keep", str(path)).lines == ["p1"]
    ran = cli("keep", "--repair", str(path))
    assert (ran.code, "/kept: is required" in ran.err) == (2, True)
    ran = cli("keep", file())
    assert (ran.code, "/tools: is required" in ran.err) == (2, True)


# -- of a board

Where = tuple[str, ...]
ANN = ("--agent", "ann")
TOOL = ("--tools", "pay.refund")


@pytest.fixture
def records(cli: Cli, board: Where) -> Where:
    """A board with a rule that the agent ann has read, and one about the ledger that she has not."""
    for rule in (RULE, LEDGER):
        written = {name: member for name, member in rule.items() if name != "seq"}
        assert cli("record", "add", json.dumps(written), *board).code == 0
    assert cli("record", "read", "p1", *board, *ANN).code == 0
    return board


def test_a_board_answers_what_an_agents_compaction_has_to_keep(cli: Cli, records: Where) -> None:
    ran = cli("keep", *TOOL, *records, *ANN)
    assert ran.lines == ["p1"]
    assert ran.err.splitlines() == [
        "not held, to be read afterwards: p2",
        "keys to be read again afterwards: task/B",
    ]
    told = cli("keep", *TOOL, *records, *ANN, "--json").json
    assert (told["agent"], told["records"], told["held"]) == ("ann", ["p1", "p2"], ["p1"])
    assert (told["read"], told["reread"]) == (["p2"], ["task/B"])


def test_a_board_repairs_what_is_to_be_kept_anyway(cli: Cli, records: Where) -> None:
    assert cli("keep", "--repair", "--kept", "p1", *TOOL, *records, *ANN).lines == ["p1"]
    assert cli("keep", "--repair", *TOOL, *records, *ANN).lines == ["p1"]


def test_an_operator_asks_about_an_agent(cli: Cli, records: Where) -> None:
    assert cli("keep", "--of", "ann", *TOOL, *records, "--operator", "ops").lines == ["p1"]


def test_a_board_is_asked_about_the_tools_of_a_catalog(cli: Cli, records: Where, catalog: str) -> None:
    # No refund of the catalog can be above 4999.5: only the rule about the ledger is left.
    told = cli("keep", "--catalog", catalog, *records, *ANN, "--json").json
    assert told["records"] == ["p2"]
    named = cli("keep", "--catalog", catalog, *TOOL, *records, *ANN, "--json").json
    assert named["records"] == ["p2"]
    assert cli("keep", "--catalog", catalog, "--tools", "notes.append", *records, *ANN).lines == []


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ((), "name the tools"),
        (("--kept", "p1", *TOOL), "--kept goes with --repair"),
        (("--tools", "a.*"), "asterisk"),
        (("--catalog", "missing.json"), "No such file"),
    ],
)
def test_wrong_usage_on_a_board_ends_with_2(cli: Cli, board: Where, argv: tuple[str, ...], told: str) -> None:
    ran = cli("keep", *argv, *board, *ANN)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_tool_that_the_catalog_does_not_have_is_wrong_usage(cli: Cli, board: Where, catalog: str) -> None:
    ran = cli("keep", "--catalog", catalog, "--tools", "x", *board, *ANN)
    assert (ran.code, "the catalog has no tool 'x'" in ran.err) == (2, True)
