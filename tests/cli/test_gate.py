"""`blackboard gate`: every published row, the options, what goes wrong, and the same bytes everywhere.

The tables are those of the article that the gate comes from (seed 2), on its fixtures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blackboard.cli.app import run
from blackboard.gate.actions import examine
from tests.cli.conftest import Ran
from tests.pure import golden

HERE = Path(__file__).resolve().parents[1] / "fixtures" / "gate"
SEVEN = sorted(path.name for path in HERE.glob("fx?_*.json") if path.name != "fx5_variants.json")
SOUND = [name for name in SEVEN if not name.startswith("fx5")]
VARIANTS = json.loads((HERE / "fx5_variants.json").read_text(encoding="utf-8"))
FX1, FX2, FX3, FX4, FX5, FX6, FX7 = SEVEN

Pair = tuple[str, str | None]
Gate = Callable[..., Ran]


@pytest.fixture
def gate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Run `blackboard gate` beside the fixtures: 0, 1 or 2, and never a traceback."""
    monkeypatch.chdir(HERE)

    def call(*argv: str) -> Ran:
        capsys.readouterr()
        code = run(["gate", *argv])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert code in (0, 1, 2)
        return Ran(code, said.out, said.err)

    return call


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """Write a fixture with other members, and name it."""

    def make(name: str, **members: Any) -> str:
        path = tmp_path / "case.json"
        path.write_text(json.dumps(fixture(name) | members), encoding="utf-8")
        return str(path)

    return make


def fixture(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / name).read_text(encoding="utf-8"))
    return found


def headlines(ran: Ran) -> list[Pair]:
    """The verdict and the first reason of every result."""
    return [
        (result["verdict"], next((reason["code"] for reason in result["reasons"]), None))
        for result in ran.json["results"]
    ]


def notes(ran: Ran) -> list[str]:
    return [note["code"] for result in ran.json["results"] for note in result["notes"]]


BINDING: Pair = ("BLOCK", "dropped-binding-constraint")
STALE_KEPT: Pair = ("BLOCK", "dropped-superseder-stale-kept")
STALE_PERMIT: Pair = ("BLOCK", "dropped-superseder-stale-permit")
UNEVALUABLE: Pair = ("BLOCK", "dropped-unevaluable-record")
MAY_BIND: Pair = ("BLOCK", "may-bind-some-action")
PASS: Pair = ("PASS", None)

REFUND = "refunds.create"
FOUR: list[tuple[str, dict[str, Any], Pair]] = [
    (REFUND, {"amount": 8400}, BINDING),
    (REFUND, {"amount": 120}, PASS),
    (REFUND, {"amount": 5000}, PASS),
    ("notes.append", {"ticket": 7741}, PASS),
]


# -- one compaction, four actions, one block


@pytest.mark.parametrize(("tool", "params", "expected"), FOUR)
def test_one_compaction_four_actions_one_block(
    gate: Gate, file: Callable[..., str], tool: str, params: dict[str, Any], expected: Pair
) -> None:
    content = {"actions": [{"tool": tool, "params": params}]}
    ran = gate("--json", file(FX1, **content))
    assert headlines(ran) == [expected]
    assert ran.code == (1 if expected[0] == "BLOCK" else 0)


@pytest.mark.parametrize(
    ("amount", "expected"), [(4999, PASS), (5000, PASS), (5001, BINDING), (8400, BINDING)]
)
def test_the_boundary_is_computed_5000_passes_and_5001_blocks(
    gate: Gate, file: Callable[..., str], amount: int, expected: Pair
) -> None:
    content = {"actions": [{"tool": REFUND, "params": {"amount": amount}}]}
    assert headlines(gate("--json", file(FX1, **content))) == [expected]


def test_all_rows_are_judged_against_one_compaction(gate: Gate) -> None:
    ran = gate("--json", FX1)
    compactions = [result["compaction"] for result in ran.json["results"]]
    assert len(compactions) == len(fixture(FX1)["actions"]) == 6
    assert all(compaction == compactions[0] for compaction in compactions)
    assert (compactions[0]["records"], compactions[0]["kept"], compactions[0]["dropped"]) == (52, 16, 36)
    lines = [line for line in gate(FX1).lines if line.startswith("    compaction:")]
    assert len(set(lines)) == 1
    assert "52 records, 16 kept, 36 dropped (retention=given, kept-sha256=" in lines[0]


