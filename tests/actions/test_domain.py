"""Domains: what a tool's schema says of its parameters, never less than it lets in."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from blackboard.errors import Malformed
from blackboard.gate.actions.domain import ANY, MAX_TOOLS, Domain, Tool, Values, read_domain, read_tools

OPEN: dict[str, Any] = {"additionalProperties": True}


def domain(properties: dict[str, Any] | None = None, **members: Any) -> Domain:
    return read_domain({"type": "object", "properties": properties or {}, **members})


def values(schema: Any) -> Values:
    return domain({"f": schema}).declared["f"]


def takes(found: Domain, params: dict[str, Any]) -> bool:
    try:
        found.check(params)
    except Malformed:
        return False
    return True


def refused(call: Callable[[], object]) -> Malformed:
    with pytest.raises(Malformed) as caught:
        call()
    return caught.value


# ---- tools


def test_tools_are_names_or_objects_with_a_schema() -> None:
    read = read_tools(["a.b", {"name": "c", "description": "?"}, {"name": "d", "input_schema": {}}])
    assert read == (Tool("a.b"), Tool("c"), Tool("d", Domain({}, frozenset(), None)))


def test_a_tool_that_is_listed_twice_is_one() -> None:
    assert read_tools(["a", "a", {"name": "a"}]) == (Tool("a"),)


def test_floats_of_a_schema_are_the_decimals_that_they_are_written_as() -> None:
    (tool,) = read_tools([{"name": "a", "input_schema": {"properties": {"f": {"maximum": 0.1}}}}])
    assert tool.domain is not None
    assert tool.domain.declared["f"].limits == (("maximum", Decimal("0.1")),)


@pytest.mark.parametrize(
    ("tools", "member"),
    [
        ("a", "/tools"),
        ([1], "/tools/0"),
        (["a.*"], "/tools/0"),
        ([""], "/tools/0"),
        (["a", {}], "/tools/1/name"),
        ([{"name": 1}], "/tools/0/name"),
        ([{"name": "a", "input_schema": None}], "/tools/0/input_schema"),
        ([{"name": "a", "input_schema": True}], "/tools/0/input_schema"),
        (["a", {"name": "a", "input_schema": {}}], "/tools/1"),
        (["a"] * (MAX_TOOLS + 1), "/tools"),
    ],
)
def test_what_is_no_list_of_tools_is_malformed_and_says_where(tools: Any, member: str) -> None:
    assert refused(lambda: read_tools(tools, ("tools",))).member == member


@pytest.mark.parametrize(
    ("schema", "member"),
    [
        ({"type": "string"}, "/type"),
        ({"type": 5}, "/type"),
        ({"properties": []}, "/properties"),
        ({"properties": {"": {}}}, "/properties/"),
        ({"properties": {"f": 5}}, "/properties/f"),
        ({"properties": {"f": {"type": ["string", 5]}}}, "/properties/f/type"),
        ({"properties": {"f": {"type": None}}}, "/properties/f/type"),
        ({"properties": {"f": {"minimum": "3"}}}, "/properties/f/minimum"),
        ({"properties": {"f": {"maximum": True}}}, "/properties/f/maximum"),
        ({"properties": {"f": {"exclusiveMinimum": None}}}, "/properties/f/exclusiveMinimum"),
        ({"properties": {"f": {"enum": "a"}}}, "/properties/f/enum"),
        ({"required": "f"}, "/required"),
        ({"required": ["f", 5]}, "/required/1"),
        ({"additionalProperties": 5}, "/additionalProperties"),
    ],
)
def test_what_no_schema_can_say_is_malformed_and_says_where(schema: Any, member: str) -> None:
    assert refused(lambda: read_domain(schema)).member == member


# ---- the keywords that are understood


@pytest.mark.parametrize(
    ("schema", "inside", "outside"),
    [
        ({"type": "string"}, ["", "a"], [1, None, True, [], {}]),
        ({"type": "number"}, [1, Decimal("1.5")], ["1", True, None]),
        ({"type": "integer"}, [1, Decimal("5.0"), Decimal("1E+3")], [Decimal("5.5"), "1", True]),
        ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
        ({"type": "null"}, [None], [0, "", False]),
        ({"type": "array"}, [[], [1]], [{}, "[]"]),
        ({"type": "object"}, [{}, {"a": 1}], [[], None]),
        ({"type": ["integer", "null"]}, [1, None], ["1", Decimal("1.5")]),
        ({"minimum": 0}, [0, Decimal("0.0"), 1, "a", None], [-1, Decimal("-0.1")]),
        ({"maximum": 4000}, [4000, -1, True], [4001, Decimal("4000.001")]),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, [Decimal("0.5"), "0"], [0, 1, 2]),
        ({"enum": [1, "a", None]}, [1, Decimal("1.0"), "a", None], [True, "1", 2, []]),
        ({"enum": []}, [], [None, 1, "a"]),
        ({"const": {"a": [1]}}, [{"a": [1]}, {"a": [Decimal("1.0")]}], [{"a": [True]}, {"a": []}, None]),
        ({"enum": [1, 2, 1], "const": 2}, [2], [1]),
        ({"enum": [1, 2], "const": 3}, [], [1, 2, 3]),
        ({"enum": [1, "a", 9], "type": "integer", "maximum": 5}, [1], ["a", 9]),
        (True, [1, None, []], []),
        (False, [], [1, None, []]),
        ({}, [1, None, "a"], []),
    ],
)
def test_a_keyword_says_which_values_there_are(schema: Any, inside: list[Any], outside: list[Any]) -> None:
    found = domain({"f": schema})
    assert [value for value in inside if not takes(found, {"f": value})] == []
    assert [value for value in outside if takes(found, {"f": value})] == []


def test_required_params_have_to_be_given() -> None:
    found = domain({"a": {}, "b": {}}, required=["b"])
    assert takes(found, {"b": None})
    assert refused(lambda: found.check({"a": 1}, ("params",))).member == "/params/b"


def test_undeclared_params_are_refused_unless_the_schema_says_otherwise() -> None:
    assert refused(lambda: domain({"a": {}}).check({"b": 1}, ("params",))).member == "/params/b"
    assert not takes(domain(additionalProperties=False), {"b": 1})
    assert takes(domain(additionalProperties=True), {"b": 1})
    assert takes(domain(additionalProperties={"type": "integer"}), {"b": 1})
    assert not takes(domain(additionalProperties={"type": "integer"}), {"b": "x"})
    assert takes(domain(unevaluatedProperties=True), {"b": 1})
    assert not takes(domain(unevaluatedProperties=True, additionalProperties=False), {"b": 1})


def test_the_first_fault_is_named_whatever_the_order_of_the_params() -> None:
    found = domain({"a": {"type": "string"}, "b": {"type": "string"}})
    errors = [str(refused(partial(found.check, params))) for params in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert errors[0] == errors[1]
    assert errors[0].startswith("/a: string")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 5},
            "integer or null, at least 0, below 5",
        ),
        ({"minimum": 1}, "any value, at least 1"),
        ({"enum": [1, "a"]}, 'one of [1,"a"]'),
        ({"enum": ["a" * 500]}, f'one of ["{"a" * 198}…'),
        (False, "one of []"),
    ],
)
def test_an_error_says_what_is_asked_for(schema: Any, words: str) -> None:
    assert words in str(refused(lambda: domain({"f": schema}).check({"f": -1})))


def test_an_error_about_an_undeclared_param_says_which_there_are() -> None:
    assert "declared are a, b" in str(refused(lambda: domain({"b": {}, "a": {}}).check({"c": 1})))
    assert "it has none" in str(refused(lambda: domain().check({"c": 1})))


# ---- never narrower than the schema


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^x", "minLength": 5, "format": "date", "multipleOf": 7, "not": {}, "minItems": 3},
        {"allOf": [{"type": "string"}], "anyOf": [False], "oneOf": [], "if": True, "then": False},
        {"type": "any"},
        {"type": ["string", {"type": "integer"}]},
        {"type": []},
        {"$ref": "#/$defs/Tier", "type": "string"},
        {"$dynamicRef": "#x", "enum": []},
        {"minimum": 0, "exclusiveMinimum": True, "$comment": "the fourth draft"},
    ],
)
def test_a_keyword_that_is_not_understood_never_narrows(schema: Any) -> None:
    found = domain({"f": schema})
    anything: list[Any] = [0, 1, None, "a", [], True]
    assert [value for value in anything if not takes(found, {"f": value})] == []


def test_nullable_lets_null_in() -> None:
    assert takes(domain({"f": {"type": "string", "nullable": True}}), {"f": None})
    assert values({"enum": ["a"], "nullable": True}).choices == ("a", None)
    assert values({"enum": ["a", None], "nullable": True}).choices == ("a", None)
    assert values({"nullable": True}) == ANY
    assert not takes(domain({"f": {"type": "string", "nullable": False}}), {"f": None})


def test_a_reference_of_the_whole_lets_everything_in() -> None:
    assert read_domain({"$ref": "#/x", "required": ["a"]}) == Domain({}, frozenset(), ANY)


def test_a_param_that_is_only_required_is_declared_by_that() -> None:
    assert domain(required=["a"]) == Domain({"a": ANY}, frozenset({"a"}), None)
    assert domain(required=True).required == frozenset()


@pytest.mark.parametrize(
    "part",
    [
        {"allOf": [{"properties": {"b": {"type": "string"}}}]},
        {"anyOf": [True, {"oneOf": [{"properties": {"b": False}}]}]},
        {"if": {"properties": {"a": {}}}, "then": {"properties": {"b": {}}}},
        {"dependentSchemas": {"a": {"properties": {"b": {}}}}},
        {"dependencies": {"a": {"properties": {"b": {}}}, "c": ["a"]}},
    ],
)
def test_params_that_a_part_declares_are_declared(part: dict[str, Any]) -> None:
    found = domain({"a": {"type": "string"}}, **part)
    assert takes(found, {"a": "x", "b": 5})
    assert not takes(found, {"a": 5})
    assert not takes(found, {"other": 5})


@pytest.mark.parametrize(
    "part",
    [
        {"patternProperties": {"^b": {}}},
        {"allOf": [{"$ref": "#/$defs/base"}]},
        {"anyOf": [{"additionalProperties": {"type": "string"}}]},
        {"oneOf": [{"unevaluatedProperties": True}]},
        {"else": {"patternProperties": {}}},
    ],
)
def test_where_params_cannot_be_listed_any_is_let_in(part: dict[str, Any]) -> None:
    assert takes(domain({"a": {}}, **part), {"b": 5})


def test_what_is_no_schema_inside_a_part_is_left_unread() -> None:
    assert domain(allOf=5, anyOf=[{"properties": 5}], dependencies=[1]) == domain()


parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["integer", "number", "string", "null", "boolean", ["string", "null"], ["array", "object"]]
        ),
        "minimum": st.integers(-2, 2),
        "exclusiveMinimum": st.integers(-2, 2),
        "maximum": st.sampled_from([1, 3, Decimal("1.5")]),
        "exclusiveMaximum": st.integers(0, 4),
        "enum": st.lists(
            st.sampled_from([0, 1, Decimal("1.0"), Decimal("1.5"), "a", None, True, [1]]), max_size=3
        ),
        "const": st.sampled_from([1, "a", None]),
    },
)
hints = st.fixed_dictionaries(
    {},
    optional={
        "minLength": st.integers(0, 2),
        "pattern": st.just("a"),
        "not": parts,
        "anyOf": st.lists(parts, min_size=1, max_size=2),
    },
)
calls: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from("abc"),
    st.sampled_from(
        [0, 1, 2, -1, Decimal("1.0"), Decimal("1.5"), "", "a", "ab", None, True, False, [], [1], {}]
    ),
)


def valid(schema: dict[str, Any], params: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(inexact(params)))


def inexact(value: Any) -> Any:
    """The value as other software has it."""
    if isinstance(value, dict):
        return {name: inexact(member) for name, member in value.items()}
    return float(value) if isinstance(value, Decimal) else value


@given(
    st.dictionaries(st.sampled_from("ab"), st.one_of(st.booleans(), parts)),
    st.lists(st.sampled_from("ab"), unique=True),
    st.one_of(st.just(False), parts),
    calls,
)
def test_of_what_is_understood_a_domain_says_what_the_schema_says(
    properties: dict[str, Any], required: list[str], others: Any, params: dict[str, Any]
) -> None:
    assume(set(required) <= set(properties))
    schema = {"properties": properties, "required": required, "additionalProperties": others}
    assert takes(read_domain(schema), params) is valid(schema, params)


@given(
    st.dictionaries(st.sampled_from("ab"), st.builds(lambda one, other: one | other, parts, hints)),
    st.fixed_dictionaries(
        {},
        optional={
            "required": st.lists(st.sampled_from("abc"), unique=True),
            "additionalProperties": st.one_of(st.booleans(), parts),
            "patternProperties": st.dictionaries(st.sampled_from("ac"), parts),
            "allOf": st.lists(
                st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abc"), parts)})
            ),
            "minProperties": st.integers(0, 2),
        },
    ),
    calls,
)
def test_a_domain_is_never_narrower_than_its_schema(
    properties: dict[str, Any], members: dict[str, Any], params: dict[str, Any]
) -> None:
    schema = {"properties": properties, **members}
    found = read_domain(schema)
    declared = {name: value for name, value in params.items() if found.values(name) is not None}
    if valid(schema, declared):
        found.check(declared)
