"""What a certificate says in words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.gate.actions.formula import (
    Both,
    Either,
    Formula,
    Seen,
    Told,
    both,
    danger,
    dangerous,
    either,
    holds,
    stands,
)
from blackboard.gate.actions.residual import (
    CONSTANTS,
    AllOf,
    AnyOf,
    Compare,
    Constant,
    Not,
    Residual,
    evaluator,
)
from blackboard.gate.actions.simplify import MOST, simplified
from blackboard.gate.actions.words import sentence
from blackboard.records.atoms import ABSENT
from blackboard.records.truth import FALSE, TRUE, UNKNOWN, Truth
from tests.actions.certifying import certified
from tests.actions.gating import approval, equals, fact, over, policy

LOST: Residual = CONSTANTS[FALSE]


def compare(op: Any, value: Any, absent: Truth = UNKNOWN, field: str = "x") -> Compare:
    return Compare(field, op, value, absent)


def told(full: Residual, held: Residual = LOST, *, restrictive: bool = True) -> str:
    return sentence(simplified(danger(full, held, restrictive=restrictive)))


# ---- whole certificates


def test_the_sentence_of_a_lost_limit_names_what_is_over_it_and_what_cannot_be_compared() -> None:
    words = certified([policy("p", 1, over(5000))], []).words
    assert words == "safe unless amount > 5000, or amount is missing or not a number"


def test_where_nothing_is_missing_every_call_is_safe() -> None:
    assert certified([policy("p", 1, over(5000))], ["p"]).words == "safe for every call"


def test_a_certificate_of_very_many_comparisons_is_not_put_into_a_sentence() -> None:
    rules = [policy(f"p{at}", at + 1, {"any": [equals(n, f"f{at}") for n in range(250)]}) for at in range(5)]
    words = certified(rules, []).words
    assert words == "safe unless one of 5 rules binds, which are too long for a sentence"


def test_a_lost_rule_that_always_binds_leaves_no_call_safe() -> None:
    assert certified([policy("p", 1, {"all": []})], []).words == "no call is safe"


def test_a_lost_record_that_nobody_can_evaluate_leaves_no_call_safe() -> None:
    words = certified([{"id": "s1", "seq": 1, "kind": "summary"}], []).words
    assert words == "no call is safe: nobody can tell what 's1' says, and it is not held any more"


def test_a_stale_value_matters_where_the_call_leaves_it_to_the_facts() -> None:
    stale = [policy("p", 1, equals("gold")), fact("old", 2, "tier", "silver"), fact("new", 3, "tier", "gold")]
    assert certified(stale, ["p", "old"]).words == "safe unless tier is missing"


def test_several_limits_of_one_field_are_told_as_the_widest() -> None:
    rules = [
        policy("p1", 1, over(5001)),
        policy("p2", 2, over(Decimal("19.99"))),
        policy("p3", 3, over(900)),
        policy("p4", 4, {"field": "amount", "op": "lt", "value": 1}),
        policy("p5", 5, {"field": "amount", "op": "lt", "value": 2}),
        policy("p6", 6, {"field": "amount", "op": "lt", "value": 0}),
    ]
    words = certified(rules, []).words
    assert words == "safe unless amount > 19.99, or amount < 2, or amount is missing or not a number"


def test_rules_that_say_the_same_of_a_field_are_told_once() -> None:
    rules = [policy("p1", 1, equals("gold")), policy("p2", 2, equals("gold"), "require_approval")]
    words = certified(rules, []).words
    assert words == 'safe unless tier is "gold", or tier is missing or neither a string nor null'


def test_alternatives_inside_a_conjunction_stand_in_parentheses() -> None:
    words = certified(
        [policy("p", 1, {"all": [over(5), {"not": {"field": "dry", "op": "exists", "value": True}}]})], []
    ).words
    assert words == "safe unless (amount > 5 or amount is missing or not a number) and dry is missing"


def test_an_approved_call_is_let_through_by_its_digest() -> None:
    rule = policy("p", 1, {"all": []}, "require_approval")
    one, two = approval("a", 2, "p", {"amount": 1}), approval("b", 3, "p", {"amount": 2})
    assert certified([rule, one], []).words == "safe unless the call is not the one approved"
    assert certified([rule, one, two], []).words == "safe unless the call is not one of the 2 approved"


def test_a_call_whose_approval_has_ended_is_named_as_such() -> None:
    rule = policy("p", 1, over(5), "require_approval")
    granted = approval("a", 2, "p", {"amount": 9})
    ended = approval("b", 3, "p", {"amount": 9}, granted=False)
    assert certified([rule, granted, ended], ["p", "a"]).words == (
        "safe unless the call is the one whose approval does not count any more "
        "and (amount > 5 or amount is missing or not a number)"
    )


# ---- phrases


@pytest.mark.parametrize(
    ("op", "value", "phrase"),
    [
        ("gt", 5000, "x > 5000, or x is missing or not a number"),
        ("ge", Decimal("0.50"), "x >= 0.5, or x is missing or not a number"),
        ("lt", "m", 'x < "m", or x is missing or not a string'),
        ("le", 2**60, f"x <= {2**60}, or x is missing or not a number"),
        ("eq", "a", 'x is "a", or x is missing or neither a string nor null'),
        ("eq", True, "x is true, or x is missing or neither a bool nor null"),
        ("eq", None, "x is null, or x is missing"),
        ("ne", 1, "x is a number or null other than 1, or x is missing or neither a number nor null"),
        ("ne", None, "x is given and not null, or x is missing"),
        ("in", ("a", "b"), 'x is in ["a","b"], or x is missing or neither a string nor null'),
        ("in", (), "x is missing"),
        ("in", (None,), "x is null, or x is missing"),
        (
            "not_in",
            ("a", None),
            'x is a string or null not in ["a",null], or x is missing or neither a string nor null',
        ),
        ("prefix", "a", 'x starts with "a", or x is missing or not a string'),
    ],
)
def test_every_operator_has_its_phrase(op: str, value: Any, phrase: str) -> None:
    assert told(compare(op, value)) == f"safe unless {phrase}"


@pytest.mark.parametrize(
    ("op", "value", "phrase"),
    [
        ("gt", 5, "x <= 5"),
        ("ge", 5, "x < 5"),
        ("lt", 5, "x >= 5"),
        ("le", 5, "x > 5"),
        ("eq", "a", 'x is a string or null other than "a"'),
        ("ne", "a", 'x is "a"'),
        ("prefix", "a", 'x is a string that does not start with "a"'),
        ("in", (1, 2), "x is a number or null not in [1,2]"),
        ("not_in", (), None),
    ],
)
def test_the_mirror_of_every_operator_has_its_phrase(op: str, value: Any, phrase: str | None) -> None:
    words = sentence(simplified(danger(Not(compare(op, value, TRUE)), LOST, restrictive=True)))
    other = {"prefix": "not a string", "eq": "neither a string nor null", "ne": "neither a string nor null"}
    other |= {"in": "neither a number nor null"}
    if phrase is None:
        assert words == "safe for every call"
    else:
        assert words == f"safe unless {phrase}, or x is {other.get(op, 'not a number')}"


def test_to_be_given_or_not_has_its_phrase() -> None:
    assert told(compare("exists", True, FALSE)) == "safe unless x is given"
    assert told(compare("exists", False, TRUE)) == "safe unless x is missing"
    assert told(compare("exists", False, FALSE)) == "safe for every call"
    assert told(compare("exists", True, TRUE)) == "no call is safe"
    assert told(Not(compare("exists", False, TRUE))) == "safe unless x is given"
    assert told(Not(compare("in", (), TRUE))) == "safe unless x is given"


@pytest.mark.parametrize("field", ["and", "is", "x > 5, or y", "a b", "é", ""])
def test_a_field_that_could_be_taken_for_the_sentence_is_quoted(field: str) -> None:
    assert f'"{field}" > 5' in told(compare("gt", 5, FALSE, field))


# ---- the formula


def test_a_permission_is_dangerous_where_it_is_seen_to_permit_and_does_not() -> None:
    full, held = compare("eq", "gold", FALSE), compare("eq", "gold", TRUE)
    assert told(full, held, restrictive=False) == "safe unless x is missing"
    assert told(held, full, restrictive=False) == "safe for every call"


def test_danger_follows_the_nine_cells() -> None:
    for full in (FALSE, UNKNOWN, TRUE):
        for held in (FALSE, UNKNOWN, TRUE):
            assert dangerous(Rule(True), full, held) is (full > held)
            assert dangerous(Rule(False), full, held) is (held == TRUE and full != TRUE)
            for one in (Rule(True), Rule(False)):
                found = danger(Constant(full), Constant(held), restrictive=one.restrictive)
                assert found is dangerous(one, full, held)


class Rule(NamedTuple):
    restrictive: bool


GIVEN: list[Any] = [0, 5, 9, "x", None, True, ABSENT]
SIDES = st.builds(
    compare,
    st.sampled_from(["gt", "le", "eq", "ne"]),
    st.sampled_from([0, 5]),
    st.sampled_from([FALSE, UNKNOWN, TRUE]),
)


@given(st.booleans(), SIDES, SIDES, st.sampled_from(GIVEN))
def test_the_formula_of_danger_holds_of_just_the_calls_that_are_dangerous(
    restrictive: bool, full: Compare, held: Compare, value: Any
) -> None:
    params = {} if value is ABSENT else {"x": value}
    says, says_held = (evaluator(side)(params) for side in (full, held))
    formula = danger(full, held, restrictive=restrictive)
    found = holds(formula, lambda seen: stands(seen.compare, value) == seen.part)
    assert found is dangerous(Rule(restrictive), says, says_held)


def test_alternatives_and_conjunctions_are_flat_and_hold_no_constants() -> None:
    a, b, c = (Seen(compare("gt", number), "passes") for number in range(3))
    assert both((a, True, both((b, c)))) == Both((a, b, c))
    assert either((a, False, either((b, c)))) == Either((a, b, c))
    assert both((a, False)) is False
    assert either((a, True)) is True
    assert both(()) is True
    assert either((a,)) == a


def test_what_is_told_beside_the_params_is_taken_for_true() -> None:
    said = Told("the call is not the one approved")
    assert holds(both((said, True)), lambda _: False)
    assert holds(either((said, Seen(compare("gt", 1), "passes"))), lambda _: False)
    assert not holds(said, lambda _: True, lambda _: False)
    assert holds(True, lambda _: False)


# ---- its simplification


def test_comparisons_that_exclude_each_other_leave_nothing() -> None:
    one = compare("gt", 5)
    assert simplified(both((Seen(one, "passes"), Seen(one, "missing")))) is False


def test_comparisons_that_cover_everything_ask_nothing() -> None:
    one, other = compare("gt", 5), Seen(compare("eq", True, field="y"), "passes")
    parts = [both((Seen(one, part), other)) for part in ("passes", "fails", "other", "missing")]
    assert simplified(either(parts)) == other
    assert simplified(either([*parts, Seen(one, "fails"), other])) == either((other, Seen(one, "fails")))


def test_a_number_and_a_bool_are_not_taken_for_each_other() -> None:
    number, truth = Seen(compare("eq", 1), "passes"), Seen(compare("eq", True), "passes")
    assert simplified(either((number, truth))) == either((number, truth))


def test_cases_of_different_fields_stay_apart() -> None:
    a, b = (Seen(compare("gt", 1, field=field), "passes") for field in "ab")
    c = Seen(compare("gt", 1, field="c"), "passes")
    assert simplified(either((both((a, b)), both((a, c))))) == either((both((a, b)), both((a, c))))
    d, e = Seen(a.compare, "fails"), Seen(b.compare, "fails")
    assert simplified(either((both((a, b)), both((d, e))))) == either((both((a, b)), both((d, e))))


def test_a_formula_of_too_many_cases_is_left_as_it_is() -> None:
    pairs = [
        AnyOf((compare("eq", at, FALSE, f"a{at}"), compare("eq", at, FALSE, f"b{at}"))) for at in range(8)
    ]
    formula: Formula = danger(AllOf(tuple(pairs)), LOST, restrictive=True)
    assert MOST < 2**8
    assert simplified(formula) is formula
    assert " and (a1 is 1 or b1 is 1 or " in sentence(formula)


def test_a_conjunction_inside_alternatives_inside_a_conjunction_stands_in_parentheses() -> None:
    a, b, c = (Seen(compare("gt", 1, field=field), "passes") for field in "abc")
    assert (
        sentence(both((a, either((c, both((a, b))))))) == "safe unless a > 1 and (c > 1 or (a > 1 and b > 1))"
    )