def test_a_dropped_allow_is_noted_and_blocks_nothing(gate: Gate, file: Callable[..., str]) -> None:
    ran = gate("--json", file(FX1, actions=[{"tool": REFUND, "params": {"amount": 120}}]))
    (result,) = ran.json["results"]
    assert {note["code"]: note.get("id") for note in result["notes"]}["permissive"] == "f_020"
    assert (result["verdict"], result["policy"]) == ("PASS", "allowed-by")


def test_the_reason_names_the_rule_its_values_and_what_to_read_again(gate: Gate) -> None:
    (reason,) = gate("--json", FX6).json["results"][0]["reasons"]
    assert (reason["id"], reason["effect"]) == ("f_003", "allow")
    assert (reason["full"], reason["held"]) == ("FALSE", "TRUE")
    assert (reason["missing"], reason["reread"]) == (["f_011"], ["f_011"])
    for told in (
        "f_003",
        "customer.tier",
        "f_002",
        "gold",
        "seq 2",
        "f_011",
        "standard",
        "seq 11",
        "supersedes",
    ):
        assert told in reason["detail"]


# -- the precheck


def test_the_gate_blocks_one_of_four_and_the_precheck_four_of_four(
    gate: Gate, file: Callable[..., str]
) -> None:
    blocked, blind, shown = [], [], set()
    for tool, params, _ in FOUR:
        name = file(FX1, action={"tool": tool, "params": params}, actions=[{"tool": tool, "params": params}])
        blocked.append(gate(name).code)
        blind.append(gate("--precheck", name).code)
        shown.add(gate("--precheck", name).out)
    assert (blocked, blind) == ([1, 0, 0, 0], [1, 1, 1, 1])
    assert len(shown) == 1


def test_the_precheck_reads_no_action_and_says_so(gate: Gate, file: Callable[..., str]) -> None:
    content = fixture(FX1)
    del content["actions"]
    whole = gate("--precheck", file(FX1)).out
    assert gate("--precheck", file(FX1, action="nonsense", actions=None)).out == whole
    lines = whole.splitlines()
    assert "not read" in next(line for line in lines if line.startswith("    action"))
    assert "    tools     : refunds.create" in lines
    assert "    verdict   : BLOCK (action-blind) exit 1" in lines
    assert [line for line in lines if line.startswith("    reason    : may-bind-some-action: ")]


@pytest.mark.parametrize("name", SOUND)
def test_the_precheck_of_every_fixture(gate: Gate, name: str) -> None:
    ran = gate("--precheck", "--json", name)
    assert [verdict for verdict, _ in headlines(ran)] == [fixture(name)["expect"]["precheck"]]


def test_a_witness_of_the_precheck_blocks_in_the_gate(gate: Gate, file: Callable[..., str]) -> None:
    for name in (FX1, FX2, FX6):
        for reason in gate("--precheck", "--json", name).json["results"][0]["reasons"]:
            action = {"tool": REFUND, "params": json.loads(reason["witness"])}
            assert gate(file(name, actions=[action])).code == 1


# -- two schemes, opposite failures

SCHEMES: list[tuple[str, str, Pair]] = [
    (FX1, "head_tail", BINDING),
    (FX1, "recency", BINDING),
    (FX2, "head_tail", STALE_KEPT),
    (FX2, "recency", BINDING),
    (FX3, "head_tail", PASS),
    (FX3, "recency", PASS),
    (FX6, "head_tail", STALE_PERMIT),
    (FX6, "recency", PASS),
    (FX7, "head_tail", PASS),
    (FX7, "recency", PASS),
]


@pytest.mark.parametrize(("name", "scheme", "expected"), SCHEMES)
def test_the_two_schemes_fail_in_opposite_ways_on_the_same_input(
    gate: Gate, file: Callable[..., str], name: str, scheme: str, expected: Pair
) -> None:
    content = fixture(name)
    ran = gate("--json", "--retention", scheme, "--k", "8", file(name, actions=[content["action"]]))
    assert headlines(ran) == [expected]
    assert list(expected) == content["expect"]["table"][scheme]
    assert ran.json["results"][0]["compaction"]["k"] == 8


def test_a_stale_value_in_the_safe_direction_is_a_note(gate: Gate) -> None:
    ran = gate("--json", FX7)
    assert (headlines(ran), ran.code) == ([PASS], 0)
    assert "stale value, safe direction" in notes(ran)


# -- prose


def test_a_dropped_summary_blocks_for_its_kind(gate: Gate) -> None:
    ran = gate("--json", FX4)
    assert headlines(ran) == [UNEVALUABLE]
    assert len(ran.json["results"][0]["reasons"]) == 8


