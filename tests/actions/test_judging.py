"""The verdict, rule by rule: the cells, the sentence that decides a code, approvals, expiry, options."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.gate.actions.action import Action
from blackboard.gate.actions.approving import Answers
from blackboard.gate.actions.compiling import compile_tool
from blackboard.gate.actions.formula import dangerous
from blackboard.gate.actions.judging import judge
from blackboard.gate.actions.sides import full_side, held_side
from blackboard.gate.actions.world import NO_LEDGER, World
from blackboard.records import Holding, Records
from blackboard.records.digest import action_digest
from blackboard.records.truth import FALSE, TRUE, UNKNOWN, Truth
from blackboard.records.verdict import Answer, Reason
from tests.actions.gating import (
    approval,
    codes,
    compiled,
    equals,
    fact,
    gate,
    index,
    notes,
    over,
    policy,
    retraction,
    world_of,
)
from tests.actions.truths import Record

F, U, T = FALSE, UNKNOWN, TRUE
VALUES: dict[int, Any] = {F: "no", U: 0, T: "yes"}
ALWAYS: Record = {"all": []}


def answer(records: list[Record], params: dict[str, Any] | None = None, **sides: Any) -> Answer:
    return gate(records, [], params, **sides).policy


# ---- the cells


def cell(
    effect: str, full: int, held: int | None
) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]]:
    """A rule that comes to `full` on all records and to `held` on the held ones (None: it is not held)."""
    records = [
        fact("then", 1, "f", VALUES[held or FALSE]),
        fact("now", 2, "f", VALUES[full], supersedes="then"),
        policy("rule", 3, {"field": "f", "op": "eq", "value": "yes"}, effect),
    ]
    verdict = gate(records, ["then"] if held is None else ["then", "rule"])
    return verdict.word, codes(verdict), notes(verdict)


@pytest.mark.parametrize("effect", ["deny", "require_approval"])
@pytest.mark.parametrize(
    ("full", "held", "reason", "note"),
    [
        (F, None, None, None),
        (F, F, None, None),
        (F, U, None, "more cautious"),
        (F, T, None, "stale value, safe direction"),
        (U, None, "dropped-binding-constraint", None),
        (U, F, "dropped-superseder-stale-kept", None),
        (U, U, None, "unresolved in both views"),
        (U, T, None, "more cautious"),
        (T, None, "dropped-binding-constraint", None),
        (T, F, "dropped-superseder-stale-kept", None),
        (T, U, "dropped-superseder-stale-kept", None),
        (T, T, None, "binds, and the agent holds it"),
    ],
)
def test_a_rule_that_restricts_comes_out_as_its_cell(
    effect: str, full: int, held: int | None, reason: str | None, note: str | None
) -> None:
    assert cell(effect, full, held) == (
        "BLOCK" if reason else "PASS",
        [(reason, "rule")] if reason else [],
        [(note, "rule")] if note else [],
    )


@pytest.mark.parametrize(
    ("full", "held", "reason", "note"),
    [
        (T, None, None, "permissive"),
        (T, F, None, "permission unused"),
        (T, U, None, "permission unused"),
        (T, T, None, None),
        *[(full, held, None, None) for full in (F, U) for held in (None, F, U)],
        (F, T, "dropped-superseder-stale-permit", None),
        (U, T, "dropped-superseder-stale-permit", None),
    ],
)
def test_a_rule_that_permits_comes_out_as_its_cell(
    full: int, held: int | None, reason: str | None, note: str | None
) -> None:
    assert cell("allow", full, held) == (
        "BLOCK" if reason else "PASS",
        [(reason, "rule")] if reason else [],
        [(note, "rule")] if note else [],
    )


def test_danger_is_to_be_more_permissive_than_the_records() -> None:
    made = compiled([policy("p", 1, ALWAYS, "deny"), policy("a", 2, ALWAYS, "allow")], [])
    deny, allow = made.rows
    each: tuple[Truth, ...] = (FALSE, UNKNOWN, TRUE)
    truths = [(full, held) for full in each for held in each]
    assert [pair for pair in truths if dangerous(deny, *pair)] == [(U, F), (T, F), (T, U)]
    assert [pair for pair in truths if dangerous(allow, *pair)] == [(F, T), (U, T)]


# ---- scope, resolution


@pytest.mark.parametrize(
    ("scope", "tool", "covered"),
    [
        ("pay.refund", "pay.refund", True),
        ("pay.refund", "Pay.refund", False),
        ("pay.*", "pay.refund", True),
        ("pay.*", "pay.refund.now", True),
        ("pay.*", "pay", False),
        ("*", "anything", True),
        (["notes.append", "pay.void"], "pay.void", True),
        (["notes.append", "pay.void"], "pay.refund", False),
    ],
)
def test_a_rule_is_asked_about_the_tools_of_its_scope(scope: Any, tool: str, covered: bool) -> None:
    verdict = gate([policy("p", 1, ALWAYS, scope=scope)], [], tool=tool)
    assert (verdict.word == "BLOCK") is covered


def test_a_param_wins_over_the_fact_of_its_name() -> None:
    records = [fact("f", 1, "amount", 9000), policy("p", 2, over(5000))]
    assert gate(records, [], {"amount": 10}).word == "PASS"
    assert gate(records, []).word == "BLOCK"


def test_an_atom_pinned_to_facts_does_not_listen_to_params() -> None:
    records = [fact("f", 1, "amount", 9000), policy("p", 2, over(5000, source="fact"))]
    assert gate(records, [], {"amount": 10}).word == "BLOCK"


def test_what_resolves_nowhere_fails_closed() -> None:
    assert codes(gate([policy("p", 1, over(5000))], [])) == [("dropped-binding-constraint", "p")]


def test_a_retracted_or_expired_newest_fact_never_lets_an_older_value_revive() -> None:
    rule = policy("p", 3, {"field": "tier", "op": "exists", "value": False})
    old = fact("old", 1, "tier", "gold")
    gone = retraction("gone", 2, "tier")
    expired = fact("expired", 2, "tier", "silver", expires_seq=3)
    for newest in (gone, expired):
        assert gate([old, newest, rule], ["old"]).word == "BLOCK"  # absent, whatever the older fact says


def test_a_record_with_an_expiry_lives_while_the_head_is_below_it() -> None:
    records = [policy("p", 1, ALWAYS, expires_seq=9)]
    assert gate(records, [], head=8).word == "BLOCK"
    assert gate(records, [], head=9).word == "PASS"


# ---- which code


def test_a_rule_whose_only_input_is_gone_is_an_input_kept_rule() -> None:
    records = [fact("f", 1, "tier", "barred"), policy("p", 2, equals("barred"))]
    assert codes(gate(records, ["p"])) == [("dropped-input-kept-rule", "p")]


def test_a_permission_that_reads_an_absence_is_an_input_kept_permit() -> None:
    records = [
        fact("f", 1, "hold", True),
        policy("a", 2, {"field": "hold", "op": "exists", "value": False}, "allow"),
    ]
    assert codes(gate(records, ["a"])) == [("dropped-input-kept-permit", "a")]
    assert gate(records, ["a", "f"]).word == "PASS"


def test_a_superseded_permission_is_a_stale_permit() -> None:
    records = [policy("a", 1, ALWAYS, "allow"), policy("b", 2, over(9), "allow", supersedes="a")]
    verdict = gate(records, ["a"], {"amount": 1})
    assert codes(verdict) == [("dropped-superseder-stale-permit", "a")]
    assert gate(records, ["a", "b"], {"amount": 1}).word == "PASS"


def test_a_stale_value_that_a_param_takes_the_place_of_does_not_name_the_code() -> None:
    records = [
        fact("t1", 1, "tier", "gold"),
        fact("t2", 2, "tier", "none"),
        fact("r", 3, "region", "eu"),
        policy("p", 4, {"all": [equals("eu", "region", source="fact"), equals("gold")]}),
    ]
    held = ["t1", "p"]
    assert codes(gate(records, held, {"tier": "gold"})) == [("dropped-input-kept-rule", "p")]
    stale = [*records[:3], policy("p", 4, {"all": [equals("eu", "region", source="fact"), equals("none")]})]
    assert codes(gate(stale, held)) == [("dropped-superseder-stale-kept", "p")]


def test_a_pinned_stale_value_names_the_code_whatever_the_params() -> None:
    records = [
        fact("t1", 1, "tier", "a"),
        fact("t2", 2, "tier", "b"),
        policy("p", 3, equals("b", source="fact")),
    ]
    assert codes(gate(records, ["t1", "p"], {"tier": "a"})) == [("dropped-superseder-stale-kept", "p")]


def test_a_rule_goes_by_its_newest_live_copy() -> None:
    records = [policy("p1", 1, over(5)), policy("p2", 2, over(5)), policy("p3", 3, over(5), expires_seq=4)]
    assert codes(gate(records, [], {"amount": 9}, head=9)) == [("dropped-binding-constraint", "p2")]


def test_any_live_copy_that_is_held_counts() -> None:
    records = [policy("p1", 1, over(5)), policy("p2", 2, over(5))]
    assert notes(gate(records, ["p1"], {"amount": 9})) == [("binds, and the agent holds it", "p2")]


def test_a_rule_that_lives_nowhere_is_not_heard_of() -> None:
    records = [policy("p1", 1, ALWAYS, expires_seq=2), policy("p2", 2, ALWAYS, "allow", expires_seq=3)]
    assert compiled(records, [], head=9).rows == ()


def test_reasons_are_sorted_by_code_and_id_and_the_first_is_the_headline() -> None:
    records = [
        policy("z", 1, over(1)),
        policy("a", 2, over(2)),
        fact("f", 3, "tier", "barred"),
        policy("k", 4, equals("barred")),
        {"id": "s", "seq": 5, "kind": "summary"},
    ]
    assert codes(gate(records, ["k"], {"amount": 9})) == [
        ("dropped-binding-constraint", "a"),
        ("dropped-binding-constraint", "z"),
        ("dropped-input-kept-rule", "k"),
        ("dropped-unevaluable-record", "s"),
    ]


# ---- delivered or not


def test_what_was_never_delivered_is_unseen_and_blocks_unless_the_policy_only_notes_it() -> None:
    records = [policy("p", 1, ALWAYS)]
    unseen = gate(records, [], delivered=[])
    assert codes(unseen) == [("unseen-binding-constraint", "p")]
    noted = gate(records, [], delivered=[], options={"unseen": "note"})
    assert (noted.word, notes(noted)) == ("PASS", [("unseen-binding-constraint", "p")])
    assert noted.notes()[-1].detail == unseen.reasons[0].detail
    dropped = gate(records, [], options={"unseen": "note"})
    assert codes(dropped) == [("dropped-binding-constraint", "p")]


def test_one_delivered_input_makes_a_reason_a_dropped_one() -> None:
    records = [fact("f", 1, "tier", "barred"), policy("p", 2, equals("barred"))]
    assert codes(gate(records, [], delivered=["f"])) == [("dropped-binding-constraint", "p")]


@pytest.mark.parametrize(
    ("held", "delivered", "code"),
    [(["s"], None, "kept"), ([], [], "unseen"), ([], ["s"], "dropped")],
)
def test_a_record_that_nobody_can_evaluate_blocks_where_it_was_dropped(
    held: list[str], delivered: list[str] | None, code: str
) -> None:
    records = [{"id": "s", "seq": 1, "kind": "policy", "version": 7, "text": "?"}]
    verdict = gate(records, held, delivered=delivered)
    found = [(f"{code}-unevaluable-record", "s")]
    assert (codes(verdict), notes(verdict)) == ((found, []) if code == "dropped" else ([], found))
    if code == "dropped":
        assert verdict.reasons[0].reread == verdict.reasons[0].missing == ["s"]


def test_to_allow_what_nobody_can_evaluate_is_a_loud_note() -> None:
    records = [{"id": "s", "seq": 1, "kind": "summary"}, policy("p", 2, ALWAYS)]
    verdict = gate(records, ["p"], options={"allow_unevaluable": True})
    assert verdict.word == "PASS"
    (note,) = [note for note in verdict.notes() if note.id == "s"]
    assert note.code == "dropped-unevaluable-record"
    assert "you chose to fly blind" in note.detail
    assert "you chose to fly blind" not in str(
        gate(records, ["p", "s"], options={"allow_unevaluable": True}).notes()
    )
    assert gate(records, [], options={"allow_unevaluable": True}).word == "BLOCK"  # only that reason is gone


# ---- approvals


RULE = policy("p", 1, over(5), "require_approval")
CALL = {"amount": 9}
YES = approval("yes", 2, "p", CALL)


def test_the_approvals_of_other_actions_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [approval(f"a{at}", 10 + at, "p", {"amount": 100 + at}, expires_seq=500 + at) for at in range(40)]
    revoked = approval("no", 60, "p", CALL, granted=False, supersedes="yes")
    held = ["p", "yes", *(record["id"] for record in many)]
    with monkeypatch.context() as patched:
        patched.setattr(Answers, "named", pytest.fail)
        rules = compiled([RULE, YES, *many, revoked], held, agent="ann")
        assert rules.valid_until == 500
        cases = [(CALL, "BLOCK", 1), ({"amount": 100}, "PASS", 1), ({"amount": 99}, "PASS", 2)]
        for params, word, count in cases:
            verdict = judge(rules, Action("t", params))
            assert (verdict.word, len(verdict.notes())) == (word, count)
        assert codes(judge(rules, Action("t", CALL))) == [("dropped-superseder-stale-permit", "p")]
    (row,) = compiled([RULE, YES, *many, revoked], held, agent="ann").rows
    assert (len(row.full_approved), len(row.held_approved)) == (40, 41)
    assert row.dead_for == {action_digest("t", CALL)}
    assert dict(row.missing_for)[action_digest("t", CALL)] == (42,)
    assert len(row.missing_for) == 41
    assert "elsewhere" not in row.missing_for
    assert row.held_approved - row.full_approved == {action_digest("t", CALL)}
    assert not row.alike


def test_an_approval_makes_its_rule_false_for_its_action_alone() -> None:
    assert gate([RULE, YES], [], CALL).word == "PASS"
    assert gate([RULE, YES], [], CALL).policy.answer == "default"
    assert gate([RULE, YES], [], {"amount": 10}).word == "BLOCK"
    assert gate([RULE, YES], ["p"], CALL).word == "PASS"  # who does not hold the approval asks once more


def test_an_approval_never_lifts_a_denial() -> None:
    records = [policy("p", 1, over(5), "deny"), YES]
    assert answer(records, CALL) == Answer(answer="deny", rules=["p"])
    assert gate(records, [], CALL).word == "BLOCK"


@pytest.mark.parametrize(
    "end",
    [
        approval("no", 3, "p", CALL, granted=False),
        approval("no", 3, "p", CALL, granted=False, supersedes="yes"),
        approval("no", 3, "p", CALL, expires_seq=4),
        approval("no", 3, "p", {"amount": 1}, supersedes="yes"),
        policy("no", 3, over(6), "require_approval", supersedes="p"),
    ],
    ids=["revoked", "revoked by name", "replaced by one that expired", "moved", "of a superseded rule"],
)
def test_a_held_approval_that_something_unheld_ended_is_a_stale_permit(end: Record) -> None:
    records = [RULE, YES, end, policy("same", 4, over(5), "require_approval")]
    verdict = gate(records, ["p", "yes"], CALL, head=9)
    assert ("dropped-superseder-stale-permit", "same") in codes(verdict)
    assert ("unseen-superseder-stale-permit", "same") in codes(
        gate(records, ["p", "yes"], CALL, head=9, delivered=["p", "yes"])
    )
    answered = gate([RULE, YES, end], ["p", "yes"], CALL, head=9)
    assert (answered.word, answered.policy.answer) == ("BLOCK", "needs-approval")


def test_a_rule_is_approved_where_each_of_its_live_copies_is() -> None:
    records = [RULE, YES, policy("again", 3, over(5), "require_approval")]
    assert codes(gate(records, ["p", "yes"], CALL)) == [("dropped-input-kept-rule", "again")]
    assert codes(gate(records, ["p", "yes"], CALL, delivered=["p", "yes"])) == [
        ("unseen-input-kept-rule", "again")
    ]
    both = [*records, approval("yes2", 4, "again", CALL)]
    assert gate(both, ["p", "yes"], CALL).word == "PASS"


def test_a_copy_that_is_not_held_matters_only_where_the_held_ones_are_all_approved() -> None:
    reads = {"field": "size", "op": "gt", "value": 5}
    p, q, r = (policy(name, seq, reads, "require_approval") for seq, name in enumerate("pqr", 1))
    small, large = fact("small", 4, "size", 1), fact("large", 6, "size", 9)
    records = [p, q, r, small, approval("yes", 5, "p"), large, approval("no", 7, "p", granted=False)]
    delivered = ["p", "q", "r", "small", "yes"]
    stale = gate(records, ["p", "q", "small", "yes"], delivered=delivered)
    assert codes(stale) == [("unseen-superseder-stale-permit", "r")]
    assert stale.reasons[0].missing == ["large", "no"]
    approved = gate(records, ["p", "small", "yes"], delivered=delivered)
    assert codes(approved) == [("dropped-superseder-stale-permit", "r")]
    assert approved.reasons[0].missing == ["q", "r", "large", "no"]


@pytest.mark.parametrize(
    ("approver", "agent", "counts"),
    [
        ("kim", "kim", False),
        ("agent:kim", "kim", False),
        ("kim", "agent:kim", False),
        ("operator:kim", "agent:kim", True),
        ("kim", "ann", True),
        ("kim", None, True),
    ],
)
def test_nobody_approves_their_own_action(approver: str, agent: str | None, counts: bool) -> None:
    records = [RULE, approval("yes", 2, "p", CALL, approver=approver)]
    verdict = gate(records, [], CALL, agent=agent)
    assert verdict.word == ("PASS" if counts else "BLOCK")
    skipped = any(note.code == "approver-test-skipped" for note in verdict.notes())
    assert skipped is (agent is None)


def test_the_skipped_test_is_noted_only_where_an_approval_counts() -> None:
    for params in ({"amount": 1}, {"amount": 10}):
        assert not any(note.code == "approver-test-skipped" for note in gate([RULE, YES], [], params).notes())


def test_the_newest_answer_to_an_action_decides() -> None:
    records = [RULE, YES, approval("no", 3, "p", CALL, granted=False), approval("yes2", 4, "p", CALL)]
    assert gate(records, [], CALL).word == "PASS"
    assert gate(records[:3], [], CALL).word == "BLOCK"


# ---- the ledger


def test_a_moved_entry_that_a_rule_reads_is_a_stale_value() -> None:
    rule = policy("p", 1, equals("closed", "task/a", source="ledger", at="/status"))
    closed, open_ = {"task/a": {"status": "closed"}}, {"task/a": {"status": "open"}}
    verdict = gate([rule], ["p"], ledger=(closed, open_))
    assert codes(verdict) == [("dropped-superseder-stale-kept", "p")]
    assert codes(gate([rule], ["p"], ledger=(closed, open_), served=[])) == [
        ("unseen-superseder-stale-kept", "p")
    ]
    assert codes(gate([rule], ["p"], ledger=(closed, {}))) == [("dropped-input-kept-rule", "p")]
    assert gate([rule], ["p"], ledger=(closed, closed)).word == "PASS"


def test_without_a_ledger_its_keys_are_absent_on_both_sides() -> None:
    records = index([policy("p", 1, equals(1, "k", source="ledger"))])
    world = World(records, Holding.of(records, [0]), 1)
    verdict = judge(compile_tool(world, "t"), Action("t", {"k": 1}))
    assert notes(verdict) == [("unresolved in both views", "p")]
    assert not NO_LEDGER.delivered("k")


# ---- the second answer


@pytest.mark.parametrize(
    ("effects", "params", "expected"),
    [
        (["deny", "require_approval", "allow"], {"amount": 9}, "deny"),
        (["require_approval", "allow"], {"amount": 9}, "needs-approval"),
        (["deny", "allow"], {}, "undetermined"),
        (["require_approval"], {}, "undetermined"),
        (["allow"], {"amount": 9}, "allowed-by"),
        (["allow"], {}, "default"),
        (["deny", "require_approval"], {"amount": 1}, "default"),
        ([], {}, "default"),
    ],
)
def test_the_second_answer_is_that_of_the_strictest_rule(
    effects: list[str], params: dict[str, Any], expected: str
) -> None:
    records = [policy(f"r{at}", at, over(5), effect) for at, effect in enumerate(effects, 1)]
    said = answer(records, params)
    assert said.answer == expected
    assert bool(said.rules) is (expected != "default")


def test_an_approval_that_is_missing_comes_before_a_denial_nobody_can_resolve() -> None:
    records = [policy("b", 1, equals("x")), policy("a", 2, ALWAYS, "require_approval")]
    assert answer(records) == Answer(answer="needs-approval", rules=["a"])


def test_the_second_answer_names_its_rules_sorted() -> None:
    records = [
        policy("b", 1, over(1), "allow"),
        policy("a", 2, over(2), "allow"),
        policy("c", 3, over(99), "allow"),
    ]
    assert answer(records, CALL) == Answer(answer="allowed-by", rules=["a", "b"])


def test_the_second_answer_is_from_the_full_set_whatever_is_held() -> None:
    records = [policy("p", 1, ALWAYS)]
    assert gate(records, ["p"]).policy == gate(records, []).policy == Answer(answer="deny", rules=["p"])


# ---- what the caller hands in


def test_a_basis_that_moved_is_one_more_reason_and_each_stands_once() -> None:
    moved = Reason(code="basis-moved", id="task/a", detail="moved", keys=["task/a"])
    verdict = gate([policy("p", 1, ALWAYS)], [], options={"moved": [moved, moved]})
    assert codes(verdict) == [("basis-moved", "task/a"), ("dropped-binding-constraint", "p")]
    assert gate([], [], options={"moved": [moved]}).word == "BLOCK"


# ---- what a compiled tool promises


def test_a_compiled_tool_names_what_it_depends_on() -> None:
    read = {
        "any": [
            over(1),
            equals("x", "tier", source="fact"),
            equals(1, "k", source="ledger"),
            over(1, "p", source="param"),
        ]
    }
    made = compiled([fact("f", 1, "amount", 3), policy("p", 2, read)], ["p"])
    assert (made.fields, made.keys, made.stored) == (("amount", "tier"), ("k",), (("amount", 0),))
    assert (made.tool, made.head, made.valid_until) == ("t", 2, None)


@pytest.mark.parametrize(
    "expiring",
    [
        [policy("p", 1, over(1), expires_seq=20)],
        [policy("p", 1, over(1)), fact("f", 2, "amount", 3, expires_seq=20)],
        [policy("p", 1, over(1), "require_approval"), approval("y", 2, "p", expires_seq=20)],
    ],
    ids=["a rule", "a fact", "an approval"],
)
def test_a_compiled_tool_is_good_until_the_next_expiry(expiring: list[Record]) -> None:
    later = [policy("q", 5, over(2), expires_seq=30), policy("dead", 6, over(3), expires_seq=7)]
    made = compiled([*expiring, *later], [], head=10)
    assert made.valid_until == 20


def test_what_has_expired_does_not_expire_again() -> None:
    records = [fact("f", 1, "amount", 3, expires_seq=10), policy("p", 2, over(1))]
    assert compiled(records, [], head=9).valid_until == 10
    assert compiled(records, [], head=10).valid_until is None


def test_an_old_fact_that_is_held_counts_for_the_expiry() -> None:
    records = [
        fact("old", 1, "amount", 3, expires_seq=20),
        fact("new", 2, "amount", 4),
        policy("p", 3, over(1)),
    ]
    assert compiled(records, ["old", "p"], head=10).valid_until == 20
    assert compiled(records, ["new", "p"], head=10).valid_until is None


def test_to_compile_a_tool_looks_at_no_history() -> None:
    class Watched(list[Any]):
        looked = 0

        def __getitem__(self, at: Any) -> Any:
            self.looked += 1
            return super().__getitem__(at)

        def __iter__(self) -> Any:
            raise AssertionError("the history is gone through")

    def looks(history: int) -> int:
        old = [fact(f"f{at}", at, "tier", at) for at in range(1, history)]
        other = [fact(f"g{at}", history + at, "other", at) for at in range(history)]
        rules = [policy("p", 3 * history, equals("x")), policy("a", 3 * history + 1, ALWAYS, "allow")]
        world = world_of([*old, *other, *rules], ["f1", "p"])
        watched = Watched(world.records.items)
        world.records.items = watched
        judge(compile_tool(world, "t"), Action("t", {}))
        return watched.looked

    assert looks(500) == looks(5)


def test_no_records_pass_and_say_so() -> None:
    verdict = judge(compile_tool(World(Records(), Holding(), 0), "t"), Action("t", {}))
    assert (verdict.word, verdict.reasons, verdict.policy) == ("PASS", [], Answer(answer="default"))
    assert [(note.code, note.detail) for note in verdict.notes()] == [("dropped as chatter", "0")]


def test_nothing_is_approved_where_no_copy_of_a_rule_lives() -> None:
    world = world_of(
        [policy("p", 1, over(5), effect="require_approval"), approval("a", 2, "p", {"x": 6})], []
    )
    assert held_side(world).approved_digests(()) == frozenset()
    assert len(full_side(world).approved_digests((0,))) == 1
