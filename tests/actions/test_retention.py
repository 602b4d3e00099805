"""What a compaction keeps, and the fingerprint of it."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import normal
from blackboard.errors import Malformed
from blackboard.gate.actions.file import FileCase, read_file
from blackboard.gate.actions.retention import Compaction, compact, fingerprint
from blackboard.records import read_record, record_json

SIZES = st.integers(0, 40)


def thread(count: int, **members: Any) -> FileCase:
    """A file of so many records of chatter, c1, c2, ..."""
    records = [{"id": f"c{seq}", "seq": seq, "kind": "chatter"} for seq in range(1, count + 1)]
    raw = json.dumps({"records": records, "kept": [], **members}).encode()
    return read_file(raw, actions=False)


def kept(case: FileCase, compaction: Compaction) -> list[str]:
    return [case.records.items[at].id for at in sorted(compaction.kept)]


def test_given_keeps_what_the_file_names_whatever_k_is() -> None:
    case = thread(5, kept=["c4", "c1"], k=1)
    compaction = compact(case, "given", 2)
    assert kept(case, compaction) == ["c1", "c4"]
    assert (compaction.records, compaction.dropped, compaction.unseen, compaction.k) == (5, 3, 0, None)


def test_given_needs_the_kept_ids() -> None:
    case = thread(3)._replace(kept=None)
    with pytest.raises(Malformed, match="/kept: is required"):
        compact(case)
    assert kept(case, compact(case, "recency", 1)) == ["c2", "c3"]


def test_head_tail_keeps_the_first_and_the_last_k() -> None:
    case = thread(10)
    assert kept(case, compact(case, "head_tail", 2)) == ["c1", "c2", "c9", "c10"]
    assert kept(case, compact(case, "head_tail", 0)) == []


def test_recency_keeps_the_last_2k() -> None:
    case = thread(10)
    assert kept(case, compact(case, "recency", 2)) == ["c7", "c8", "c9", "c10"]
    assert kept(case, compact(case, "recency", 0)) == []


def test_k_is_the_callers_else_the_files_else_8() -> None:
    assert compact(thread(9, k=3), "recency", 1).k == 1
    assert compact(thread(9, k=3), "recency").k == 3
    assert compact(thread(9), "recency").k == 8
    assert compact(thread(9, k=3), "recency", 0).k == 0


@given(count=SIZES, k=SIZES)
def test_both_schemes_keep_as_many_and_never_more_than_2k(count: int, k: int) -> None:
    case = thread(count)
    sizes = {len(compact(case, "head_tail", k).kept), len(compact(case, "recency", k).kept)}
    assert sizes == {min(count, 2 * k)}


@given(count=SIZES, k=SIZES)
def test_the_last_k_alone_would_never_keep_what_head_tail_drops(count: int, k: int) -> None:
    """Why `recency` is the last 2k: the published table has a record that it alone keeps."""
    last_k = set(range(max(0, count - k), count))
    assert last_k <= compact(thread(count), "head_tail", k).kept


def test_a_scheme_keeps_only_what_was_delivered() -> None:
    case = thread(6, delivered=["c1", "c2", "c3", "c5"])
    compaction = compact(case, "recency", 1)
    assert kept(case, compaction) == ["c3", "c5"]
    assert (compaction.dropped, compaction.unseen) == (2, 2)


RECORDS: list[dict[str, Any]] = [
    {"id": "c1", "seq": 1, "kind": "chatter", "text": 'a "quoted" \\ note\n'},
    {"id": "c2", "seq": 2, "kind": "chatter"},
    {"id": "f1", "seq": 3, "kind": "fact", "field": "rate", "value": 5000},
    {"id": "é", "seq": 4, "kind": "fact", "field": "rate", "retracted": True, "supersedes": "f1"},
    {
        "id": "p1",
        "seq": 5,
        "kind": "policy",
        "scope": "a.b",
        "effect": "deny",
        "predicate": {"field": "x", "op": "gt", "value": 1},
    },
    {"id": "s1", "seq": 6, "kind": "summary", "blob": [1, {"b": 2, "a": 1}]},
]


def printed(records: list[dict[str, Any]]) -> str:
    raw = json.dumps({"records": records, "kept": [record["id"] for record in records]})
    case = read_file(raw.encode(), actions=False)
    return fingerprint(case.records, range(len(case.records)))


@given(order=st.permutations(RECORDS))
def test_a_fingerprint_does_not_depend_on_the_order_of_records_or_members(
    order: list[dict[str, Any]],
) -> None:
    assert printed([dict(reversed(record.items())) for record in order]) == printed(RECORDS)


def test_a_fingerprint_does_not_depend_on_how_a_record_is_spelled() -> None:
    spelled = [dict(record) for record in RECORDS]
    spelled[0]["version"] = 1
    spelled[2]["value"] = 5e3
    spelled[4]["scope"] = ["a.b", "a.b"]
    assert printed(spelled) == printed(RECORDS)


CHANGES: list[tuple[int, dict[str, Any]]] = [
    (0, {"id": "c9"}),
    (0, {"text": "another note"}),
    (1, {"text": ""}),
    (2, {"value": 5001}),
    (2, {"seq": 0}),
    (3, {"text": "why"}),
    (4, {"effect": "allow"}),
    (5, {"version": 2}),
]


@pytest.mark.parametrize(("at", "change"), CHANGES)
def test_a_fingerprint_changes_with_every_member_of_every_record(at: int, change: dict[str, Any]) -> None:
    changed = [dict(record) for record in RECORDS]
    changed[at] |= change
    assert printed(changed) != printed(RECORDS)


def test_a_fingerprint_tells_sets_apart() -> None:
    assert len({printed(RECORDS[:size]) for size in range(len(RECORDS) + 1)}) == len(RECORDS) + 1


@given(text=st.text(), name=st.sampled_from(["c1", 'a "b" \\', "\u00e9/\U0001f600"]))
def test_a_fingerprint_is_the_digest_of_ids_and_record_digests_sorted_by_id(text: str, name: str) -> None:
    """Chatter has a way of its own to its digest, for speed: both must come to the same bytes."""
    records = [*RECORDS[1:], {"id": name, "seq": 7, "kind": "chatter", "text": text}]
    pairs = sorted([record["id"], digest(normal(record_json(read_record(record))))] for record in records)
    assert printed(records) == digest(normal(pairs))[:12]


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


APPROVAL = {
    "id": "yes",
    "seq": 8,
    "kind": "approval",
    "policy": "p",
    "action_digest": "0f" * 32,
    "granted": True,
    "approver": "kim",
}


def test_an_approval_of_version_1_has_the_fingerprint_that_it_always_had() -> None:
    """The record kind has a second version since: what was written before must not look changed."""
    pairs = [["yes", digest(normal(APPROVAL))]]
    assert printed([APPROVAL]) == digest(normal(pairs))[:12] == "de0832f70e94"
    assert printed([APPROVAL | {"version": 2}]) == printed([APPROVAL])
    assert printed([APPROVAL | {"version": 2, "text": "paid twice"}]) != printed([APPROVAL])
