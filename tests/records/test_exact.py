"""Exact JSON: every digit counts, and what has no one meaning is refused at its place."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import exactly, normal, parse_exact, plain
from blackboard.errors import Malformed

SCALARS = (
    st.none()
    | st.booleans()
    | st.text()
    | st.integers(-(10**99), 10**99)
    | st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**20), max_value=10**20)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(VALUES)
def test_the_normal_form_is_json_that_reads_back_as_the_same_value(value: Any) -> None:
    assert parse_exact(normal(value)) == value
    assert normal(parse_exact(normal(value))) == normal(value)


@pytest.mark.parametrize("literal", ["5000", "5000.0", "5e3", "5E+3", "50.00e2", "500000e-2"])
def test_one_number_has_one_normal_form_however_it_is_written(literal: str) -> None:
    value = parse_exact(literal)
    assert value == 5000
    assert plain(value) == normal(value) == "5000"


@pytest.mark.parametrize(
    ("literal", "written"),
    [
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e5", "0"),
        ("19.990", "19.99"),
        ("1e-3", "0.001"),
        ("-2.50", "-2.5"),
        ("1" * 100, "1" * 100),
        ("0." + "3" * 99, "0." + "3" * 99),
        ("1e1000", "1" + "0" * 1000),
    ],
)
def test_numbers_are_written_without_exponent_or_trailing_zeros(literal: str, written: str) -> None:
    assert plain(parse_exact(literal)) == written


def test_bool_and_number_have_different_normal_forms() -> None:
    assert normal([True, 1, None, False, 0]) == "[true,1,null,false,0]"


def test_members_are_sorted_by_code_point() -> None:
    assert normal({"\U00010000": 1, "\uff5e": 2, "a": (3,)}) == '{"a":[3],"\uff5e":2,"\U00010000":1}'


def test_doubles_become_the_decimals_that_they_are_written_as() -> None:
    value = exactly({"price": 19.99, "many": [1e21, 3, True, None, "x"]})
    assert value == {"price": Decimal("19.99"), "many": [Decimal("1e21"), 3, True, None, "x"]}
    assert normal(value) == '{"many":[1000000000000000000000,3,true,null,"x"],"price":19.99}'


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('{"a": {"b": 1, "b": 2}}', "/a", "twice"),
        ('{"a": ["\\ud800"]}', "/a/0", "surrogate"),
        ('{"a": {"\\ud800x": 1}}', "/a/\\ud800x", "surrogate in a key"),
        ('{"n": ' + "1" * 101 + "}", "/n", "100 digits"),
        ('{"n": -' + "1" * 101 + "}", "/n", "100 digits"),
        ('{"n": 0.' + "1" * 100 + "}", "/n", "100 digits"),
        ('{"n": [1e1001]}', "/n/0", "±1000"),
        ('{"n": 1e-1001}', "/n", "±1000"),
        ('{"n": 1e' + "9" * 5000 + "}", "/n", "±1000"),
        ('{"n": NaN}', "/n", "NaN"),
        ('{"n": -Infinity}', "/n", "Infinity"),
        ("[" * 65 + "]" * 65, "/0" * 64, "64"),
        ("[" * 100_000, "", "64"),
        ('{"a": 1', "", "not JSON"),
        ("{} {}", "", "not JSON"),
        ("", "", "not JSON"),
    ],
)
def test_what_has_no_one_meaning_is_refused_at_its_place(text: str, place: str, said: str) -> None:
    with pytest.raises(Malformed, match=said) as refused:
        parse_exact(text)
    assert refused.value.member == place


@pytest.mark.parametrize("raw", [b"\xff", b"\xef\xbb\xbf{}"])
def test_what_is_not_utf8_without_a_mark_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        parse_exact(raw)


def test_the_first_fault_in_the_document_is_named() -> None:
    with pytest.raises(Malformed) as refused:
        parse_exact('{"a": 1, "b": [2, NaN], "c": NaN}')
    assert refused.value.member == "/b/1"


@pytest.mark.parametrize("text", ['{"a": "\\ud83d\\ude00"}', "-" + "1" * 100, "[" * 64 + "]" * 64])
def test_what_only_looks_doubtful_is_accepted(text: str) -> None:
    assert parse_exact(text) == json.loads(text)


def test_a_float_has_no_normal_form() -> None:
    with pytest.raises(AssertionError):
        normal(1.5)


@pytest.mark.parametrize(
    ("value", "place"),
    [({"a": [1, {2}]}, "/p/a/1"), ([float("nan")], "/p/0"), (float("inf"), "/p"), ({"a": {1: 2}}, "/p/a")],
)
def test_what_is_no_json_value_is_refused_at_its_place(value: Any, place: str) -> None:
    with pytest.raises(Malformed) as refused:
        exactly(value, ("p",))
    assert refused.value.member == place


def test_tuples_are_arrays() -> None:
    assert exactly((1, (2.5,))) == [1, [Decimal("2.5")]]
