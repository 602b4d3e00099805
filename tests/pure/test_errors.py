"""One tree of errors: what each is called over the wire, and what it carries."""

from __future__ import annotations

import re

import msgspec
import pytest

from blackboard import errors
from blackboard.errors import (
    ERRORS_BY_CODE,
    BlackboardError,
    Malformed,
    TooLarge,
    UnseenRevision,
    WriteRejected,
)
from blackboard.gate.writes import CODES
from blackboard.messages.problem import ProblemDocument
from blackboard.messages.replies import Guarantee, Notice, RaisedSignal, Reply, Standing

ALL = list(ERRORS_BY_CODE.values())


def test_codes_are_unique_and_every_class_has_its_own() -> None:
    def below(root: type[BlackboardError]) -> list[type[BlackboardError]]:
        return [root, *(found for child in root.__subclasses__() for found in below(child))]

    assert len(below(BlackboardError)) == len(ERRORS_BY_CODE)
    assert set(below(BlackboardError)) == set(ALL)


def test_the_drawing_of_the_tree_is_the_tree() -> None:
    drawn: dict[str, tuple[str, int, int]] = {}
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"[│├└─ ]*(\w+) +([a-z-]+) +(\d+) +(\d+)$", line)
        if found is not None:
            drawn[found[1]] = (found[2], int(found[3]), int(found[4]))
        elif (rule := re.match(r"[│├└─ ]+(\w+) +([a-z-]+)$", line)) is not None:
            drawn[rule[1]] = (rule[2], WriteRejected.status, WriteRejected.exit_code)
    expected = {
        kind.__name__: (kind.code, kind.status, kind.exit_code)
        for kind in ALL
        if kind not in (BlackboardError, WriteRejected)
    }
    assert drawn == expected


@pytest.mark.parametrize("code", CODES)
def test_every_rule_has_its_error(code: str) -> None:
    kind = ERRORS_BY_CODE[code]
    assert issubclass(kind, WriteRejected)
    assert (kind.status, kind.exit_code) == (409, 3)


def test_what_is_malformed_is_no_rejection() -> None:
    assert not issubclass(Malformed, WriteRejected)
    assert (Malformed.status, Malformed.exit_code, TooLarge.status) == (422, 2, 413)


def test_the_context_of_a_logged_attempt_can_be_read_from_the_error() -> None:
    reply = Reply(
        seq=3,
        head=4,
        standing=Standing(state="active"),
        notices=[Notice(seq=1, about="board", what="mode", detail="x")],
        signals=[RaisedSignal(name="s", agent="a", effect="flag")],
        guarantee=Guarantee(intact=True),
    )
    error = UnseenRevision("no", members={"rules": ["r"], "evidence": {"e": 1}, "remedy": "m"}, reply=reply)
    assert (error.seq, error.head, error.standing) == (3, 4, reply.standing)
    assert (error.notices, error.moved, error.signals) == (tuple(reply.notices), (), tuple(reply.signals))
    assert (error.guarantee, error.rules, error.evidence, error.remedy) == (
        reply.guarantee,
        ("r",),
        {"e": 1},
        "m",
    )


def test_an_error_without_context_has_none() -> None:
    error = WriteRejected("no")
    assert (error.seq, error.head, error.standing, error.guarantee) == (None, None, None, None)
    assert (error.notices, error.moved, error.signals, error.rules) == ((), (), (), ())
    assert (error.evidence, error.remedy, error.members) == (None, None, {})


def test_what_is_malformed_names_member_limit_and_value() -> None:
    error = Malformed("no", member="/k", limit=3, value="x" * 200, members={"more": 1})
    assert (error.member, error.limit) == ("/k", 3)
    assert error.members["more"] == 1
    assert len(error.members["value"]) == 80
    assert error.members["value"].endswith("…")
    assert Malformed("no", value=7).members == {"value": 7}
    assert Malformed("no", value=None).members == {}
    assert Malformed("no", value="ab").members == {"value": "'ab'"}


def test_a_problem_document_holds_what_the_error_says() -> None:
    error = errors.RevisionMissing("no", member="/writes/*/revision")
    sent = {
        "type": f"urn:blackboard:problem:{error.code}",
        "title": "Revision missing",
        "status": error.status,
        "code": error.code,
        "detail": error.detail,
        "member": error.member,
        "replayed": True,
    }
    document = msgspec.convert(sent, ProblemDocument)
    assert msgspec.to_builtins(document) == sent


def test_every_class_says_in_its_docstring_when_it_is_raised() -> None:
    for kind in ALL:
        assert kind.__doc__
        assert len(kind.__doc__.split()) >= 3
