"""The precheck: which calls could be blocked, with a witness of each reason, and never PASS where some is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from blackboard.canonical import parse_exact
from blackboard.gate.actions import calls as searching
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.calls import MAY, Calls, find_call
from blackboard.gate.actions.compiling import compile_tool
from blackboard.gate.actions.formula import Both, Either, Seen
from blackboard.gate.actions.judging import judge
from blackboard.gate.actions.precheck import Precheck, Tool, possible, precheck, read_tools
from blackboard.gate.actions.residual import Compare
from blackboard.gate.actions.world import World
from blackboard.records.truth import UNKNOWN
from blackboard.records.verdict import Reason
from tests.actions.gating import approval, equals, fact, over, policy, retraction, world_of
from tests.actions.truths import Record

MAY_BIND = "may-bind-some-action"
ALWAYS: Record = {"all": []}


def tool(properties: dict[str, Any] | None = None, name: str = "t", **members: Any) -> Tool:
    """A tool whose calls have these parameters."""
    schema = {"properties": properties or {}, **members}
    return read_tools([{"name": name, "input_schema": schema}])[0]


def asked(
    stated: Collection[Record],
    held: Collection[str] = (),
    tools: Collection[Tool] = (Tool("t"),),
    *,
    options: dict[str, Any] | None = None,
    **sides: Any,
) -> Precheck:
    """The answer about these tools. `sides` go to `world_of`, `options` to `precheck`.

    Each witness is put into the gate, and has to block there.
    """
    world = world_of(stated, held, **sides)
    found = precheck(world, list(tools), **(options or {}))
    for reason in found.reasons:
        if reason.witness is not None:
            assert reason.id in blocked_by(world, reason, **(options or {}))
    return found


def blocked_by(world: World, reason: Reason, **options: Any) -> list[str]:
    """The ids of the reasons for which the gate blocks a witness."""
    assert reason.tool is not None
    assert reason.witness is not None
    action = Action(reason.tool, parse_exact(reason.witness))
    return [one.id for one in judge(compile_tool(world, reason.tool), action, **options).reasons]


def only(found: Precheck) -> Reason:
    (reason,) = found.reasons
    return reason


def codes(found: Precheck) -> list[tuple[str, str]]:
    return [(reason.code, reason.id) for reason in found.reasons]


# ---- what may bind


def test_a_lost_rule_may_bind_some_call_and_a_witness_shows_it() -> None:
    reason = only(asked([policy("p", 1, over(5000))]))
    assert (reason.code, reason.id, reason.witness, reason.tool) == (MAY_BIND, "p", '{"amount":5001}', "t")
    assert (reason.full, reason.held, reason.reread) == ("TRUE", None, ["p"])
    assert reason.detail.startswith("policy 'p' (deny) is not held any more and covers t;")


def test_a_lost_rule_that_nothing_can_satisfy_binds_no_call() -> None:
    there: Record = {"field": "amount", "op": "exists", "value": True}
    nothing: list[Record] = [
        {"any": []},
        {"all": [there, there | {"value": False}]},
        {"not": {"any": [ALWAYS, over(5)]}},
    ]
    for never in nothing:
        assert asked([policy("p", 1, never)]).verdict == "PASS"


def test_a_contradiction_is_unknown_of_what_is_no_number_and_so_binds() -> None:
    """Kleene's logic: nothing is both above 5 and not, yet of a string neither is known."""
    reason = only(asked([policy("p", 1, {"all": [over(5), {"not": over(5)}]})]))
    assert reason.full == "UNKNOWN"
    number = tool({"amount": {"type": "number"}}, required=["amount"])
    assert asked([policy("p", 1, {"all": [over(5), {"not": over(5)}]})], tools=[number]).verdict == "PASS"


def test_what_is_held_as_it_stands_binds_nothing_unseen() -> None:
    stated = [policy("p", 1, over(5000)), fact("f", 2, "amount", 9), policy("a", 3, over(5), "allow")]
    assert asked(stated, ["p", "f", "a"]) == Precheck("PASS", (), asked(stated, ["p", "f", "a"]).notes)


