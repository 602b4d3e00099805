"""An error that travelled is the error that was raised."""

import json
from typing import Any

import msgspec
import pytest

from blackboard import errors
from blackboard.client.problems import document, refusal, restore
from blackboard.events.kinds import Remedy, Violation
from blackboard.messages.replies import ACTIVE, INTACT, Notice, RaisedSignal, Reply


@pytest.mark.parametrize("kind", errors.ERRORS_BY_CODE.values(), ids=lambda kind: kind.__name__)
def test_every_error_of_the_tree_survives_the_way(kind: type[errors.BlackboardError]) -> None:
    found = restore(document(kind("what is wrong", members={"key": "k", "seqs": [1, 2]})))
    assert type(found) is kind
    assert (found.detail, found.members, found.reply) == ("what is wrong", {"key": "k", "seqs": [1, 2]}, None)


def test_a_rejection_keeps_its_structs_and_the_context_of_its_reply() -> None:
    reply = Reply(
        seq=4,
        head=5,
        standing=ACTIVE,
        notices=[Notice(seq=2, about="agent:b", what="compacted", detail="b was compacted")],
        signals=[RaisedSignal(name="revision-break", agent="a", effect="flag", seq=4)],
        guarantee=INTACT,
    )
    members: dict[str, Any] = {
        "rules": [Violation(code="basis-moved", key="k", evidence={"moved": [3]})],
        "evidence": {"moved": [3]},
        "remedy": Remedy(detail="read", keys=["k"], more=2),
    }
    found = restore(document(errors.BasisMoved("moved", members=members, reply=reply)))
    assert isinstance(found, errors.BasisMoved)
    assert found.rules == tuple(members["rules"])
    assert (found.evidence, found.remedy, found.reply) == (members["evidence"], members["remedy"], reply)
    assert (found.seq, found.head, found.notices, found.signals) == (
        4,
        5,
        tuple(reply.notices),
        tuple(reply.signals),
    )


def test_what_comes_back_shares_nothing_with_what_was_raised() -> None:
    evidence = {"moved": [3]}
    found = restore(document(errors.BasisMoved("moved", members={"evidence": evidence})))
    evidence["moved"].append(4)
    assert found.members["evidence"] == {"moved": [3]}


def test_a_head_without_its_notices_is_a_member_and_no_context() -> None:
    found = restore(document(errors.BeyondHead("beyond", members={"head": 33, "limit": 33})))
    assert (found.members, found.reply, found.head) == ({"head": 33, "limit": 33}, None, None)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.Unauthenticated),
        (403, errors.NotAllowed),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.TooLarge),
        (400, errors.Malformed),
        (422, errors.Malformed),
        (429, errors.RateLimited),
        (500, errors.Unavailable),
        (503, errors.Unavailable),
        (599, errors.Unavailable),
    ],
)
def test_an_unknown_code_is_typed_by_its_status(status: int, kind: type[errors.BlackboardError]) -> None:
    told = {"type": "x", "title": "x", "status": status, "code": "of-a-later-release", "detail": "d"}
    assert type(restore(json.dumps(told).encode())) is kind
    assert type(refusal(status)) is kind


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"<html>", b'{"code": 1, "detail": "d", "status": 400}'])
def test_any_other_text_is_no_problem_document(text: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        restore(text)


def test_a_bare_status_is_still_an_error() -> None:
    assert type(refusal(302)) is errors.Malformed
    assert "302" in refusal(302).detail
