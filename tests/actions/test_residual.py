"""Partial evaluation: what is left of a predicate says of params what the whole one says of the world."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blackboard.canonical import normal, parse_exact
from blackboard.errors import Malformed
from blackboard.gate.actions.residual import (
    CONSTANTS,
    AllOf,
    AnyOf,
    Compare,
    Constant,
    Not,
    Residual,
    evaluator,
    from_json,
    partial,
    to_json,
)
from blackboard.records import atoms as operators
from blackboard.records.predicate import Atom, read_predicate
from blackboard.records.truth import FALSE, TRUE, UNKNOWN
from tests.actions.truths import ABSENT, Record, at_pointer, evaluate
from tests.actions.vocabulary import (
    DOCUMENTS,
    FIELDS,
    KEYS,
    VALUES,
    Dice,
    DrawnDice,
    around,
    atom,
    make_params,
)

ALWAYS: Record = {"all": []}
NEVER: Record = {"any": []}


def left_of(predicate: Record, facts: dict[str, Any] | None = None) -> Residual:
    """What is left when just these facts are known."""
    known = facts or {}

    def lookup(atom: Atom) -> object:
        return operators.ABSENT if atom.source == "param" else known.get(atom.field, operators.ABSENT)

    return partial(read_predicate(predicate, ()), lookup)


def is_(field: str, value: Any = 1, **members: Any) -> Record:
    return {"field": field, "op": "eq", "value": value} | members


# ---- what is filled in


def test_an_atom_that_may_read_a_param_compares_it_or_says_what_the_fact_says() -> None:
    assert left_of(is_("f"), {"f": 1}) == Compare("f", "eq", 1, TRUE)
    assert left_of(is_("f"), {"f": 2}) == Compare("f", "eq", 1, FALSE)
    assert left_of(is_("f")) == Compare("f", "eq", 1, UNKNOWN)


def test_an_atom_pinned_to_params_reads_no_fact() -> None:
    assert left_of(is_("f", source="param"), {"f": 1}) == Compare("f", "eq", 1, UNKNOWN)


@pytest.mark.parametrize("source", ["fact", "ledger"])
def test_an_atom_pinned_elsewhere_is_a_constant(source: str) -> None:
    assert left_of(is_("f", source=source), {"f": 1}) == Constant(TRUE)
    assert left_of(is_("f", source=source), {"f": 2}) == Constant(FALSE)
    assert left_of(is_("f", source=source)) == Constant(UNKNOWN)


@pytest.mark.parametrize(
    ("op", "value", "facts", "left"),
    [
        ("exists", True, {"f": None}, Constant(TRUE)),
        ("exists", True, {}, Compare("f", "exists", True, FALSE)),
        ("exists", False, {"f": None}, Constant(FALSE)),
        ("exists", False, {}, Compare("f", "exists", False, TRUE)),
        ("in", [], {"f": 1}, Constant(FALSE)),
        ("in", [], {}, Compare("f", "in", (), UNKNOWN)),
        ("not_in", [], {"f": 1}, Constant(TRUE)),
        ("not_in", [], {}, Compare("f", "not_in", (), UNKNOWN)),
    ],
)
def test_an_atom_that_says_the_same_of_every_param_and_of_none_is_a_constant(
    op: str, value: Any, facts: dict[str, Any], left: Residual
) -> None:
    assert left_of({"field": "f", "op": op, "value": value}, facts) == left


F, G = is_("f"), is_("g")
LEFT_F, LEFT_G = Compare("f", "eq", 1, UNKNOWN), Compare("g", "eq", 1, UNKNOWN)
UNRESOLVED = is_("x", source="fact")


@pytest.mark.parametrize(
    ("predicate", "left"),
    [
        (ALWAYS, Constant(TRUE)),
        (NEVER, Constant(FALSE)),
        ({"all": [F]}, LEFT_F),
        ({"any": [F]}, LEFT_F),
        ({"all": [F, G]}, AllOf((LEFT_F, LEFT_G))),
        ({"any": [F, G]}, AnyOf((LEFT_F, LEFT_G))),
        ({"all": [F, ALWAYS, G]}, AllOf((LEFT_F, LEFT_G))),
        ({"any": [F, NEVER, G]}, AnyOf((LEFT_F, LEFT_G))),
        ({"all": [F, NEVER]}, Constant(FALSE)),
        ({"any": [F, ALWAYS]}, Constant(TRUE)),
        ({"all": [UNRESOLVED, F, UNRESOLVED]}, AllOf((LEFT_F, Constant(UNKNOWN)))),
        ({"any": [UNRESOLVED, F, UNRESOLVED]}, AnyOf((LEFT_F, Constant(UNKNOWN)))),
        ({"all": [UNRESOLVED, ALWAYS]}, Constant(UNKNOWN)),
        ({"any": [UNRESOLVED, NEVER]}, Constant(UNKNOWN)),
        ({"not": F}, Not(LEFT_F)),
        ({"not": {"not": F}}, LEFT_F),
        ({"not": UNRESOLVED}, Constant(UNKNOWN)),
        ({"not": ALWAYS}, Constant(FALSE)),
        ({"not": {"any": [NEVER, {"not": {"all": [F, ALWAYS]}}]}}, LEFT_F),
    ],
)
def test_constants_fold(predicate: Record, left: Residual) -> None:
    assert left_of(predicate) == left


# ---- what is left says the same


@st.composite
def predicates(draw: st.DrawFn) -> Record:
    dice: Dice = DrawnDice(draw)
    parts = [around(dice, atom(dice)) for _ in range(dice.pick([1, 2, 3, 4]))]
    return parts[0] if len(parts) == 1 else {dice.pick(["all", "any"]): parts}


@st.composite
def situations(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Facts, ledger entries and params."""
    dice: Dice = DrawnDice(draw)
    facts = {name: dice.pick(VALUES[name]) for name in FIELDS if dice.chance(50)}
    entries = {key: dice.pick(DOCUMENTS) for key in KEYS if dice.chance(60)}
    return facts, entries, make_params(dice)


