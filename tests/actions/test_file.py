"""A file of records: what is read, and what is refused with the place of the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blackboard.errors import Malformed, TooLarge
from blackboard.gate.actions import file
from blackboard.gate.actions.file import FileCase, read_file
from blackboard.records import Approval

POLICY = {
    "id": "p1",
    "seq": 1,
    "kind": "policy",
    "scope": "pay.refund",
    "predicate": {"field": "amount", "op": "gt", "value": 5000},
    "effect": "deny",
}
FACT = {"id": "f1", "seq": 4, "kind": "fact", "field": "tier", "value": "gold"}
NOTE = {"id": "c1", "seq": 9, "kind": "chatter"}
WHOLE: dict[str, Any] = {
    "records": [POLICY, FACT, NOTE],
    "kept": ["f1"],
    "action": {"tool": "pay.refund", "params": {"amount": 1}},
}


def read(*, without: str = "", **members: Any) -> FileCase:
    content = {name: member for name, member in (WHOLE | members).items() if name != without}
    return read_file(json.dumps(content).encode())


def refused(*, without: str = "", **members: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        read(without=without, **members)
    return caught.value


# -- what is read


def test_the_least_file_is_records_kept_ids_and_an_action() -> None:
    case = read()
    assert [record.id for record in case.records.items] == ["p1", "f1", "c1"]
    assert case.kept == frozenset({1})
    assert (case.name, case.delivered, case.tools, case.k, case.agent) == (None, None, None, None, None)
    assert [action.tool for action in case.actions] == ["pay.refund"]


def test_every_member_is_read() -> None:
    case = read(name="a case", delivered=["c1", "f1"], tools=["pay.refund"], k=3, agent="agent:ann")
    assert (case.name, case.k, case.agent) == ("a case", 3, "agent:ann")
    assert case.delivered == frozenset({1, 2})
    assert case.tools is not None
    assert [tool.name for tool in case.tools] == ["pay.refund"]


def test_actions_are_judged_instead_of_the_action() -> None:
    case = read(actions=[{"tool": "a"}, {"tool": "b", "params": {}}])
    assert [action.tool for action in case.actions] == ["a", "b"]


def test_members_that_a_file_does_not_know_are_ignored() -> None:
    case, plain = read(story="told", expect={"verdict": "PASS"}, retention="recency"), read()
    assert case._replace(records=plain.records) == plain


def test_records_stand_in_any_order_and_go_by_seq() -> None:
    case = read(records=[NOTE, POLICY, FACT])
    assert [record.seq for record in case.records.items] == [1, 4, 9]
    assert case.kept == frozenset({1})


def test_an_id_that_is_named_twice_is_kept_once() -> None:
    assert read(kept=["f1", "f1"]).kept == frozenset({1})


def test_no_action_is_read_where_none_is_asked_for() -> None:
    content = WHOLE | {"action": "nonsense", "actions": 7}
    assert read_file(json.dumps(content).encode(), actions=False).actions == ()


def test_the_world_of_a_file_ends_at_its_greatest_seq_and_knows_who_holds_what() -> None:
    case = read(records=[NOTE, POLICY, FACT], delivered=["p1", "f1"], agent="ann")
    world = case.world([1])
    assert (world.head, world.actor) == (9, "ann")
    assert [world.holding.holds(at) for at in range(3)] == [False, True, False]
    assert [bool(world.holding.delivered(at)) for at in range(3)] == [True, True, False]


def test_a_file_without_records_has_the_head_0() -> None:
    assert read(records=[], kept=[]).world([]).head == 0


# -- what is refused, and where

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no records": ({"without": "records"}, "/records"),
    "records that are no list": ({"records": {}}, "/records"),
    "a record that is no object": ({"records": [POLICY, 7]}, "/records/1"),
    "a record without an id": ({"records": [{"seq": 1, "kind": "chatter"}]}, "/records/0/id"),
    "an id twice": ({"records": [FACT, NOTE, {**POLICY, "id": "c1", "seq": 12}]}, "/records/2/id"),
    "a seq twice": ({"records": [NOTE, FACT, {**POLICY, "seq": 4}]}, "/records/2/seq"),
    "a later record superseded": (
        {"records": [NOTE, {**FACT, "supersedes": "f2"}, {**FACT, "id": "f2", "seq": 5}]},
        "/records/1/supersedes",
    ),
    "a member that its kind does not have": ({"records": [{**NOTE, "txt": ""}]}, "/records/0/txt"),
    "kept that is no list": ({"kept": "f1"}, "/kept"),
    "a kept id that is no string": ({"kept": ["f1", ["f1"]]}, "/kept/1"),
    "a kept id that no record has": ({"kept": ["f1", "f9"]}, "/kept/1"),
    "a delivered id that no record has": ({"delivered": ["f9"]}, "/delivered/0"),
    "something kept that was never delivered": ({"delivered": ["c1", "p1"]}, "/kept/0"),
    "a dropped set": ({"dropped": []}, "/dropped"),
    "no action": ({"without": "action"}, "/action"),
    "an action without a tool": ({"action": {"params": {}}}, "/action/tool"),
    "an action with a member of its own": ({"action": {"tool": "a", "parms": {}}}, "/action/parms"),
    "params that are no object": ({"action": {"tool": "a", "params": [1]}}, "/action/params"),
    "actions that are no list": ({"actions": {"tool": "a"}}, "/actions"),
    "no actions in the list": ({"actions": []}, "/actions"),
    "one malformed action among others": ({"actions": [{"tool": "a"}, {}]}, "/actions/1/tool"),
    "a malformed action beside good actions": ({"action": {}, "actions": [{"tool": "a"}]}, "/action/tool"),
    "tools that are no list": ({"tools": "pay.refund"}, "/tools"),
    "a tool that is no name": ({"tools": ["a", 7]}, "/tools/1"),
    "k that is no whole number": ({"k": 1.5}, "/k"),
    "k that is a bool": ({"k": True}, "/k"),
    "k below zero": ({"k": -1}, "/k"),
    "a name that is no string": ({"name": None}, "/name"),
    "a name that is too long": ({"name": "n" * 257}, "/name"),
    "an agent that is no name": ({"agent": ""}, "/agent"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_is_malformed_is_refused_with_its_place(what: str) -> None:
    members, place = FAULTS[what]
    error = refused(**members)
    assert error.member == place, error.detail
    assert place in error.detail


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b'{"records": [', b"\xff\xfe", b"\xef\xbb\xbf{}"])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        read_file(raw)
    assert caught.value.member == ""


def test_text_that_is_no_json_is_told_in_the_same_words_by_every_python() -> None:
    """The words of the standard library for a trailing comma changed with Python 3.13."""
    for raw, told in [
        (b'{"records": [', "input data was truncated"),
        (b'{"records": [1,]}', "trailing comma in array (byte 15)"),
    ]:
        with pytest.raises(Malformed) as caught:
            read_file(raw)
        assert caught.value.detail == f"the document: not JSON: {told}"


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ("[" * 3000, "/0" * 64),
        ('{"a": [' + "[" * 3000 + "]" * 3001 + "}", "/a" + "/0" * 63),
        ('{"k": "]]", "a": [1, "x,\\"", ' + '{"b": ' * 3000, "/a/2" + "/b" * 62),
        ("[]]]" + "[" * 65, "/0" * 64),
    ],
)
def test_how_deep_is_too_deep_does_not_depend_on_the_python_that_runs(text: str, member: str) -> None:
    with pytest.raises(Malformed, match="nested more than 64 deep") as caught:
        read_file(text.encode())
    assert (caught.value.member, caught.value.limit) == (member, 64)


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '"' + "\\" * 200_001, '["a' + '\\"[' * 100_000])
def test_a_text_that_nothing_closes_is_refused_at_once(text: str) -> None:
    with pytest.raises(Malformed, match="not JSON"):
        read_file(text.encode())


# -- limits


def test_every_limit_answers_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, member in [
        ("MAX_RECORDS", 2, "/records"),
        ("MAX_ACTIONS", 1, "/actions"),
        ("MAX_BYTES", 9, ""),
    ]:
        monkeypatch.setattr(file, name, value)
        with pytest.raises(TooLarge, match=f"at most {value} ") as caught:
            read(actions=[{"tool": "a"}, {"tool": "b"}])
        assert (caught.value.member, caught.value.limit) == (member, value)
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("text", "member", "limit"),
    [
        ('{"action": {"params": {"a": 1' + "0" * 100 + "}}}", "/action/params/a", 100),
        ('{"action": {"params": {"a": 1e1001}}}', "/action/params/a", 1000),
        ('{"a": ' + "[" * 64 + "]" * 64 + "}", "/a" + "/0" * 63, 64),
        ("[" * 100_000, "/0" * 64, 64),
    ],
    ids=["digits", "exponent", "depth", "far beyond the depth"],
)
def test_the_limits_of_numbers_and_depth_name_themselves(text: str, member: str, limit: int) -> None:
    with pytest.raises(Malformed) as caught:
        read_file(text.encode())
    assert (caught.value.member, caught.value.limit) == (member, limit)


def test_the_limits_of_predicates_name_themselves() -> None:
    atom = {"field": "a", "op": "exists", "value": True}
    deep: dict[str, Any] = atom
    for _ in range(16):
        deep = {"not": deep}
    error = refused(records=[{**POLICY, "predicate": deep}])
    assert (error.member, error.limit) == ("/records/0/predicate" + "/not" * 16, 16)
    error = refused(records=[{**POLICY, "predicate": {"all": [atom] * 257}}])
    assert (error.member, error.limit) == ("/records/0/predicate/all/256", 256)


# -- an approval that says why


YES = {
    "id": "yes",
    "seq": 5,
    "kind": "approval",
    "policy": "p1",
    "action_digest": "0f" * 32,
    "granted": True,
    "approver": "kim",
}


def test_an_approval_of_version_2_says_why() -> None:
    case = read(records=[POLICY, FACT, YES | {"version": 2, "text": "paid twice"}])
    approval = case.records.items[-1]
    assert isinstance(approval, Approval)
    assert approval.text == "paid twice"
    assert case.records.unevaluable == []


@pytest.mark.parametrize("version", [{}, {"version": 1}])
def test_an_approval_of_version_1_has_no_text(version: dict[str, int]) -> None:
    error = refused(records=[POLICY, FACT, YES | version | {"text": "paid twice"}])
    assert error.member == "/records/2/text"
    assert "is not a member here" in error.detail


def test_an_approval_of_a_version_that_nobody_knows_is_unevaluable() -> None:
    case = read(records=[POLICY, FACT, YES | {"version": 3, "text": "paid twice"}])
    assert case.records.unevaluable == [2]
