"""Records: each kind comes back as it was written, and nothing else passes for one."""

from typing import Any

import pytest

from blackboard import canonical
from blackboard.errors import Malformed
from blackboard.events.kinds import FORMAT
from blackboard.records import (
    EVALUABLE,
    NEWEST,
    RECORD_KINDS,
    Approval,
    Chatter,
    Unevaluable,
    read_record,
    record_bytes,
    record_json,
)
from blackboard.records.kinds import expires_of, kind_of, supersedes_of
from blackboard.records.reading import RECORD_UPCASTERS
from blackboard.records.scope import patterns_of, read_scope, read_tool

PREDICATE = {"field": "amount", "op": "gt", "value": 5000}
DIGEST = "0f" * 32
RECORDS: list[dict[str, Any]] = [
    {
        "id": "p",
        "seq": 1,
        "kind": "policy",
        "scope": ["notes.*", "refunds.create"],
        "predicate": PREDICATE,
        "effect": "deny",
        "supersedes": "o",
        "expires_seq": 9,
        "text": "no",
    },
    {"id": "f", "seq": 2, "kind": "fact", "field": "owner", "value": {"name": "kim"}},
    {"id": "n", "seq": 3, "kind": "fact", "field": "owner", "value": None},
    {"id": "b", "seq": 4, "kind": "fact", "field": "owner", "value": False, "expires_seq": 0},
    {"id": "g", "seq": 5, "kind": "fact", "field": "owner", "retracted": True, "supersedes": "f", "text": ""},
    {
        "id": "a",
        "seq": 6,
        "kind": "approval",
        "policy": "p",
        "action_digest": DIGEST,
        "granted": False,
        "approver": "kim",
        "supersedes": "z",
        "expires_seq": 12,
    },
    {"id": "c", "seq": 0, "kind": "chatter", "text": "hello"},
    {
        "id": "w",
        "seq": 7,
        "kind": "approval",
        "version": 2,
        "policy": "p",
        "action_digest": DIGEST,
        "granted": True,
        "approver": "kim",
        "text": "",
    },
    {"id": "d", "seq": 8, "kind": "chatter"},
    {"id": "s", "seq": 9, "kind": "summary", "text": "all fine", "supersedes": 3},
    {"id": "v", "seq": 10, "kind": "fact", "version": 2, "field": 1},
]


@pytest.mark.parametrize("written", RECORDS, ids=lambda record: record["id"])
def test_a_record_comes_back_as_it_was_written(written: dict[str, Any]) -> None:
    assert record_json(read_record(written)) == written


def test_one_tool_as_scope_is_a_list_of_one() -> None:
    record = read_record(RECORDS[0] | {"scope": "*", "version": 1})
    assert record_json(record)["scope"] == ["*"]


def test_what_is_not_known_is_kept_whole_and_unevaluable() -> None:
    summary, later = read_record(RECORDS[-2]), read_record(RECORDS[-1])
    assert isinstance(summary, Unevaluable)
    assert isinstance(later, Unevaluable)
    assert (kind_of(summary), summary.version) == ("summary", 1)
    assert (kind_of(later), later.version) == ("fact", 2)
    assert (expires_of(later), supersedes_of(summary)) == (None, None)


def test_every_kind_is_known_by_name_and_version() -> None:
    assert {kind for kind, _ in RECORD_KINDS} == {"policy", "fact", "approval", "chatter"}
    assert all(RECORD_KINDS[kind.KIND, kind.VERSION] is kind for kind in RECORD_KINDS.values())
    assert kind_of(read_record(RECORDS[0])) == "policy"


P, FACT, A, C, W = RECORDS[0], RECORDS[1], RECORDS[5], RECORDS[6], RECORDS[7]


def test_an_approval_of_version_1_is_lifted_and_written_as_it_was() -> None:
    lifted = read_record(A)
    assert isinstance(lifted, Approval)
    assert lifted.text is None
    assert record_json(lifted) == A
    assert record_bytes(lifted) == canonical.encode(A)


def test_a_record_is_written_in_the_oldest_version_that_can_say_it() -> None:
    assert record_json(read_record(A | {"version": 2})) == A
    assert record_json(read_record(A | {"version": 2, "text": "why"})) == A | {"version": 2, "text": "why"}


@pytest.mark.parametrize(("board_format", "known"), EVALUABLE.items())
def test_who_knows_only_version_1_sees_a_later_approval_as_unevaluable(
    board_format: int, known: dict[str, int]
) -> None:
    record = read_record(W, known=known)
    assert isinstance(record, Approval if board_format >= 3 else Unevaluable)
    assert record_json(record) == W  # kept whole, and answered as it was written
    assert isinstance(read_record(A, known=known), Approval)
    assert isinstance(read_record(C, known=known), Chatter)


def test_where_nothing_is_known_nothing_is_evaluated() -> None:
    for written in (P, FACT, A, C, W):
        record = read_record(written, known={})
        assert isinstance(record, Unevaluable)
        assert record_json(record) == written