def test_a_kept_rule_that_reads_a_stale_value_may_bind() -> None:
    stated = [
        policy("p", 1, equals("restricted")),
        fact("old", 2, "tier", "standard"),
        fact("new", 3, "tier", "restricted", supersedes="old"),
    ]
    reason = only(asked(stated, ["p", "old"]))
    assert (reason.full, reason.held, reason.witness, reason.reread) == ("TRUE", "FALSE", "{}", ["new"])
    assert (
        "held policy 'p' (deny) covers t, and not all that it rests on is held as it stands" in reason.detail
    )
    assert "not held is 'new' (\"restricted\", seq 3), which supersedes 'old'" in reason.detail
    assert asked(stated, ["p", "new"]).verdict == "PASS"


def test_a_stale_value_in_the_safe_direction_binds_nothing() -> None:
    stated = [
        policy("p", 1, equals("restricted")),
        fact("old", 2, "tier", "restricted"),
        fact("new", 3, "tier", "x"),
    ]
    assert asked(stated, ["p", "old"]).verdict == "PASS"


def test_a_kept_permission_is_dangerous_and_a_lost_one_is_not() -> None:
    stated = [
        policy("a", 1, equals("gold"), "allow"),
        fact("old", 2, "tier", "gold"),
        retraction("new", 3, "tier"),
    ]
    assert asked(stated, ["old"]).verdict == "PASS"
    assert only(asked(stated, ["a", "old"])).full == "UNKNOWN"
    superseded = [policy("a", 1, over(5), "allow"), policy("b", 2, over(9), "allow", supersedes="a")]
    reason = only(asked(superseded, ["a"]))
    assert (reason.id, reason.missing, reason.reread, reason.full) == ("a", ["b"], ["b"], "FALSE")


def test_the_witness_leaves_to_the_facts_what_differs_in_them() -> None:
    stated = [
        policy("p", 1, {"all": [over(5000), equals("gold"), {"not": equals("USD", "currency")}]}),
        fact("f", 2, "tier", "gold"),
    ]
    reason = only(asked(stated, ["p"]))
    assert reason.witness is not None
    assert "tier" not in parse_exact(reason.witness)


def test_a_ledger_key_whose_entry_moved_is_named() -> None:
    stated = [policy("p", 1, equals("done", "task/a", source="ledger"))]
    reason = only(asked(stated, ["p"], ledger=({"task/a": "done"}, {"task/a": "open"})))
    assert (reason.keys, reason.witness) == (["task/a"], "{}")


def test_where_the_held_copy_is_dead_one_that_lives_has_to_be_read() -> None:
    stated = [
        policy("p", 1, over(5)),
        policy("other", 2, over(9), supersedes="p"),
        policy("again", 3, {"all": [over(5), equals("gold")]}),
        policy("dead", 4, {"all": [over(5), equals("gold")]}),
        policy("end", 5, {"any": []}, supersedes="dead"),
        fact("f", 6, "tier", "gold"),
    ]
    reasons = {reason.id: reason for reason in asked(stated, ["dead", "other"]).reasons}
    assert reasons["again"].reread == ["again", "end", "f"]


def test_only_one_of_several_lost_copies_has_to_be_read() -> None:
    stated = [policy("p", 1, over(5)), policy("q", 2, over(5))]
    reason = only(asked(stated))
    assert (reason.id, reason.missing, reason.reread) == ("q", ["p", "q"], ["q"])


def test_where_an_approval_is_held_of_a_lost_rule_its_end_has_to_be_read_too() -> None:
    rules = [policy(name, at, over(5000), "require_approval") for at, name in enumerate("pq", 4)]
    granted = [approval("a", 6, "p", CALL), approval("b", 7, "q", CALL), approval("c", 8, "p", {})]
    ends = [approval("r", 9, "p", CALL, granted=False), approval("s", 10, "q", {}, supersedes="b")]
    stated = [*rules, *granted, *ends]
    assert only(asked(stated, ["a", "b"])).reread == ["p", "q", "r", "s"]
    assert only(asked(stated, ["c"])).reread == ["p", "q"]
    assert only(asked(stated)).reread == ["q"]


# ---- tools


def test_a_tool_that_no_rule_covers_is_bound_by_none() -> None:
    assert asked([policy("p", 1, over(5), scope="refunds.*")], tools=[Tool("refunds")]).verdict == "PASS"
    assert (
        asked([policy("p", 1, over(5), scope="refunds.*")], tools=[Tool("refunds.create")]).verdict == "BLOCK"
    )