def test_flying_blind_is_a_loud_decision(gate: Gate) -> None:
    ran = gate("--allow-unevaluable", "--json", FX4)
    assert (headlines(ran), ran.code) == ([PASS], 0)
    assert "you chose to fly blind" in gate("--allow-unevaluable", FX4).out


def test_the_same_blobs_retyped_as_chatter_are_believed(gate: Gate, file: Callable[..., str]) -> None:
    records = fixture(FX4)["records"]
    retyped = [{**one, "kind": "chatter"} for one in records]
    ran = gate("--json", file(FX4, records=retyped))
    assert (headlines(ran), ran.code) == ([PASS], 0)
    assert {"code": "dropped as chatter", "detail": "8"} in ran.json["results"][0]["notes"]


# -- the sweep, and the fixtures as a whole


def test_the_sweep_of_the_seven(gate: Gate) -> None:
    ran = gate(*SEVEN)
    assert ran.code == 1
    assert ran.lines[-1] == "2 PASS, 4 BLOCK, 1 ERROR -> overall exit 1"


@pytest.mark.parametrize("name", SEVEN)
def test_every_fixture_comes_out_as_it_says(gate: Gate, name: str) -> None:
    expected = fixture(name)["expect"]
    ran = gate("--json", name)
    assert ran.code == ran.json["exit"] == expected["exit"]
    verdicts = {verdict for verdict, _ in headlines(ran)}
    assert expected["sweep"] == next(word for word in ("BLOCK", "ERROR", "PASS") if word in verdicts)
    if "given" in expected:
        assert [list(pair) for pair in headlines(ran)] == expected["given"]


@pytest.mark.parametrize("name", ["sweep", "precheck", "head_tail", "recency"])
def test_the_reports_are_the_golden_ones(gate: Gate, name: str) -> None:
    options = {"sweep": [], "precheck": ["--precheck"]}.get(name, ["--retention", name])
    golden.held(f"gate/{name}.txt", gate(*options, *SEVEN).out)


def test_the_document_of_the_sweep_is_the_golden_one(gate: Gate) -> None:
    golden.held("gate/sweep.json", gate("--json", *SEVEN).out)


# -- malformed input exits 2


@pytest.mark.parametrize("name", VARIANTS["variants"])
def test_malformed_input_exits_2_and_never_0(gate: Gate, tmp_path: Path, name: str) -> None:
    path = tmp_path / "variant.json"
    path.write_text(json.dumps(VARIANTS["variants"][name]), encoding="utf-8")
    assert_error(gate, str(path))


@pytest.mark.parametrize("name", VARIANTS["raw_text_variants"])
def test_malformed_text_exits_2_and_never_0(gate: Gate, tmp_path: Path, name: str) -> None:
    path = tmp_path / "variant.json"
    path.write_text(VARIANTS["raw_text_variants"][name], encoding="utf-8")
    assert_error(gate, str(path))


def assert_error(gate: Gate, path: str) -> None:
    shown = gate(path)
    assert shown.code == 2
    assert "    verdict   : ERROR (malformed) exit 2" in shown.lines
    told = gate("--json", path)
    (result,) = told.json["results"]
    assert (told.code, told.json["exit"], result["exit"], result["verdict"]) == (2, 2, 2, "ERROR")
    (reason,) = result["reasons"]
    assert reason["member"] == "" or reason["member"] in reason["detail"]
    assert reason["detail"] in shown.out


# -- options


@pytest.mark.parametrize(
    ("effect", "params", "answer"),
    [
        ("deny", {"amount": 8400}, "deny"),
        ("require_approval", {"amount": 8400}, "needs-approval"),
        ("deny", {}, "undetermined"),
        ("deny", {"amount": 1}, "default"),
        ("allow", {"amount": 8400}, "allowed-by"),
    ],
)
def test_enforce_exits_0_only_where_the_rules_permit_too(
    gate: Gate, file: Callable[..., str], effect: str, params: dict[str, Any], answer: str
) -> None:
    rule = {
        "id": "p1",
        "seq": 1,
        "kind": "policy",
        "scope": REFUND,
        "predicate": {"field": "amount", "op": "gt", "value": 5000},
        "effect": effect,
    }
    name = file(FX3, records=[rule], kept=["p1"], action={"tool": REFUND, "params": params})
    assert gate(name).code == 0
    assert gate("--json", name).json["results"][0]["policy"] == answer
    ran = gate("--enforce", name)
    permitted = answer in ("default", "allowed-by")
    assert ran.code == (0 if permitted else 1)
    assert (f"    verdict   : PASS (enforced: {answer}) exit 1" in ran.lines) is not permitted