def test_there_is_a_step_up_for_every_version_of_a_record_that_is_not_the_newest() -> None:
    older = {(kind, version) for kind, newest in NEWEST.items() for version in range(1, newest)}
    assert set(RECORD_UPCASTERS) == older
    assert EVALUABLE[FORMAT] == NEWEST
    assert list(EVALUABLE) == list(range(1, FORMAT + 1))


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: member for name, member in record.items() if name not in names}


BAD: list[tuple[Any, str, str]] = [
    ([], "", "an object"),
    (without(C, "id"), "/id", "required"),
    (without(C, "seq"), "/seq", "required"),
    (without(C, "kind"), "/kind", "required"),
    (C | {"id": ""}, "/id", "empty"),
    (C | {"id": "x" * 257}, "/id", "256"),
    (C | {"id": "ä" * 129}, "/id", "256"),
    (C | {"id": 7}, "/id", "a string"),
    (C | {"seq": True}, "/seq", "a seq"),
    (C | {"seq": "1"}, "/seq", "a seq"),
    (C | {"seq": -1}, "/seq", "a seq"),
    (C | {"seq": 2**53}, "/seq", "a seq"),
    (C | {"kind": None}, "/kind", "a string"),
    (C | {"version": 0}, "/version", "a version"),
    (C | {"version": True}, "/version", "a version"),
    (C | {"text": None}, "/text", "a string"),
    (C | {"supersedes": "x"}, "/supersedes", "not a member"),
    (P | {"scpoe": 1}, "/scpoe", "not a member"),
    (without(P, "scope"), "/scope", "required"),
    (without(P, "predicate"), "/predicate", "required"),
    (without(P, "effect"), "/effect", "required"),
    (P | {"effect": "warn"}, "/effect", "one of deny"),
    (P | {"effect": []}, "/effect", "one of deny"),
    (P | {"scope": []}, "/scope", "covers no tool"),
    (P | {"scope": ["a", 1]}, "/scope/1", "a string"),
    (P | {"scope": "a*"}, "/scope", "asterisk"),
    (P | {"scope": "a.*.b"}, "/scope", "asterisk"),
    (P | {"scope": "**"}, "/scope", "asterisk"),
    (P | {"scope": "*.*"}, "/scope", "asterisk"),
    (P | {"scope": ".*"}, "/scope", "a namespace"),
    (P | {"predicate": {"all": [{}]}}, "/predicate/all/0", "`field`"),
    (P | {"supersedes": None}, "/supersedes", "a string"),
    (P | {"expires_seq": 1.5}, "/expires_seq", "a seq"),
    (without(FACT, "field"), "/field", "required"),
    (without(FACT, "value"), "/value", "retracted"),
    (FACT | {"retracted": True}, "/value", "retracted"),
    (FACT | {"retracted": 1}, "/retracted", "true or false"),
    (without(A, "policy"), "/policy", "required"),
    (without(A, "approver"), "/approver", "required"),
    (A | {"action_digest": "0F" * 32}, "/action_digest", "64 lower-case"),
    (A | {"action_digest": 5}, "/action_digest", "64 lower-case"),
    (A | {"granted": "yes"}, "/granted", "true or false"),
    (A | {"text": "x"}, "/text", "not a member here; .*approver.*supersedes, version$"),
    (A | {"version": 1, "text": "x"}, "/text", "not a member"),
    (W | {"text": None}, "/text", "a string"),
    (W | {"says": "x"}, "/says", "not a member"),
    (without(W, "approver"), "/approver", "required"),
]


@pytest.mark.parametrize(("written", "place", "said"), BAD)
def test_a_malformed_record_is_refused_at_its_place(written: Any, place: str, said: str) -> None:
    with pytest.raises(Malformed, match=said) as refused:
        read_record(written, ("records", 3))
    assert refused.value.member == "/records/3" + place


@pytest.mark.parametrize(
    ("tool", "patterns"),
    [
        ("refunds.create", ("refunds.create", "refunds.*", "*")),
        ("a.b.c", ("a.b.c", "a.b.*", "a.*", "*")),
        ("ns", ("ns", "*")),
        (".x", (".x", "*")),
    ],
)
def test_a_tool_is_covered_by_its_namespaces_but_a_namespace_not_by_itself(
    tool: str, patterns: tuple[str, ...]
) -> None:
    assert patterns_of(tool) == patterns
    for pattern in patterns:
        assert read_scope(pattern, ()) == (pattern,)
    assert set(patterns).isdisjoint(("ns.*", "Refunds.create", "refunds"))


def test_a_scope_is_sorted_and_holds_each_pattern_once() -> None:
    assert read_scope(["b", "a.*", "b"], ()) == ("a.*", "b")


def test_the_name_of_a_tool_is_no_pattern() -> None:
    assert read_tool("refunds.create", ()) == "refunds.create"
    with pytest.raises(Malformed, match="asterisk"):
        read_tool("refunds.*", ("tools", 0))