def test_a_rule_is_one_reason_for_all_tools_with_a_witness_of_the_first_that_has_one() -> None:
    stated = [policy("p", 1, over(5), scope="*")]
    small = tool({"amount": {"type": "integer", "maximum": 5}}, "a", required=["amount"])
    reason = only(asked(stated, tools=[Tool("c"), small, Tool("b")]))
    assert (reason.tool, reason.witness) == ("b", '{"amount":6}')
    assert "covers b and 1 more of the tools;" in reason.detail


def test_of_no_tools_no_call_can_be_blocked() -> None:
    assert (
        asked([policy("p", 1, over(5)), {"id": "s", "seq": 2, "kind": "summary"}], tools=[]).verdict == "PASS"
    )


# ---- domains


@pytest.mark.parametrize(
    ("schema", "witness"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 4000}, None),
        ({"type": "integer", "minimum": 0, "maximum": 5001}, '{"amount":5001}'),
        ({"type": "integer", "exclusiveMaximum": 5001}, None),
        ({"type": "number", "exclusiveMaximum": 5001}, '{"amount":5000.1}'),
        ({"enum": [120, 8400]}, '{"amount":8400}'),
        ({"enum": [120, 5000]}, None),
        ({"enum": [120, "8400"]}, '{"amount":"8400"}'),
        ({"type": ["integer", "null"], "maximum": 5000}, '{"amount":null}'),
    ],
)
def test_a_domain_removes_false_blocks_and_no_others(schema: Any, witness: str | None) -> None:
    found = asked([policy("p", 1, over(5000))], tools=[tool({"amount": schema}, required=["amount"])])
    assert [reason.witness for reason in found.reasons] == ([] if witness is None else [witness])


def test_a_param_that_may_be_left_out_is_unresolved_then() -> None:
    low = {"type": "integer", "maximum": 4000}
    assert only(asked([policy("p", 1, over(5000))], tools=[tool({"amount": low})])).witness == "{}"


def test_a_witness_gives_what_its_tool_requires() -> None:
    declared = {"amount": {"type": "integer", "minimum": 7}, "memo": {"enum": ["x", "y"]}, "tag": {}}
    found = asked([policy("p", 1, equals("gold"))], tools=[tool(declared, required=["memo", "amount"])])
    assert only(found).witness == '{"amount":7,"memo":"x"}'


def test_a_param_that_no_schema_declares_is_missing_from_every_call() -> None:
    stated = [
        policy("p", 1, {"field": "tier", "op": "exists", "value": True}),
        policy("q", 2, equals("gold")),
    ]
    reason = only(asked(stated, tools=[tool({"memo": {"const": 5}}, required=["memo"])]))
    assert (reason.id, reason.full, reason.witness) == ("q", "UNKNOWN", '{"memo":5}')


def test_a_tool_that_takes_no_call_is_never_called() -> None:
    impossible = tool({"a": {"enum": []}}, required=["a"])
    stated = [policy("p", 1, ALWAYS), {"id": "s", "seq": 2, "kind": "summary"}]
    assert asked(stated, tools=[impossible]).verdict == "PASS"
    assert codes(asked(stated, tools=[impossible, Tool("z")])) == [("dropped-unevaluable-record", "s")]
    (row,) = compile_tool(world_of(stated, []), "t").rows
    assert possible(row, Calls(impossible)) is None


# ---- approvals


CALL = {"amount": 8400}


def dead_approval(**members: Any) -> list[Record]:
    """A rule, an approval of the call, and its end, which nobody holds."""
    rule = policy("p", 1, over(5000), "require_approval")
    return [rule, approval("a", 2, "p", CALL), approval("r", 3, "p", CALL, granted=False, **members)]


def test_of_an_approval_that_counts_no_more_the_call_is_not_known() -> None:
    reason = only(asked(dead_approval(), ["p", "a"]))
    assert (reason.witness, reason.full, reason.held) == (None, None, None)
    assert (reason.missing, reason.reread) == (["r"], ["r"])
    assert "its action is known by its digest only" in reason.detail


def test_where_the_calls_are_few_the_one_of_an_approval_is_found() -> None:
    few = tool({"amount": {"enum": [120, 4000, 8400, 9000]}, "memo": {"type": ["boolean", "null"]}})
    reason = only(asked(dead_approval(), ["p", "a"], [few]))
    assert (reason.witness, reason.full, reason.held) == ('{"amount":8400}', "TRUE", "FALSE")
    assert (reason.missing, reason.reread) == (["r"], ["r"])


