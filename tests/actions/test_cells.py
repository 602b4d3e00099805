"""Cells: finitely many values stand for all there are, since every comparison says one thing on a cell."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import normal, parse_exact
from blackboard.gate.actions.cells import Arrays, Cell, Numbers, Objects, Point, Strings, cells
from blackboard.gate.actions.domain import ANY, Values, read_domain
from blackboard.gate.actions.residual import Compare
from blackboard.records import atoms
from blackboard.records.truth import UNKNOWN

NUMBERS = (0, 1, 2, -3, 5000, 5001, Decimal("5000.00"), Decimal("5000.01"), Decimal("-0.5"), 10**30)
EXTREME = (Decimal("1E+1000"), Decimal("-1E+1000"), Decimal("1E-1000"), Decimal("9" * 100))
STRINGS = ("", "a", "a\0", "a\0\0", "ab", "b", "\ud7ff", "\ue000", "\U0010ffff", "a\U0010ffff", "\U0010ffff!")
CHARACTERS = st.sampled_from("\0ab\ud7ff\ue000\U0010ffff")
OTHERS: tuple[Any, ...] = (None, True, False, [], [1], {}, {"a": 1})

numbers = st.one_of(st.sampled_from(NUMBERS + EXTREME), st.integers(-4, 4), st.decimals(-9, 9, places=2))
strings = st.one_of(st.sampled_from(STRINGS), st.text(CHARACTERS, max_size=3))
values = st.one_of(numbers, strings, st.sampled_from(OTHERS))


@st.composite
def comparisons(draw: st.DrawFn) -> Compare:
    op: Any = draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "in", "not_in", "prefix", "exists"]))
    if op in ("in", "not_in"):
        kind = draw(st.sampled_from([numbers, strings, st.booleans()]))
        constant: Any = (*draw(st.lists(kind, max_size=3)), *draw(st.sampled_from([(), (None,)])))
    elif op == "exists":
        constant = draw(st.booleans())
    elif op == "prefix":
        constant = draw(strings)
    elif op in ("eq", "ne"):
        constant = draw(st.one_of(numbers, strings, st.sampled_from([None, True, False])))
    else:
        constant = draw(st.one_of(numbers, strings))
    return Compare("f", op, constant, UNKNOWN)


def says(compares: Sequence[Compare], value: Any) -> list[int]:
    return [atoms.test(compare.op, compare.value)(value) for compare in compares]


def of(*compares: tuple[str, Any], values: Values | None = ANY) -> list[Cell]:
    made: list[Any] = [Compare("f", op, constant, UNKNOWN) for op, constant in compares]  # type: ignore[arg-type] # a test's words
    return list(cells(made, values))


def firsts(*compares: tuple[str, Any], kind: type | tuple[type, ...], values: Values = ANY) -> list[Any]:
    shown = [cell.members(1)[0] for cell in of(*compares, values=values)]
    return [value for value in shown if isinstance(value, kind) and not isinstance(value, bool)]


# ---- exactness


@given(st.lists(comparisons(), min_size=1, max_size=4))
def test_every_comparison_says_one_thing_on_a_cell(compares: list[Compare]) -> None:
    for cell in cells(compares, ANY):
        members = cell.members(5)
        assert len({str(says(compares, member)) for member in members}) == 1
        assert len({normal(member) for member in members}) == len(members) > 0


@given(st.lists(comparisons(), min_size=1, max_size=4), values)
def test_every_value_is_in_a_cell(compares: list[Compare], value: Any) -> None:
    found = [says(compares, cell.members(1)[0]) for cell in cells(compares, ANY)]
    assert says(compares, value) in found


@given(st.lists(comparisons(), max_size=4))
def test_no_value_is_in_two_cells(compares: list[Compare]) -> None:
    members = [normal(member) for cell in cells(compares, ANY) for member in cell.members(3)]
    assert len(members) == len(set(members))


@given(st.lists(comparisons(), max_size=3))
def test_every_member_can_be_written_down(compares: list[Compare]) -> None:
    for cell in cells(compares, ANY):
        for member in cell.members(3):
            assert normal(member).encode()


# ---- numbers


def test_numbers_are_the_constants_and_what_lies_between_them_and_beyond() -> None:
    assert firsts(("gt", 5000), kind=int) == [4999, 5000, 5001]
    assert firsts(("gt", 5000), ("eq", 7000), kind=int) == [4999, 5000, 5001, 7000, 7001]


def test_between_two_numbers_the_shortest_is_taken() -> None:
    bounds = (("ge", 5000), ("lt", Decimal("5000.01")))
    assert [normal(value) for value in firsts(*bounds, kind=(int, Decimal))] == [
        *("4999", "5000", "5000.001", "5000.01", "5001"),
    ]


def test_a_number_in_two_spellings_is_one_constant() -> None:
    assert len(firsts(("eq", 5000), ("eq", Decimal("5E+3")), kind=(int, Decimal))) == 3


@pytest.mark.parametrize(
    ("low", "high", "whole", "members"),
    [
        (None, None, False, [2, 1, 0]),
        (None, Decimal("0.5"), False, [0, -1, -2]),
        (None, 0, True, [-1, -2, -3]),
        (Decimal("-0.5"), None, True, [0, 1, 2]),
        (1, 5, True, [2, 3, 4]),
        (1, 3, True, [2]),
        (1, 2, True, []),
        (1, 3, False, [Decimal("1.1"), Decimal("1.2"), Decimal("1.3")]),
        (Decimal("1E-1000"), Decimal("2E-1000"), False, [Decimal(f"1.{at}E-1000") for at in (1, 2, 3)]),
        (Decimal("1E+1000"), None, True, [10**1000 + at for at in (1, 2, 3)]),
    ],
)
def test_the_members_of_a_space_between_numbers(low: Any, high: Any, whole: bool, members: list[Any]) -> None:
    assert list(Numbers(low, high, whole).members(3)) == members


def test_where_all_numbers_are_whole_no_other_is_tried() -> None:
    integer = Values(types=frozenset({"integer"}))
    found = firsts(("ge", 5), ("gt", Decimal("5.5")), ("eq", 6), kind=(int, Decimal), values=integer)
    assert found == [4, 5, 6, 7]


# ---- strings


def test_strings_are_the_constants_and_what_lies_between_them_and_behind() -> None:
    assert firsts(("eq", "gold"), kind=str) == ["", "a", "gold", "golda"]


def test_nothing_lies_between_a_string_and_itself_with_a_nul_behind_it() -> None:
    assert firsts(("eq", "a"), ("eq", "a\0"), kind=str) == ["", "-", "a", "a\0", "a\0a"]
    assert list(Strings("a", "a\0\0").members(9)) == ["a\0"]


def test_a_prefix_bounds_its_strings_on_both_sides() -> None:
    assert firsts(("prefix", "go"), kind=str) == ["", "a", "go", "goa", "gp", "gpa"]


def test_a_prefix_ends_behind_the_surrogates_which_no_string_holds() -> None:
    assert "\ue000" in firsts(("prefix", "\ud7ff"), kind=str)


def test_nothing_is_behind_the_strings_that_begin_with_the_last_character() -> None:
    last = "\U0010ffff"
    assert firsts(("prefix", last), kind=str) == ["", "a", last, f"{last}a"]
    assert firsts(("prefix", ""), kind=str) == ["", "a"]
    assert firsts(("prefix", f"a{last}"), kind=str) == ["", "a", f"a{last}", f"a{last}a", "b", "ba"]


def test_readable_strings_come_first() -> None:
    assert list(Strings("x", None).members(5)) == ["xa", "x-", "x0", "x1", "x2"]
    assert list(Strings("x", "x\1").members(2)) == ["x\0", "x\0\0"]


# ---- what else there is


def test_every_other_type_is_a_cell() -> None:
    assert of(("gt", 5))[-5:] == [Point(True), Point(False), Point(None), Arrays(), Objects()]


def test_what_the_comparisons_are_about_comes_first() -> None:
    assert isinstance(of(("gt", 5))[0], Numbers)
    assert of(("eq", "gold"))[0] == Point("")


def test_arrays_and_objects_come_in_any_number() -> None:
    assert Arrays().members(3) == [[], [0], [1]]
    assert Objects().members(3) == [{}, {"a": 0}, {"a": 1}]


# ---- inside a domain


def domain_values(schema: dict[str, Any]) -> Values:
    return read_domain({"properties": {"f": schema}}).declared["f"]


@given(
    st.lists(comparisons(), max_size=3),
    st.sampled_from(
        [
            '{"type": "integer", "minimum": 0, "maximum": 4000}',
            '{"type": ["number", "null"], "exclusiveMinimum": 0.5, "exclusiveMaximum": 1}',
            '{"type": "string"}',
            '{"type": ["boolean", "array"]}',
            '{"enum": [1, 2.5, "gold", null, [1], true]}',
            '{"minimum": 5000.01}',
        ]
    ),
    values,
)
def test_the_cells_of_a_domain_are_those_that_are_in_it(
    compares: list[Compare], schema: str, value: Any
) -> None:
    allowed = domain_values(parse_exact(schema))
    found = list(cells(compares, allowed))
    assert all(allowed.allows(member) for cell in found for member in cell.members(3))
    if allowed.allows(value):
        assert says(compares, value) in [says(compares, cell.members(1)[0]) for cell in found]


def test_a_field_that_cannot_be_given_has_no_cells() -> None:
    assert of(("gt", 5), values=None) == of(("gt", 5), values=Values(choices=())) == []
