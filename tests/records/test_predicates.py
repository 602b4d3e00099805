"""Predicates: what is accepted, what every operator says of every type, and how they read."""

from decimal import Decimal
from typing import Any

import pytest

from blackboard.canonical import parse_exact
from blackboard.errors import Malformed
from blackboard.records.atoms import ABSENT, at_pointer
from blackboard.records.atoms import test as atom_test
from blackboard.records.predicate import atoms, read_predicate, to_json, words
from blackboard.records.truth import FALSE, NAMES, TRUE, UNKNOWN, negate

T, F, U = TRUE, FALSE, UNKNOWN


@pytest.mark.parametrize(
    ("op", "constant", "value", "truth"),
    [
        ("eq", 5000, Decimal("5e3"), T),
        ("eq", Decimal("5000.0"), 5000, T),
        ("eq", 5000, 5001, F),
        ("eq", 5000, "5000", U),
        ("eq", 1, True, U),
        ("eq", True, 1, U),
        ("eq", True, True, T),
        ("eq", "a", "a", T),
        ("eq", "a", "A", F),
        ("eq", None, None, T),
        ("eq", None, 5, F),
        ("eq", None, [], F),
        ("eq", 5, None, F),
        ("eq", 5, [5], U),
        ("eq", 5, {}, U),
        ("eq", None, ABSENT, U),
        ("eq", 5, ABSENT, U),
        ("ne", 5, 6, T),
        ("ne", 5, 5, F),
        ("ne", 5, "5", U),
        ("ne", 5, None, T),
        ("ne", 5, ABSENT, U),
        ("gt", 5000, 8400, T),
        ("gt", 5000, 5000, F),
        ("gt", 5000, Decimal("5000.01"), T),
        ("gt", 5000, "8400", U),
        ("gt", 0, True, U),
        ("gt", 5000, None, U),
        ("gt", 5000, ABSENT, U),
        ("gt", 10**99, 10**99 + 1, T),
        ("ge", 5000, 5000, T),
        ("ge", 5000, 4999, F),
        ("ge", 5000, "x", U),
        ("lt", 5000, 4999, T),
        ("lt", 5000, 5000, F),
        ("lt", "b", "a", T),
        ("lt", "\uff5e", "\U00010000", F),
        ("lt", "b", 1, U),
        ("le", "b", "b", T),
        ("le", "b", "c", F),
        ("le", 1, [], U),
        ("in", ("a", "b"), "b", T),
        ("in", ("a", "b"), "c", F),
        ("in", ("a", "b"), 1, U),
        ("in", ("a", None), None, T),
        ("in", ("a", None), 1, U),
        ("in", (), "a", F),
        ("in", ("a",), ABSENT, U),
        ("in", (), ABSENT, U),
        ("not_in", ("a", "b"), "c", T),
        ("not_in", ("a", "b"), "a", F),
        ("not_in", ("a", "b"), 1, U),
        ("not_in", ("a",), ABSENT, U),
        ("prefix", "docs/", "docs/x.md", T),
        ("prefix", "docs/", "doc", F),
        ("prefix", "docs/", None, U),
        ("prefix", "docs/", ABSENT, U),
        ("exists", True, ABSENT, F),
        ("exists", True, None, T),
        ("exists", False, ABSENT, T),
        ("exists", False, 0, F),
    ],
)
def test_the_table_of_operators(op: Any, constant: Any, value: Any, truth: int) -> None:
    assert atom_test(op, constant)(value) == truth


def test_not_is_the_mirror() -> None:
    assert (negate(FALSE), negate(UNKNOWN), negate(TRUE)) == (TRUE, UNKNOWN, FALSE)
    assert NAMES == ("FALSE", "UNKNOWN", "TRUE")
    assert repr(ABSENT) == "ABSENT"


GOOD = [
    ({"field": "amount", "op": "gt", "value": 5000}, "amount gt 5000"),
    ({"field": "tier", "op": "eq", "value": "gold"}, "tier eq gold"),
    ({"field": "tier", "op": "eq", "value": "true"}, 'tier eq "true"'),
    ({"field": "tier", "op": "eq", "value": "5"}, 'tier eq "5"'),
    ({"field": "tier", "op": "eq", "value": "two words"}, 'tier eq "two words"'),
    ({"field": "r", "op": "in", "value": ["a", None]}, 'r in ["a",null]'),
    ({"field": "größe", "op": "lt", "value": -1, "source": "fact"}, "fact:größe lt -1"),
    ({"field": "x", "op": "exists", "value": True, "source": "param"}, "param:x exists true"),
    (
        {"field": "task/B", "op": "eq", "value": "done", "source": "ledger", "at": "/status"},
        "ledger:task/B/status eq done",
    ),
    ({"field": "path", "op": "prefix", "value": "docs/"}, "path prefix docs/"),
    ({"all": []}, "always"),
    ({"any": []}, "never"),
    ({"not": {"any": [{"all": []}]}}, "not always"),
    (
        {
            "any": [
                {"all": [{"field": "a", "op": "lt", "value": 1}, {"field": "b", "op": "ge", "value": 2}]},
                {"not": {"field": "c", "op": "ne", "value": None}},
            ]
        },
        "(a lt 1 and b ge 2) or not c ne null",
    ),
]