def test_the_call_of_an_approval_may_have_no_params() -> None:
    rule = policy("p", 1, over(5000), "require_approval")
    stated = [rule, approval("a", 2, "p"), approval("r", 3, "p", granted=False)]
    assert only(asked(stated, ["p", "a"], [tool()])).witness == "{}"


def test_where_the_call_of_an_approval_cannot_be_made_it_is_no_danger() -> None:
    low = tool({"amount": {"enum": [120, 4000, 9000]}})
    assert asked(dead_approval(), ["p", "a"], [low]).verdict == "PASS"
    number = tool({"amount": {"type": "integer", "maximum": 5000}}, required=["amount"])
    assert asked(dead_approval(), ["p", "a"], [number]).verdict == "PASS"


def test_where_the_calls_are_many_the_one_of_an_approval_stays_unknown() -> None:
    many = tool({"amount": {"type": "integer"}})
    assert only(asked(dead_approval(), ["p", "a"], [many])).witness is None
    listed = tool({"amount": {"enum": list(range(5001, 5001 + searching.KNOWABLE + 1))}}, required=["amount"])
    assert only(asked(dead_approval(), ["p", "a"], [listed])).witness is None


def test_a_witness_is_none_of_the_calls_that_are_approved() -> None:
    rule = policy("p", 1, over(5000), "require_approval")
    stated = [rule, *(approval(f"a{at}", 2 + at, "p", {"amount": at + 5001}) for at in range(3))]
    reason = only(asked(stated))
    assert reason.witness == '{"amount":5001,"other1":0}'
    closed = tool({"amount": {"type": "integer"}}, required=["amount"])
    assert only(asked(stated, tools=[closed])).witness == '{"amount":5004}'
    spare = tool({"amount": {"enum": [5001]}, "memo": {"type": "boolean"}}, required=["amount"])
    assert only(asked(stated, tools=[spare])).witness == '{"amount":5001,"memo":true}'


def test_where_every_call_is_approved_none_is_blocked() -> None:
    rule = policy("p", 1, over(5000), "require_approval")
    stated = [rule, approval("a", 2, "p", {"amount": 6000}), approval("b", 3, "p", {"amount": 7000})]
    listed = tool({"amount": {"enum": [1, 6000, 7000]}}, required=["amount"])
    assert asked(stated, tools=[listed]).verdict == "PASS"
    assert asked(stated[:2], tools=[listed]).verdict == "BLOCK"


def test_other_params_are_let_in_only_where_they_can_have_a_value() -> None:
    stated = [policy("p", 1, ALWAYS, "require_approval"), approval("a", 2, "p", {})]
    assert only(asked(stated, tools=[tool(additionalProperties={"const": 5})])).witness == '{"other1":5}'
    assert asked(stated, tools=[tool(additionalProperties={"enum": []})]).verdict == "PASS"
    assert asked(stated, tools=[tool()]).verdict == "PASS"


def test_a_copy_that_is_not_approved_binds_who_holds_only_the_approved_one() -> None:
    rules = [policy(name, at, over(5), "require_approval") for at, name in enumerate("pq", 1)]
    stated = [*rules, approval("a", 3, "p", {"amount": 9})]
    reason = only(asked(stated, ["p", "a"], [tool({"amount": {"enum": [1, 9]}})]))
    assert (reason.witness, reason.missing) == ('{"amount":9}', ["q"])


# ---- what cannot be evaluated, and what was never delivered


def test_a_lost_record_that_nobody_can_evaluate_blocks_every_call() -> None:
    stated = [
        {"id": "s", "seq": 1, "kind": "summary", "text": "..."},
        {"id": "v", "seq": 2, "kind": "summary"},
    ]
    found = asked(stated, ["v"], [tool({"a": {"const": 1}}, required=["a"])])
    assert codes(found) == [("dropped-unevaluable-record", "s")]
    assert (only(found).witness, only(found).tool) == ('{"a":1}', "t")
    assert ("kept-unevaluable-record", "v") in [(note.code, note.id) for note in found.notes]


def test_to_fly_blind_is_a_loud_note() -> None:
    stated = [{"id": "s", "seq": 1, "kind": "summary"}]
    found = asked(stated, options={"allow_unevaluable": True})
    assert (found.verdict, found.reasons) == ("PASS", ())
    assert "you chose to fly blind" in found.notes[-1].detail


