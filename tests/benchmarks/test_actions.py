"""The rows of the action gate measure what they say, with engines to compare with and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmarks.calls import Calls
from benchmarks.engines import Cedar, Cel, cedar_policy, cel_expression, load
from benchmarks.figures import Figure
from benchmarks.rows import actions as rows
from benchmarks.rulebook import FACTS, TOOL, Rule, blocked, history, kept, lost, passing, rules, world
from benchmarks.run import Run
from benchmarks.sizes import TINY
from blackboard.gate.actions.compiling import compile_tool
from blackboard.gate.actions.judging import judge

NESTED = {
    "all": [
        {"field": "amount", "op": "gt", "value": 5000},
        {
            "not": {
                "any": [
                    {"field": "region", "op": "in", "value": ["eu"]},
                    {"field": "hold", "op": "eq", "value": True},
                ]
            }
        },
        {"field": "channel", "op": "prefix", "value": "partner"},
    ]
}


# -- what is judged


@pytest.mark.parametrize("count", [60, 300, 1000])
def test_a_history_has_as_many_records_as_asked_for_and_every_rule_once(count: int) -> None:
    records = history(count, 10)
    assert [record["seq"] for record in records] == list(range(1, count + 1))
    in_scope = [record["id"] for record in records if record.get("scope") == TOOL]
    assert in_scope == [rule.id for rule in rules(10)]


def test_rules_have_contents_of_their_own() -> None:
    """Rules are judged by content: two alike would be one."""
    assert len(compile_tool(world(1000, 100), TOOL).rows) == 100


def test_the_compaction_keeps_an_old_value_and_loses_one_rule_in_ten() -> None:
    found = world(1000, 100)
    compiled = compile_tool(found, TOOL)
    assert [row.id for row in compiled.rows if row.held is None] == [
        rule.id for index, rule in enumerate(rules(100)) if lost(index)
    ]
    newest, held = found.records.newest_fact("open_cases"), found.holding.newest_fact("open_cases")
    assert newest is not None
    assert held is not None
    assert held < newest
    assert found.holding.count == len(kept(history(1000, 100), 100))


def test_approvals_of_one_rule_and_what_nobody_can_evaluate_grow_with_the_history() -> None:
    found = [world(count, 10) for count in (500, 10_000)]
    many = [
        max(len(one.records.approvals(rule.id)) for index, rule in enumerate(rules(10)) if not lost(index))
        for one in found
    ]
    assert many[1] > 15 * many[0] > 50
    kept_ones = [len(one.holding.unevaluable) for one in found]
    assert kept_ones == [len(one.records.unevaluable) for one in found]
    assert kept_ones[1] > 15 * kept_ones[0] > 50


@pytest.mark.parametrize("rule_count", [10, 100])
def test_what_is_called_passing_passes_and_what_is_called_blocked_is(rule_count: int) -> None:
    compiled = compile_tool(world(300, rule_count), TOOL)
    assert {judge(compiled, action).word for action in passing()} == {"PASS"}
    assert {judge(compiled, action).word for action in blocked()} == {"BLOCK"}


def test_some_of_what_passes_is_bound_by_rules_that_are_held() -> None:
    compiled = compile_tool(world(300, 100), TOOL)
    assert {judge(compiled, action).policy.answer for action in passing()} >= {
        "deny",
        "default",
        "allowed-by",
    }


# -- calls


def test_a_turn_of_calls_stands_for_its_median_call() -> None:
    seen: list[str] = []
    calls = Calls(seen.append, ["a", "b"], 5)
    sample = calls()
    assert seen == ["a", "b", "a", "b", "a"]
    assert sample.units == 1
    assert 0 < sample.seconds * 1e6 <= calls.p99


def test_the_next_turn_goes_on_where_the_last_one_ended() -> None:
    seen: list[str] = []
    calls = Calls(seen.append, ["a", "b", "c"], 2)
    calls()
    calls()
    assert seen == ["a", "b", "c", "a"]


# -- engines


def test_a_rule_reads_alike_in_cedar_and_cel() -> None:
    rule = Rule("rule-7", NESTED, "deny")
    assert cedar_policy(rule) == (
        '@id("rule-7") forbid(principal, action == Action::"refunds.create", resource) when '
        '{ (context.amount > 5000 && !((["eu"].contains(context.region) || context.hold == true))'
        ' && context.channel like "partner*") };'
    )
    assert cel_expression(rule) == (
        '(amount > 5000 && !((region in ["eu"] || hold == true)) && channel.startsWith("partner"))'
    )
    assert cedar_policy(rule._replace(effect="allow")).startswith('@id("rule-7") permit(')


def test_an_engine_that_is_not_installed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cedar, "MODULE", "no_such_engine")
    assert load(Cedar) is None


class Plain:
    """An engine that knows the operators of the rulebook."""

    NAME: ClassVar[str] = "plain"
    PACKAGE: ClassVar[str] = "pytest"
    MODULE: ClassVar[str] = "pytest"
    CALL: ClassVar[str] = "A call: a comparison a rule"
    DECIDING_ONLY: ClassVar[bool] = False
    wrong: ClassVar[bool] = False

    def __init__(self, module: Any, book: Sequence[Rule]) -> None:
        assert module is pytest
        self._rules = book

    def answer(self, params: Mapping[str, Any]) -> set[str]:
        return {rule.id for rule in self._rules if _says(rule.predicate, FACTS | dict(params))}

    def true_of(self, params: Mapping[str, Any]) -> set[str]:
        return set() if self.wrong else self.answer(params)


def _says(part: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    if "all" in part:
        return all(_says(one, values) for one in part["all"])
    if "any" in part:
        return any(_says(one, values) for one in part["any"])
    if "not" in part:
        return not _says(part["not"], values)
    value, wanted = values[part["field"]], part["value"]
    tests = {
        "gt": lambda: value > wanted,
        "ge": lambda: value >= wanted,
        "lt": lambda: value < wanted,
        "eq": lambda: value == wanted,
        "ne": lambda: value != wanted,
        "in": lambda: value in wanted,
        "prefix": lambda: value.startswith(wanted),
    }
    return tests[part["op"]]()


def beside(place: Path) -> Iterator[Figure]:
    worlds = rows.Worlds(world(300, 10), world(60, 10), "two worlds")
    return rows._beside(Run(TINY, place, quiet=True), worlds)


def test_an_engine_stands_beside_the_verdict_warm_and_cold_without_a_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ENGINES", (Plain,))
    found = list(beside(tmp_path))
    assert [one.name for one in found] == ["actions.plain", "actions.plain.cold"]
    for one in found:
        assert one.base is not None
        assert one.target is None
        assert "another question" in one.base_name
        assert "a comparison a rule" in one.base_name
        assert one.durability == "none: pure computation"


def test_a_row_says_that_its_engine_is_not_installed_and_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "load", lambda _kind: None)
    found = list(beside(tmp_path))
    assert [one.name for one in found] == [
        "actions.cedar",
        "actions.cedar.cold",
        "actions.cel",
        "actions.cel.cold",
    ]
    assert all(one.base is None and one.ours > 0 for one in found)
    assert "cedarpy is not installed (./scripts/bench installs it)" in found[0].what
    assert f"{Cel.PACKAGE} is not installed" in found[3].what


def test_an_engine_that_finds_other_rules_true_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ENGINES", (Plain,))
    monkeypatch.setattr(Plain, "wrong", True)
    with pytest.raises(RuntimeError, match="plain finds"):
        list(beside(tmp_path))


def test_a_verdict_that_is_not_the_one_of_the_row_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="should PASS"):
        rows._expect("PASS", blocked(), partial(judge, compile_tool(world(300, 10), TOOL)))