@given(predicates(), situations())
def test_a_residual_says_of_params_what_the_predicate_says_of_the_world(
    predicate: Record, situation: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
) -> None:
    facts, entries, params = situation

    def resolved(read: Record) -> Any:
        source = read.get("source") or ("param" if read["field"] in params else "fact")
        if source == "ledger":
            return at_pointer(entries.get(read["field"], ABSENT), read.get("at", ""))
        return (params if source == "param" else facts).get(read["field"], ABSENT)

    def lookup(atom: Atom) -> object:
        if atom.source == "ledger":
            return operators.at_pointer(entries.get(atom.field, operators.ABSENT), atom.at)
        return operators.ABSENT if atom.source == "param" else facts.get(atom.field, operators.ABSENT)

    left = partial(read_predicate(predicate, ()), lookup)
    said = evaluate(predicate, resolved)
    assert evaluator(left)(params) == said
    assert evaluator(from_json(parse_exact(normal(to_json(left)))))(params) == said


parts = st.sampled_from([*CONSTANTS, LEFT_F, LEFT_G, Not(LEFT_F)])
PARAMS: list[dict[str, Any]] = [{}, {"f": 1}, {"f": 2}, {"g": 1}, {"f": 2, "g": 2}, {"f": 1, "g": 2}]


@given(st.lists(parts, max_size=4).map(tuple), st.sampled_from(PARAMS))
@example((), {})
@example((LEFT_F, LEFT_G, Constant(TRUE)), {"f": 1})
@example((LEFT_F, LEFT_G, Constant(FALSE)), {"f": 1})
def test_all_is_the_least_and_any_the_greatest_of_any_number_of_parts(
    some: tuple[Residual, ...], params: dict[str, Any]
) -> None:
    truths = [evaluator(part)(params) for part in some]
    assert evaluator(AllOf(some))(params) == min(truths, default=TRUE)
    assert evaluator(AnyOf(some))(params) == max(truths, default=FALSE)


# ---- as JSON


@pytest.mark.parametrize(
    ("left", "written"),
    [
        (Constant(UNKNOWN), {"always": "UNKNOWN"}),
        (
            Compare("a", "gt", Decimal("0.5"), FALSE),
            {"param": "a", "op": "gt", "value": Decimal("0.5"), "absent": "FALSE"},
        ),
        (
            Compare("a", "in", ("x", None), UNKNOWN),
            {"param": "a", "op": "in", "value": ["x", None], "absent": "UNKNOWN"},
        ),
        (
            AllOf((LEFT_F, Not(AnyOf((LEFT_G, Constant(TRUE)))))),
            {
                "all": [
                    {"param": "f", "op": "eq", "value": 1, "absent": "UNKNOWN"},
                    {
                        "not": {
                            "any": [
                                {"param": "g", "op": "eq", "value": 1, "absent": "UNKNOWN"},
                                {"always": "TRUE"},
                            ]
                        }
                    },
                ]
            },
        ),
    ],
)
def test_a_residual_is_written_down_and_read_again(left: Residual, written: Record) -> None:
    assert to_json(left) == written
    assert from_json(written) == left
    assert normal(to_json(from_json(parse_exact(normal(written))))) == normal(written)


@pytest.mark.parametrize(
    ("written", "member", "why"),
    [
        ([], "/rows", "an object is needed"),
        ({}, "/rows", "`param`"),
        ({"always": 1}, "/rows/always", "one of FALSE, UNKNOWN, TRUE"),
        ({"always": "true"}, "/rows/always", "one of FALSE, UNKNOWN, TRUE"),
        ({"always": "TRUE", "not": {}}, "/rows/not", "not a member"),
        ({"param": "a", "op": "gt", "value": 1}, "/rows/absent", "required"),
        ({"param": "a", "op": "gt", "absent": "TRUE"}, "/rows/value", "required"),
        ({"param": "a", "op": "gt", "value": None, "absent": "TRUE"}, "/rows/value", "number or string"),
        ({"param": "a", "op": "gt", "value": 1, "absent": None}, "/rows/absent", "one of FALSE"),
        (
            {"param": "a", "op": "gt", "value": 1, "absent": "TRUE", "source": "fact"},
            "/rows/source",
            "member",
        ),
        ({"all": {}}, "/rows/all", "an array is needed"),
        ({"all": [{"not": {"any": [{"always": "MAYBE"}]}}]}, "/rows/all/0/not/any/0/always", "FALSE"),
        ({"not": {"always": "TRUE"}, "all": []}, "/rows/not", "not a member"),
        ({"not": {"always": "TRUE"}, "x": []}, "/rows/x", "not a member"),
    ],
)
def test_what_was_never_written_is_refused_with_its_place(written: Any, member: str, why: str) -> None:
    with pytest.raises(Malformed, match=why) as refused:
        from_json(written, ("rows",))
    assert refused.value.members["member"] == member
