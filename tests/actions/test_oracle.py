"""The oracle itself: every published row, every handed case, and every cell of the tables."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.actions.oracle import Malformed, Verdict, judge
from tests.actions.truths import ABSENT, FALSE, TRUE, UNKNOWN, action_digest, compare, evaluate, normal

TESTS = Path(__file__).parent.parent
CASES = sorted((TESTS / "scenarios/action-cases").glob("*.json"))
FIXTURES = sorted((TESTS / "fixtures/gate").glob("fx?_*.json"))
SOUND = [path for path in FIXTURES if not path.name.startswith("fx5")]

Pair = tuple[str, str | None]


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    return document


def fixture(number: int) -> dict[str, Any]:
    return next(load(path) for path in FIXTURES if path.name.startswith(f"fx{number}_"))


def retained(document: dict[str, Any], scheme: str) -> list[str]:
    ids = [record["id"] for record in sorted(document["records"], key=lambda record: record["seq"])]
    k = document["k"]
    kept = {"given": document["kept"], "head_tail": ids[:k] + ids[-k:], "recency": ids[-2 * k :]}
    return kept[scheme]


def judged(
    document: dict[str, Any], action: dict[str, Any], scheme: str = "given", **options: Any
) -> Verdict:
    held = retained(document, scheme) if "k" in document else document["kept"]
    return judge(document["records"], held, action["tool"], action["params"], **options)


def headline(verdict: Verdict) -> Pair:
    return verdict.verdict, next(iter(verdict.codes), None)


# -------------------------------------------------------------------------------------------------- published


def test_one_compaction_four_actions_one_block() -> None:
    document = fixture(1)
    verdicts = [judged(document, action) for action in document["actions"]]
    assert [list(headline(verdict)) for verdict in verdicts] == document["expect"]["given"]
    assert [headline(verdict) for verdict in verdicts][:4] == [
        ("BLOCK", "dropped-binding-constraint"),
        ("PASS", None),
        ("PASS", None),
        ("PASS", None),
    ]
    assert verdicts[1].notes == [("permissive", "f_020")]
    assert [verdict.policy for verdict in verdicts[:4]] == [
        "needs-approval",
        "allowed-by",
        "default",
        "default",
    ]


@pytest.mark.parametrize("number", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("scheme", ["head_tail", "recency"])
def test_the_two_retention_schemes_fail_where_the_table_says(number: int, scheme: str) -> None:
    document = fixture(number)
    verdict = judged(document, document["action"], scheme)
    assert list(headline(verdict)) == document["expect"]["table"][scheme]


def test_a_stale_value_in_the_safe_direction_is_a_note() -> None:
    document = fixture(7)
    assert judged(document, document["action"]).notes == [("stale value, safe direction", "f_003")]


def test_summaries_fail_closed_and_retyped_as_chatter_they_are_believed() -> None:
    document = fixture(4)
    action = document["action"]
    assert judged(document, action).reasons == [
        ("dropped-unevaluable-record", f"f_{number:03}") for number in range(9, 17)
    ]
    blind = judged(document, action, allow_unevaluable=True)
    assert headline(blind) == ("PASS", None)
    assert blind.notes == [("dropped-unevaluable-record", "")]  # one note of all eight
    for record in document["records"]:
        record["kind"] = "chatter"
    assert judged(document, action) == Verdict("PASS", [], "default", [])


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_file_of_the_sweep_comes_out_as_published(path: Path) -> None:
    document = load(path)
    actions = document.get("actions", [document["action"]])
    blocked = any(judged(document, action).verdict == "BLOCK" for action in actions)
    assert ("BLOCK" if blocked else "PASS") == document["expect"]["sweep"]


def test_there_are_the_handed_cases_and_each_is_named_for_its_file() -> None:
    assert len(CASES) >= 22
    assert [load(path)["name"] for path in CASES] == [path.stem for path in CASES]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_handed_case_comes_out_as_it_says(path: Path) -> None:
    case = load(path)
    expect = case["expect"]
    if expect["verdict"] == "ERROR":
        with pytest.raises(Malformed, match="no record has the id 'p_new'"):
            judged(case, case["action"])
        return
    verdict = judged(case, case["action"])
    assert (verdict.verdict, verdict.codes, verdict.exit) == (
        expect["verdict"],
        expect["reasons"],
        expect["exit"],
    )
    assert verdict.policy == expect.get("policy", verdict.policy)


# ------------------------------------------------------------------------------------------------- the tables

F, U, T = FALSE, UNKNOWN, TRUE


@pytest.mark.parametrize(
    ("op", "constant", "value", "truth"),
    [
        ("eq", 5000, Decimal("5E+3"), T),
        ("eq", 5000, Decimal("5000.0"), T),
        ("eq", 2**53, 2**53 + 1, F),
        ("eq", Decimal("0.3"), Decimal("0.30000000000000004"), F),
        ("eq", 5000, "5000", U),
        ("eq", 1, True, U),
        ("eq", True, 1, U),
        ("eq", True, True, T),
        ("eq", None, None, T),
        ("eq", None, 5, F),
        ("eq", 5, None, F),
        ("eq", "a", ["a"], U),
        ("eq", None, {}, F),
        ("ne", 5000, Decimal("5E+3"), F),
        ("ne", "a", "b", T),
        ("ne", "a", None, T),
        ("ne", "a", 1, U),
        ("gt", 5000, 5000, F),
        ("gt", 5000, Decimal("5000.01"), T),
        ("gt", 5000, "8400", U),
        ("gt", 0, True, U),
        ("gt", 0, None, U),
        ("ge", 5000, 5000, T),
        ("lt", 5000, 4999, T),
        ("le", "b", "a", T),
        ("lt", "\uffee", "\U0001f600", F),  # by code points, not by UTF-16 units
        ("lt", 5000, [1], U),
        ("in", [1, 2], 2, T),
        ("in", [1, 2], 3, F),
        ("in", [1, 2], "1", U),
        ("in", [1, None], None, T),
        ("in", [1], None, F),
        ("in", [1, None], "1", U),
        ("not_in", [1, 2], 2, F),
        ("not_in", [1, 2], 3, T),
        ("not_in", [1], "1", U),
        ("prefix", "go", "gold", T),
        ("prefix", "gold", "go", F),
        ("prefix", "1", 1, U),
        ("exists", True, None, T),
        ("exists", False, None, F),
        ("exists", True, ABSENT, F),
        ("exists", False, ABSENT, T),
        *[(op, "a", ABSENT, U) for op in ("eq", "ne", "lt", "le", "gt", "ge", "prefix")],
        ("in", ["a"], ABSENT, U),
        ("not_in", ["a"], ABSENT, U),
    ],
)
def test_an_operator_compares_as_the_table_says(op: str, constant: Any, value: Any, truth: int) -> None:
    assert compare(op, value, constant) == truth


@pytest.mark.parametrize(
    ("predicate", "truth"),
    [
        ({"all": []}, T),
        ({"any": []}, F),
        ({"all": [{"any": []}, {"field": "u"}]}, F),
        ({"all": [{"all": []}, {"field": "u"}]}, U),
        ({"any": [{"all": []}, {"field": "u"}]}, T),
        ({"any": [{"any": []}, {"field": "u"}]}, U),
        ({"not": {"field": "u"}}, U),
        ({"not": {"any": []}}, T),
    ],
)
def test_truths_combine_by_kleene(predicate: dict[str, Any], truth: int) -> None:
    def unknown(part: Any) -> Any:
        return {"op": "eq", "value": 1, **part} if "field" in part else {k: fill(v) for k, v in part.items()}

    def fill(parts: Any) -> Any:
        return [unknown(part) for part in parts] if isinstance(parts, list) else unknown(parts)

    assert evaluate(unknown(predicate), lambda atom: ABSENT) == truth


def cell(effect: str, full: int, held: int | None) -> Verdict:
    """A rule that comes to `full` on all records and to `held` on the held ones (None: it is not held)."""
    values = {FALSE: "no", UNKNOWN: 0, TRUE: "yes"}
    records = [
        {"id": "then", "seq": 1, "kind": "fact", "field": "f", "value": values[held or FALSE]},
        {"id": "now", "seq": 2, "kind": "fact", "field": "f", "value": values[full], "supersedes": "then"},
        {
            "id": "rule",
            "seq": 3,
            "kind": "policy",
            "scope": ["t"],
            "predicate": {"field": "f", "op": "eq", "value": "yes"},
            "effect": effect,
        },
    ]
    return judge(records, ["then"] if held is None else ["then", "rule"], "t", {})


@pytest.mark.parametrize("effect", ["deny", "require_approval"])
@pytest.mark.parametrize(
    ("full", "held", "outcome"),
    [
        (F, None, None),
        (F, F, None),
        (F, U, "note"),
        (F, T, "stale value, safe direction"),
        (U, None, "dropped-binding-constraint"),
        (U, F, "dropped-superseder-stale-kept"),
        (U, U, "unresolved in both views"),
        (U, T, "note"),
        (T, None, "dropped-binding-constraint"),
        (T, F, "dropped-superseder-stale-kept"),
        (T, U, "dropped-superseder-stale-kept"),  # `input-kept-rule` is for inputs that are gone altogether
        (T, T, "binds, and the agent holds it"),
    ],
)
def test_a_rule_that_restricts_comes_out_as_its_cell(
    effect: str, full: int, held: int | None, outcome: str | None
) -> None:
    verdict = cell(effect, full, held)
    found = [("rule", outcome)] if outcome else []
    assert verdict.verdict == ("BLOCK" if (outcome or "").startswith("dropped-") else "PASS")
    assert [(name, code) for code, name in verdict.reasons + verdict.notes] == found


@pytest.mark.parametrize(
    ("full", "held", "outcome"),
    [
        (T, None, "permissive"),
        (T, F, "note"),
        (T, U, "note"),
        (T, T, None),
        *[(full, held, None) for full in (F, U) for held in (None, F, U)],
        (F, T, "dropped-superseder-stale-permit"),
        (U, T, "dropped-superseder-stale-permit"),
    ],
)
def test_a_rule_that_permits_comes_out_as_its_cell(full: int, held: int | None, outcome: str | None) -> None:
    verdict = cell("allow", full, held)
    found = [("rule", outcome)] if outcome else []
    assert verdict.verdict == ("BLOCK" if (outcome or "").startswith("dropped-") else "PASS")
    assert [(name, code) for code, name in verdict.reasons + verdict.notes] == found


def test_equal_actions_have_one_digest() -> None:
    spelled = [5000, Decimal("5000.0"), Decimal("5E+3"), Decimal("5000.000")]
    assert len({action_digest("t", {"amount": amount, "b": True}) for amount in spelled}) == 1
    assert action_digest("t", {"b": True, "a": 1}) == action_digest("t", {"a": 1, "b": True})
    assert action_digest("t", {"a": 1}) != action_digest("t", {"a": True})
    assert (
        normal({"b": [Decimal("-0.0"), Decimal("1E-7")], "a": 'é"\n'}) == '{"a":"é\\"\\n","b":[0,0.0000001]}'
    )
