"""The record kinds have their room in the log before the gate that evaluates them."""

from typing import Any

import msgspec
import pytest

from blackboard.records import RECORD_KINDS, Approval, Chatter, Fact, PolicyRecord, Record

EXAMPLES: list[tuple[type[Record], dict[str, Any]]] = [
    (
        PolicyRecord,
        {"id": "p", "seq": 1, "scope": ["refunds.*"], "predicate": {"op": "gt"}, "effect": "deny"},
    ),
    (Fact, {"id": "f", "seq": 2, "field": "owner", "value": {"name": "kim"}}),
    (Fact, {"id": "g", "seq": 3, "field": "owner", "retracted": True, "supersedes": "f"}),
    (
        Approval,
        {"id": "a", "seq": 4, "policy": "p", "action_digest": "d", "granted": True, "approver": "kim"},
    ),
    (Chatter, {"id": "c", "seq": 5, "text": "hello"}),
]


@pytest.mark.parametrize(("kind", "members"), EXAMPLES, ids=lambda found: getattr(found, "KIND", ""))
def test_a_record_comes_back_as_it_was_written(kind: type[Record], members: dict[str, Any]) -> None:
    record = msgspec.convert(members, kind)
    assert msgspec.to_builtins(record) == members


@pytest.mark.parametrize("kind", RECORD_KINDS.values(), ids=lambda kind: kind.KIND)
def test_unknown_members_of_a_record_are_refused(kind: type[Record]) -> None:
    members = next(members for known, members in EXAMPLES if known is kind)
    with pytest.raises(msgspec.ValidationError, match="unheard"):
        msgspec.convert(members | {"unheard": 1}, kind)


def test_every_kind_is_known_by_name_and_version() -> None:
    assert {kind for kind, _ in RECORD_KINDS} == {"policy", "fact", "approval", "chatter"}
    assert all(RECORD_KINDS[kind.KIND, kind.VERSION] is kind for kind in RECORD_KINDS.values())
