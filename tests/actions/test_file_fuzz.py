"""Files that were changed at random: what is malformed is an ERROR at its place, and nothing ever escapes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from blackboard.canonical import pointer
from blackboard.gate.actions.examine import Options, examine
from blackboard.gate.actions.report import Judged, Section, document, report

Path = tuple[str | int, ...]

DIGEST = "ab" * 32
FILE: dict[str, Any] = {
    "name": "a case",
    "records": [
        {
            "id": "p1",
            "seq": 3,
            "version": 1,
            "kind": "policy",
            "scope": ["pay.*", "notes.append"],
            "predicate": {
                "all": [
                    {"field": "amount", "op": "gt", "value": 5000},
                    {"any": [{"not": {"field": "tier", "op": "prefix", "value": "go"}}]},
                    {"field": "amount", "op": "exists", "value": True, "source": "param"},
                ]
            },
            "effect": "require_approval",
            "expires_seq": 99,
            "text": "a rule",
        },
        {
            "id": "p2",
            "seq": 4,
            "kind": "policy",
            "scope": "pay.refund",
            "predicate": {
                "field": "task/B",
                "op": "in",
                "value": ["a", None],
                "source": "ledger",
                "at": "/s",
            },
            "effect": "allow",
        },
        {"id": "f1", "seq": 5, "kind": "fact", "field": "tier", "value": {"free": [1]}},
        {"id": "f2", "seq": 6, "kind": "fact", "field": "tier", "retracted": True, "supersedes": "f1"},
        {
            "id": "a1",
            "seq": 7,
            "kind": "approval",
            "policy": "p1",
            "action_digest": DIGEST,
            "granted": True,
            "approver": "operator:ops",
        },
        {"id": "s1", "seq": 8, "kind": "summary", "blob": {"free": 1}},
        {"id": "c1", "seq": 9, "kind": "chatter", "text": "a note"},
    ],
    "kept": ["p1", "f1"],
    "delivered": ["p1", "f1", "f2", "a1", "s1", "c1"],
    "tools": ["pay.refund"],
    "k": 2,
    "agent": "agent:ann",
    "action": {"tool": "pay.refund", "params": {"amount": {"free": [1]}}},
}
FREE = ("value", "blob", "amount")
"""Members that hold any JSON value; a predicate's `value` is none of them (see `_is_free`)."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place of a file where not just anything may stand."""
    yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        if not (key in FREE and _is_free(value)):
            yield from places(member, (*path, key))


def _is_free(parent: Any) -> bool:
    return isinstance(parent, dict) and "op" not in parent


def at(root: Any, path: Path) -> Any:
    for key in path:
        root = root[key]
    return root


def answer(content: Any, options: Options = Options()) -> Section:  # noqa: B008 - a tuple
    (section,) = examine(json.dumps(content).encode(), options)
    return section


def member_at_fault(section: Section) -> str:
    assert (section.verdict, section.exit) == ("ERROR", 2)
    assert section.error is not None
    assert section.error.member is not None
    return section.error.member


PLACES = list(places(FILE))
OBJECTS = [path for path in PLACES if isinstance(at(FILE, path), dict)]
KNOWN = [path for path in OBJECTS if path not in ((), ("action", "params"), ("records", 5))]
OPTIONAL = {
    "version",
    "expires_seq",
    "text",
    "supersedes",
    "source",
    "at",
    "name",
    "delivered",
    "tools",
    "k",
    "agent",
    "params",
}
REQUIRED = [
    (*path, key)
    for path in OBJECTS
    for key in at(FILE, path)
    if key not in OPTIONAL and (*path, key) in PLACES
]


def test_the_file_itself_is_judged() -> None:
    assert answer(FILE).verdict == "BLOCK"
    assert answer(FILE, Options(precheck=True)).verdict == "BLOCK"


@given(path=st.sampled_from(PLACES))
def test_what_can_stand_nowhere_is_an_error_at_its_place(path: Path) -> None:
    content = {"root": copy.deepcopy(FILE)}
    *parents, last = ("root", *path)
    at(content, tuple(parents))[last] = [[None]]
    assert member_at_fault(answer(content["root"])).startswith(pointer(path))


@given(path=st.sampled_from(KNOWN), name=st.sampled_from(["typo", "Field", "predicate ", "é"]))
def test_a_member_that_nothing_knows_is_an_error_at_its_place(path: Path, name: str) -> None:
    content = copy.deepcopy(FILE)
    at(content, path)[name] = 1
    assert member_at_fault(answer(content)) == pointer((*path, name))


@given(path=st.sampled_from(REQUIRED))
def test_a_member_that_is_missing_is_an_error_at_its_place(path: Path) -> None:
    content = copy.deepcopy(FILE)
    del at(content, path[:-1])[path[-1]]
    assert member_at_fault(answer(content)).startswith(pointer(path[:-1]))


SCRAPS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["p1", "f1", "pay.*", "*", "gt", "policy", "9" * 200]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300)
@given(path=st.sampled_from(PLACES), scrap=SCRAPS, precheck=st.booleans())
def test_whatever_stands_in_a_file_is_answered(path: Path, scrap: Any, precheck: bool) -> None:
    content = {"root": copy.deepcopy(FILE)}
    *parents, last = ("root", *path)
    at(content, tuple(parents))[last] = scrap
    answered(json.dumps(content["root"]).encode(), precheck=precheck)


RAW = json.dumps(FILE).encode()


@settings(max_examples=300)
@given(start=st.integers(0, len(RAW)), length=st.integers(0, 40), put=st.binary(max_size=8))
def test_whatever_bytes_a_file_has_it_is_answered(start: int, length: int, put: bytes) -> None:
    raw = RAW[:start] + put + RAW[start + length :]
    (section,) = answered(raw)
    if not is_json(raw):
        assert section.verdict == "ERROR"


def answered(raw: bytes, *, precheck: bool = False) -> list[Section]:
    """The answer to a file, which is one, and the same twice; a report of it can be made."""
    options = Options(precheck=precheck)
    sections = examine(raw, options)
    for section in sections:
        assert section.exit == {"PASS": 0, "BLOCK": 1, "ERROR": 2}[section.verdict]
        assert (section.error is None) is (section.verdict != "ERROR")
    judged = [Judged("f", sections)]
    assert report(judged) == report([Judged("f", examine(raw, options))])
    json.loads(document(judged))
    return sections


def is_json(raw: bytes) -> bool:
    try:
        json.loads(raw.decode())
    except ValueError:
        return False
    return True