@pytest.mark.parametrize(("written", "read"), GOOD, ids=[read for _, read in GOOD])
def test_a_predicate_comes_back_as_it_was_written_and_reads_as_words(written: Any, read: str) -> None:
    predicate = read_predicate(written, ())
    assert to_json(predicate) == written
    assert words(predicate) == read


def test_the_atoms_come_in_the_order_in_which_they_are_written() -> None:
    predicate = read_predicate(GOOD[-1][0], ())
    assert [atom.field for atom in atoms(predicate)] == ["a", "b", "c"]


def nested(depth: int) -> dict[str, Any]:
    predicate: dict[str, Any] = {"field": "a", "op": "eq", "value": 1}
    for _ in range(depth - 1):
        predicate = {"not": predicate}
    return predicate


BAD = [
    ("x", "", "an object"),
    ({}, "", "`field`"),
    ({"op": "eq", "value": 1}, "", "`field`"),
    ({"field": "a", "value": 1}, "/op", "required"),
    ({"field": "a", "op": "eq"}, "/value", "required"),
    ({"field": "", "op": "eq", "value": 1}, "/field", "empty"),
    ({"field": 1, "op": "eq", "value": 1}, "/field", "a string"),
    ({"field": "a\n", "op": "eq", "value": 1}, "/field", "control character"),
    ({"field": "a", "op": "matches", "value": "x"}, "/op", "one of eq"),
    ({"field": "a", "op": ["eq"], "value": "x"}, "/op", "one of eq"),
    ({"field": "a", "op": "eq", "value": [1]}, "/value", "string, number, bool or null"),
    ({"field": "a", "op": "gt", "value": True}, "/value", "a number or string"),
    ({"field": "a", "op": "gt", "value": None}, "/value", "a number or string"),
    ({"field": "a", "op": "in", "value": "x"}, "/value", "an array"),
    ({"field": "a", "op": "in", "value": [1, "x"]}, "/value", "one type"),
    ({"field": "a", "op": "in", "value": [1, True]}, "/value", "one type"),
    ({"field": "a", "op": "in", "value": [1, [2]]}, "/value/1", "string, number"),
    ({"field": "a", "op": "prefix", "value": 1}, "/value", "a string"),
    ({"field": "a", "op": "exists", "value": 1}, "/value", "true or false"),
    ({"field": "a", "op": "eq", "value": 1, "sorce": "fact"}, "/sorce", "not a member"),
    ({"field": "a", "op": "eq", "value": 1, "source": "log"}, "/source", "one of param"),
    ({"field": "a", "op": "eq", "value": 1, "source": None}, "/source", "one of param"),
    ({"field": "a", "op": "eq", "value": 1, "source": []}, "/source", "one of param"),
    ({"field": "a", "op": "eq", "value": 1, "at": "/x"}, "/at", "source: ledger"),
    ({"field": "a", "op": "eq", "value": 1, "source": "ledger", "at": "x"}, "/at", "JSON Pointer"),
    ({"field": "a", "op": "eq", "value": 1, "source": "ledger", "at": 1}, "/at", "JSON Pointer"),
    ({"field": "a", "op": "eq", "value": 1, "source": "ledger", "at": "/a~2"}, "/at", "JSON Pointer"),
    ({"field": "a", "op": "eq", "value": 1, "source": "ledger", "at": None}, "/at", "JSON Pointer"),
    ({"field": "ä" * 129, "op": "eq", "value": 1}, "/field", "256"),
    ({"field": "a", "op": "lt", "value": []}, "/value", "a number or string"),
    ({"all": {}}, "/all", "an array"),
    ({"all": [], "any": []}, "/any", "not a member"),
    ({"all": [], "field": "a"}, "/all", "not a member"),
    ({"any": [{"all": [{"field": "a"}]}]}, "/any/0/all/0/op", "required"),
    ({"not": [{}]}, "/not", "an object"),
    ({"not": {"all": []}, "all": []}, "/not", "not a member"),
    (nested(17), "/not" * 16, "16 deep"),
    ({"all": [{"field": "a", "op": "eq", "value": 1}] * 257}, "/all/256", "256 atoms"),
]


@pytest.mark.parametrize(("written", "place", "said"), BAD)
def test_a_typo_is_refused_at_its_place(written: Any, place: str, said: str) -> None:
    with pytest.raises(Malformed, match=said) as refused:
        read_predicate(written, ("p",))
    assert refused.value.member == "/p" + place


def test_the_limits_themselves_are_within() -> None:
    read_predicate(nested(16), ())
    read_predicate({"all": [{"field": "a", "op": "eq", "value": 1}] * 256}, ())


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", {"a": [1, {"b/c": 2, "~": None}]}),
        ("/a/0", 1),
        ("/a/1/b~1c", 2),
        ("/a/1/~0", None),
        ("/a/2", ABSENT),
        ("/a/01", ABSENT),
        ("/a/-", ABSENT),
        ("/a/99999999999", ABSENT),
        ("/x", ABSENT),
        ("/a/0/x", ABSENT),
    ],
)
def test_a_pointer_names_a_part_of_a_value(pointer: str, found: Any) -> None:
    value = parse_exact('{"a": [1, {"b/c": 2, "~": null}]}')
    assert at_pointer(value, pointer) == found