def test_enforce_leaves_block_and_error_what_they_are(gate: Gate) -> None:
    assert (gate("--enforce", FX6).code, gate("--enforce", FX5).code) == (1, 2)


CATALOG = [
    {
        "name": REFUND,
        "input_schema": {
            "type": "object",
            "properties": {"amount": {"type": "integer", "minimum": 0, "maximum": 4000}},
            "required": ["amount"],
        },
    }
]


def catalog_faults() -> dict[str, tuple[dict[str, Any], str]]:
    return {
        "a tool that the catalog does not have": ({"tool": "notes.append", "params": {}}, "/action/tool"),
        "a param outside its domain": ({"tool": REFUND, "params": {"amount": 4001}}, "/action/params/amount"),
        "an undeclared param": ({"tool": REFUND, "params": {"amount": 1, "memo": ""}}, "/action/params/memo"),
        "a required param missing": ({"tool": REFUND, "params": {}}, "/action/params/amount"),
    }


@pytest.mark.parametrize("what", catalog_faults())
def test_an_action_outside_the_catalog_is_an_error(
    gate: Gate, file: Callable[..., str], tmp_path: Path, what: str
) -> None:
    action, member = catalog_faults()[what]
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(CATALOG), encoding="utf-8")
    inside = gate("--json", file(FX3, tools=CATALOG, action=action))
    beside = gate("--json", "--catalog", str(path), file(FX3, tools=[REFUND], action=action))
    for ran in (inside, beside):
        assert (ran.code, headlines(ran)) == (2, [("ERROR", "malformed")])
        assert ran.json["results"][0]["reasons"][0]["member"] == member


def test_one_action_outside_the_catalog_leaves_the_others_judged(
    gate: Gate, file: Callable[..., str]
) -> None:
    actions = [{"tool": "x", "params": {}}, {"tool": REFUND, "params": {"amount": 900}}]
    ran = gate("--json", file(FX2, tools=CATALOG, actions=actions))
    assert headlines(ran) == [("ERROR", "malformed"), STALE_KEPT]
    assert ran.code == 1
    ran = gate("--json", file(FX3, tools=CATALOG, actions=actions))
    assert (headlines(ran), ran.code) == ([("ERROR", "malformed"), PASS], 2)


def test_a_tool_of_a_catalog_without_a_schema_takes_any_params(gate: Gate, file: Callable[..., str]) -> None:
    tools = [*CATALOG, {"name": "notes.append"}]
    action = {"tool": "notes.append", "params": {"whatever": 1}}
    assert gate(file(FX3, tools=tools, action=action)).code == 0


def test_a_domain_removes_false_blocks_of_the_precheck(
    gate: Gate, file: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps({"tools": CATALOG}), encoding="utf-8")
    assert gate("--precheck", FX1).code == 1
    assert gate("--precheck", "--catalog", str(path), FX1).code == 0
    assert gate("--precheck", file(FX1, tools=CATALOG)).code == 0


def test_the_tools_of_a_precheck_are_named_by_hand_by_the_file_or_by_the_catalog(
    gate: Gate, file: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps([*CATALOG, {"name": "notes.append"}]), encoding="utf-8")
    content = fixture(FX1)
    del content["tools"]
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(content), encoding="utf-8")

    def tools(*argv: str) -> Any:
        return gate("--precheck", "--json", *argv).json["results"][0].get("tools")

    assert tools(FX1) == [REFUND]
    assert tools("--tools", " notes.append,a.b,notes.append", FX1) == ["notes.append", "a.b"]
    assert tools("--catalog", str(path), str(bare)) == [REFUND, "notes.append"]
    assert tools("--catalog", str(path), FX1) == [REFUND]
    unknown = gate("--precheck", "--json", "--catalog", str(path), "--tools", "a.b", FX1)
    assert (unknown.code, headlines(unknown)) == (2, [("ERROR", "malformed")])
    assert gate("--precheck", str(bare)).code == 2
    other = gate("--precheck", "--json", "--catalog", str(path), file(FX1, tools=[REFUND, "a.b"]))
    assert other.json["results"][0]["reasons"][0]["member"] == "/tools/1"


def test_k_is_the_options_else_the_files(gate: Gate, file: Callable[..., str]) -> None:
    assert (
        gate("--json", "--retention", "recency", file(FX1, k=2)).json["results"][0]["compaction"]["kept"] == 4
    )
    ran = gate("--json", "--retention", "recency", "--k", "3", file(FX1, k=2))
    assert ran.json["results"][0]["compaction"]["kept"] == 6