def test_what_was_never_delivered_blocks_or_is_noted() -> None:
    stated = [policy("p", 1, over(5)), policy("q", 2, over(7))]
    assert codes(asked(stated, delivered=["q"])) == [(MAY_BIND, "p"), (MAY_BIND, "q")]
    found = asked(stated, delivered=["q"], options={"unseen": "note"})
    assert codes(found) == [(MAY_BIND, "q")]
    assert [(note.code, note.id) for note in found.notes][-1] == (MAY_BIND, "p")
    assert "was never delivered" in found.notes[-1].detail


def test_where_the_unseen_is_noted_only_the_call_of_a_dropped_answer_blocks() -> None:
    stated = [
        *dead_approval(),
        policy("q", 4, over(5000), "require_approval"),
        approval("b", 5, "p", {"amount": 9000}),
    ]
    found = asked(stated, ["p", "a", "b"], delivered=["p", "a", "r", "b"], options={"unseen": "note"})
    assert (codes(found), only(found).witness) == ([(MAY_BIND, "q")], None)
    found = asked(stated, ["p", "a", "b"], delivered=["p", "a", "b"], options={"unseen": "note"})
    assert found.verdict == "PASS"


def test_chatter_is_counted_and_an_unknown_actor_noted() -> None:
    stated = [{"id": "c", "seq": 9, "kind": "chatter"}, *dead_approval()[:2]]
    assert [(note.code, note.detail) for note in asked(stated, ["p", "a"]).notes] == [
        ("approver-test-skipped", "who acts is not said (`agent`): it may have approved its own actions"),
        ("dropped as chatter", "1"),
    ]
    assert [note.code for note in asked(stated, ["p", "a"], agent="ann").notes] == ["dropped as chatter"]


# ---- the cap


def hard(size: int) -> Record:
    """A predicate of which the search finds no witness soon: pigeons in one hole less than there are."""

    def sits(pigeon: int, hole: int) -> Record:
        return equals(True, f"p{pigeon}h{hole}")

    housed = [{"any": [sits(pigeon, hole) for hole in range(size)]} for pigeon in range(size + 1)]
    alone = [
        {"any": [{"not": sits(one, hole)}, {"not": sits(other, hole)}]}
        for hole in range(size)
        for other in range(size + 1)
        for one in range(other)
    ]
    return {"all": [*housed, *alone]}


def booleans(size: int) -> Tool:
    names = [f"p{pigeon}h{hole}" for pigeon in range(size + 1) for hole in range(size)]
    return tool({name: {"type": "boolean"} for name in names}, required=names)


def test_beyond_the_cap_a_rule_may_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked([policy("p", 1, hard(2))], tools=[booleans(2)]).verdict == "PASS"
    monkeypatch.setattr(searching, "CAP", 500)
    reason = only(asked([policy("p", 1, hard(2))], tools=[booleans(2)]))
    assert reason.witness is None
    assert "more to try than the cap allows" in reason.detail


def test_what_is_held_as_it_stands_is_not_tried_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "CAP", 0)
    assert asked([policy("p", 1, hard(2))], ["p"], [booleans(2)]).verdict == "PASS"


def test_a_large_rule_is_tried_on_the_least_call_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "CAP", 0)
    wide = {"all": [over(5, f"f{at}") for at in range(200)]}
    assert only(asked([policy("p", 1, wide)])).witness == "{}"
    given = tool({"f0": {"type": "integer", "minimum": 3}}, required=["f0"])
    assert only(asked([policy("p", 1, wide)], tools=[given])).witness is None


def test_what_one_cell_leaves_of_a_formula_is_put_together() -> None:
    a, b, d = (Compare(name, "gt", 5, UNKNOWN) for name in "abd")
    inner = Either((Both((Seen(a, "passes"), Seen(b, "fails"))), Seen(d, "fails")))
    assert find_call(Calls(Tool("t")), Both((inner, Seen(d, "passes")))) == {"a": 6, "b": 4, "d": 6}


@pytest.mark.parametrize("effect", ["deny", "allow"])
def test_a_row_of_which_both_sides_are_one_is_no_danger(effect: str) -> None:
    (row,) = compile_tool(world_of([policy("p", 1, over(5), effect)], ["p"]), "t").rows
    assert possible(row, Calls(Tool("t"))) is None
    assert repr(MAY) == "MAY"
