"""Drafts: what an author writes is what the board reads."""

from typing import Any

import msgspec
import pytest

from blackboard.errors import Malformed
from blackboard.gate.actions.action import read_action
from blackboard.records import read_record, record_json
from blackboard.records.digest import action_digest
from blackboard.records.drafts import Approval, Chatter, Draft, Fact, Policy

PREDICATE = {"field": "amount", "op": "gt", "value": 5000}


@pytest.mark.parametrize(
    ("draft", "written"),
    [
        (
            Policy("refunds.*", PREDICATE, "deny", text="no"),
            {
                "kind": "policy",
                "scope": ["refunds.*"],
                "predicate": PREDICATE,
                "effect": "deny",
                "text": "no",
            },
        ),
        (Fact("tier", "gold", id="x"), {"kind": "fact", "field": "tier", "value": "gold"}),
        (Fact("tier", None), {"kind": "fact", "field": "tier", "value": None}),
        (
            Fact("tier", retracted=True, supersedes="f"),
            {"kind": "fact", "field": "tier", "retracted": True, "supersedes": "f"},
        ),
        (
            Approval.for_action("p", "refunds.create", {"amount": 5e3}),
            {
                "kind": "approval",
                "policy": "p",
                "action_digest": action_digest("refunds.create", {"amount": 5000}),
                "granted": True,
            },
        ),
        (
            Approval("p", "0f" * 32, False),
            {"kind": "approval", "policy": "p", "action_digest": "0f" * 32, "granted": False},
        ),
        (
            Approval("p", "0f" * 32, False, text="spent"),
            {
                "kind": "approval",
                "version": 2,
                "policy": "p",
                "action_digest": "0f" * 32,
                "granted": False,
                "text": "spent",
            },
        ),
        (Chatter("hello"), {"kind": "chatter", "text": "hello"}),
    ],
)
def test_a_draft_is_the_record_without_id_and_seq(draft: Draft, written: dict[str, Any]) -> None:
    members = msgspec.to_builtins(draft)
    if isinstance(draft, Approval):  # the board says who approves
        members |= {"approver": "operator:kim"}
        written |= {"approver": "operator:kim"}
    record = read_record(members | {"id": "x", "seq": 4})
    assert record_json(record) == written | {"id": "x", "seq": 4}


def test_the_digest_of_an_action_is_that_of_its_exact_values() -> None:
    action = read_action({"tool": "refunds.create", "params": {"amount": 5000, "note": None}})
    assert action.digest == action_digest("refunds.create", {"note": None, "amount": 5000.0})
    assert action.digest != action_digest("refunds.create", {"note": None, "amount": "5000"})


def test_an_action_that_is_no_json_has_no_digest() -> None:
    with pytest.raises(Malformed):
        action_digest("t", {"x": {1, 2}})


@pytest.mark.parametrize(
    ("written", "place", "said"),
    [
        ([], "", "an object"),
        ({"params": {}}, "/tool", "required"),
        ({"tool": "a.*"}, "/tool", "asterisk"),
        ({"tool": 1}, "/tool", "a string"),
        ({"tool": "a", "params": []}, "/params", "an object"),
        ({"tool": "a", "params": {"": 1}}, "/params/", "empty"),
        ({"tool": "a", "parms": {}}, "/parms", "not a member"),
    ],
)
def test_a_malformed_action_is_refused_at_its_place(written: Any, place: str, said: str) -> None:
    with pytest.raises(Malformed, match=said) as refused:
        read_action(written, ("action",))
    assert refused.value.member == "/action" + place


def test_an_action_may_have_no_params() -> None:
    assert read_action({"tool": "a"}).params == {}


def test_an_approval_says_its_version_only_with_a_text() -> None:
    bare = Approval.for_action("p", "t", {}, granted=False)
    assert "version" not in msgspec.to_builtins(bare)
    said = msgspec.to_builtins(Approval.for_action("p", "t", {}, text="paid twice"))
    assert (said["version"], said["text"]) == (2, "paid twice")