def test_what_was_never_delivered_is_unseen(gate: Gate, file: Callable[..., str]) -> None:
    content = fixture(FX1)
    delivered = [one["id"] for one in content["records"] if one["id"] != "f_011"]
    ran = gate("--json", file(FX1, delivered=delivered, actions=[content["action"]]))
    assert headlines(ran) == [("BLOCK", "unseen-binding-constraint")]
    assert ran.json["results"][0]["compaction"]["unseen"] == 1


def test_an_agent_does_not_approve_its_own_action(gate: Gate, file: Callable[..., str]) -> None:
    policy = {
        "id": "p1",
        "seq": 1,
        "kind": "policy",
        "scope": REFUND,
        "predicate": {"all": []},
        "effect": "require_approval",
    }
    action = {"tool": REFUND, "params": {"amount": 8400}}
    digest = gate("--json", file(FX3, records=[policy], kept=["p1"], action=action)).json["results"][0][
        "action_digest"
    ]
    approval = {
        "id": "a1",
        "seq": 2,
        "kind": "approval",
        "policy": "p1",
        "action_digest": digest,
        "granted": True,
        "approver": "agent:ann",
    }
    content: dict[str, Any] = {"records": [policy, approval], "kept": ["p1", "a1"], "action": action}

    def answer(**members: Any) -> tuple[str, bool]:
        ran = gate("--json", file(FX3, **content, **members))
        return ran.json["results"][0]["policy"], "approver-test-skipped" in notes(ran)

    assert answer() == ("default", True)
    assert answer(agent="agent:bob") == ("default", False)
    assert answer(agent="agent:ann") == ("needs-approval", False)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "Missing argument"),
        (["--retention", "newest", FX1], "newest"),
        (["--k", "-1", FX1], "-1"),
        (["--k", "many", FX1], "many"),
        (["--nonsense", FX1], "--nonsense"),
        (["--tools", "a.b", FX1], "--tools goes with --precheck"),
        (["--precheck", "--tools", "a.b,", FX1], "--tools"),
        (["--precheck", "--tools", "a.*", FX1], "asterisk"),
        (["--precheck", "--enforce", FX1], "--enforce"),
        (["--catalog", "missing.json", FX1], "No such file"),
        (["--catalog", "README.md", FX1], "--catalog README.md: the document: not JSON"),
        (["-", "-"], "can be read once"),
        (["--catalog", "-", "-"], "can be read once"),
    ],
)
def test_wrong_usage_exits_2_and_says_what(gate: Gate, argv: list[str], told: str) -> None:
    ran = gate(*argv)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    ran = gate("--json", *argv)
    assert (ran.code, ran.json["code"]) == (2, "malformed")


# -- files that cannot be read


def test_a_file_that_cannot_be_read_is_an_error_and_the_others_are_judged(gate: Gate, tmp_path: Path) -> None:
    ran = gate("--json", str(tmp_path / "missing.json"), str(tmp_path), FX3)
    assert ran.code == 2
    assert headlines(ran) == [("ERROR", "unreadable"), ("ERROR", "unreadable"), PASS]
    assert gate(str(tmp_path), FX3).lines[-1] == "1 PASS, 0 BLOCK, 1 ERROR -> overall exit 2"
    assert gate(str(tmp_path), FX3, FX1).code == 1


def test_a_file_beyond_the_limit_is_an_error_that_names_it(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blackboard.gate.actions.file.MAX_BYTES", 1000)
    ran = gate(FX1)
    assert ran.code == 2
    assert "too-large: the file: 1001 bytes; at most 1000 are read" in ran.out


def test_an_unexpected_failure_exits_2(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("blackboard.gate.actions.examine.judge", fail)
    ran = gate(FX1)
    assert (ran.code, ran.out) == (2, "")
    assert "unexpected failure: RuntimeError: a fault of ours" in ran.err


def test_nothing_is_worked_out_again_for_another_action(
    gate: Gate, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counted(name: str) -> None:
        made = getattr(examine, name)

        def call(*args: Any, **options: Any) -> Any:
            calls.append(name)
            return made(*args, **options)

        monkeypatch.setattr(examine, name, call)

    for name in ("read_file", "compact", "compile_tool", "judge"):
        counted(name)
    actions = [{"tool": tool, "params": {"amount": at}} for at in range(5) for tool in (REFUND, "a.b")]
    assert gate(file(FX1, actions=actions)).code == 0
    assert calls.count("judge") == 10
    assert [calls.count(name) for name in ("read_file", "compact", "compile_tool")] == [1, 1, 2]
