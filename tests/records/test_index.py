"""The index and the holding: what is newest, what is dead, what is held, and which tools are touched."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.errors import Malformed
from blackboard.records import Holding, Records, read_record

DIGEST = "0f" * 32


def policy(identity: str, seq: int, field: str = "amount", **members: Any) -> dict[str, Any]:
    predicate = {"field": field, "op": "gt", "value": 5}
    return {
        "id": identity,
        "seq": seq,
        "kind": "policy",
        "scope": "refunds.create",
        "predicate": predicate,
        "effect": "deny",
    } | members


def fact(identity: str, seq: int, field: str = "tier", **members: Any) -> dict[str, Any]:
    return {"id": identity, "seq": seq, "kind": "fact", "field": field, "value": seq} | members


def chatter(identity: str, seq: int) -> dict[str, Any]:
    return {"id": identity, "seq": seq, "kind": "chatter"}


def summary(identity: str, seq: int) -> dict[str, Any]:
    return {"id": identity, "seq": seq, "kind": "summary"}


def approval(identity: str, seq: int, of: str) -> dict[str, Any]:
    return {
        "id": identity,
        "seq": seq,
        "kind": "approval",
        "policy": of,
        "action_digest": DIGEST,
        "granted": True,
        "approver": "kim",
    }


def index(*written: dict[str, Any]) -> Records:
    records = Records()
    for record in map(read_record, written):
        records.check(record)
        records.add(record)
    return records


def test_policies_of_equal_content_are_copies_of_one_rule() -> None:
    same: dict[str, Any] = {
        "predicate": {"value": 5, "op": "gt", "field": "amount"},
        "scope": ["refunds.create"],
    }
    other: dict[str, Any] = {"predicate": {"field": "amount", "op": "eq", "value": True}}
    number: dict[str, Any] = {"predicate": {"field": "amount", "op": "eq", "value": 1}}
    records = index(policy("a", 1), policy("b", 2, **same), policy("c", 3, **other), policy("d", 4, **number))
    assert [rule.copies for rule in records.rules()] == [[0, 1], [2], [3]]
    assert records.rules_for("refunds.create") == records.rules()
    assert records.rules_for("refunds") == []
    assert records.rules()[0].restrictive


def test_a_rule_found_by_two_patterns_is_found_once() -> None:
    records = index(policy("a", 1, scope=["*", "refunds.*", "refunds.create"], effect="allow"))
    (rule,) = records.rules_for("refunds.create")
    assert not rule.restrictive


def test_records_are_found_by_id_and_facts_by_field() -> None:
    records = index(fact("f", 1), fact("g", 4, supersedes="f"), fact("h", 6, field="owner"))
    assert len(records) == 3
    assert (records.position("g"), records.position("x")) == (1, None)
    assert records.get("x") is None
    assert records.newest_fact("tier") == 1
    assert records.newest_fact("unheard") is None
    assert (records.superseder(0), records.superseder(1)) == (1, None)


def test_approvals_are_found_by_policy_and_digest() -> None:
    records = index(policy("p", 1), approval("a", 2, "p"), approval("b", 3, "p"), approval("c", 4, "q"))
    assert records.approvals("p") == {DIGEST: [1, 2]}
    assert records.approvals("unheard") == {}


def test_the_next_expiry_of_approvals_is_found_whatever_their_order() -> None:
    records = index(
        policy("p", 1),
        approval("a", 2, "p") | {"expires_seq": 30},
        approval("b", 3, "p"),
        approval("c", 4, "p") | {"expires_seq": 10},
        approval("d", 5, "q") | {"expires_seq": 20},
    )
    expiries = [records.next_approval_expiry("p", head) for head in (5, 9, 10, 29, 30)]
    assert expiries == [10, 10, 30, 30, None]
    assert records.next_approval_expiry("unheard", 5) is None


@pytest.mark.parametrize(
    ("record", "place", "said"),
    [
        (chatter("z", 3), "/seq", "not above 3"),
        (chatter("f", 9), "/id", "taken by the record at seq 1"),
        (fact("z", 9, supersedes="nobody"), "/supersedes", "no older record"),
        (fact("z", 9, supersedes="z"), "/supersedes", "no older record"),
        (fact("z", 9, supersedes="p"), "/supersedes", "is a policy, not a fact"),
        (fact("z", 9, field="owner", supersedes="g"), "/supersedes", "another field"),
        (fact("z", 9, supersedes="f"), "/supersedes", "superseded already, by 'g'"),
    ],
)
def test_what_ties_records_together_is_checked(record: dict[str, Any], place: str, said: str) -> None:
    records = index(fact("f", 1), fact("g", 2, supersedes="f"), policy("p", 3))
    with pytest.raises(Malformed, match=said) as refused:
        records.check(read_record(record), ("records", 3))
    assert refused.value.member == "/records/3" + place


def test_a_clock_moves_with_what_can_matter_to_a_tool_and_with_nothing_else() -> None:
    ledger: dict[str, Any] = {"predicate": {"field": "task/B", "op": "eq", "value": 1, "source": "ledger"}}
    param: dict[str, Any] = {"predicate": {"field": "size", "op": "eq", "value": 1, "source": "param"}}
    steps: list[tuple[dict[str, Any], int]] = [
        (chatter("c", 1), 0),
        (policy("p", 2, field="tier"), 2),
        (policy("q", 3, scope="notes.*"), 2),
        (fact("f", 4), 4),
        (fact("g", 5, field="unread"), 4),
        (fact("h", 6, field="size"), 4),
        (approval("a", 7, "p"), 7),
        (approval("b", 8, "q"), 7),
        (approval("n", 9, "nobody"), 7),
        (policy("r", 10, scope=["notes.*"], supersedes="p"), 10),
        (policy("s", 11, **ledger), 11),
        (policy("t", 12, scope="notes.*", **param), 11),
        ({"id": "u", "seq": 13, "kind": "summary"}, 13),
        (approval("w", 14, "p") | {"supersedes": "a"}, 14),
        (approval("x", 15, "q") | {"supersedes": "w"}, 15),
        (approval("y", 16, "p") | {"supersedes": "b"}, 16),
        (approval("z", 17, "q") | {"supersedes": "x"}, 16),
        (approval("aa", 18, "q") | {"supersedes": "n"}, 16),
    ]
    records = Records()
    for written, clock in steps:
        records.add(read_record(written))
        assert records.clock("refunds.create") == clock, written
    records.touch_key("task/A", 20)
    assert records.clock("refunds.create") == 16
    records.touch_key("task/B", 21)
    assert records.clock("refunds.create") == 21
    assert records.clock("mail.send") == 13
    assert set(records.ledger_keys) == {"task/B"}
    assert records.unevaluable == [12]


def test_of_the_policies_that_read_a_key_one_in_force_is_found() -> None:
    def reading(identity: str, seq: int, **members: Any) -> dict[str, Any]:
        one = {"field": "k", "op": "eq", "value": 1, "source": "ledger"}
        return policy(identity, seq, predicate={"all": [one, one]}) | members

    records = index(
        policy("other", 1, field="k"),
        policy("param", 2, predicate={"field": "k", "op": "eq", "value": 1, "source": "param"}),
    )
    assert records.key_reader("k", 2) is None
    steps: list[tuple[dict[str, Any], str | None]] = [
        (reading("soon", 3, expires_seq=50), "soon"),
        (reading("late", 4, expires_seq=90), "late"),
        (reading("lasting", 5, scope="x"), "lasting"),
        (reading("again", 6), "again"),
        (policy("ends again", 7, supersedes="again"), "lasting"),
        (policy("ends lasting", 8, supersedes="lasting"), "late"),
        (policy("ends late", 9, supersedes="late"), "soon"),
    ]
    for written, named in steps:
        at = records.add(read_record(written))
        found = records.key_reader("k", written["seq"])
        assert (None if found is None else records.items[found].id) == named, at
    assert records.key_reader("k", 49) is not None
    assert records.key_reader("k", 50) is None
    records.add(read_record(policy("ends soon", 60, supersedes="soon")))
    assert records.key_reader("k", 10) is None
    assert records.key_reader("unheard", 10) is None


def test_a_compaction_takes_what_came_before_its_base_except_what_is_kept() -> None:
    records = index(fact("f", 1), fact("g", 2), policy("p", 3), chatter("c", 4), chatter("d", 5))
    holding = Holding()
    for at in (0, 1, 2, 3):
        holding.deliver(at, 10 + at, records)
    assert (holding.count, holding.chatter, holding.chatter_delivered) == (4, 1, 1)
    assert holding.newest_fact("tier") == 1
    holding.compact(12, [0, 4], records)
    assert list(holding.held()) == [0, 3]
    assert (holding.count, holding.chatter) == (2, 1)
    assert holding.newest_fact("tier") == 0
    assert (holding.delivered(1), holding.delivered(4), holding.delivered(99)) == (11, 0, 0)
    holding.deliver(1, 20, records)
    assert holding.newest_fact("tier") == 1
    holding.deliver(1, 21, records)
    assert holding.count == 3


def test_a_second_compaction_cannot_launder_the_first() -> None:
    records = index(fact("f", 1), fact("g", 2))
    holding = Holding()
    holding.deliver(0, 10, records)
    holding.deliver(1, 11, records)
    holding.compact(12, [0], records)
    holding.compact(13, [0, 1], records)
    assert list(holding.held()) == [0]
    holding.compact(9, [], records)
    assert list(holding.held()) == [0]
    holding.compact(10, [], records)
    assert list(holding.held()) == []
    assert holding.newest_fact("tier") is None


def test_the_holding_of_a_file_is_what_was_kept_of_what_was_delivered() -> None:
    records = index(fact("f", 1), fact("g", 2), chatter("c", 3))
    assert list(Holding.of(records, [0, 2]).held()) == [0, 2]
    partial = Holding.of(records, [0], delivered=[0, 2])
    assert (partial.holds(0), partial.holds(2)) == (True, False)
    assert (partial.delivered(2), partial.delivered(1)) == (1, 0)
    assert (partial.chatter_delivered, partial.chatter, partial.count) == (1, 0, 1)


STEPS = st.lists(
    st.tuples(st.just("deliver"), st.integers(0, 4))
    | st.tuples(st.just("compact"), st.tuples(st.integers(0, 30), st.sets(st.integers(0, 4)))),
    max_size=25,
)


@given(STEPS)
def test_a_holding_equals_the_plain_sets_that_it_stands_for(steps: list[tuple[str, Any]]) -> None:
    records = index(fact("f", 1), summary("g", 2), summary("p", 3), chatter("c", 4), summary("h", 5))
    holding, model, ever = Holding(), dict[int, int](), set[int]()
    for seq, (what, how) in enumerate(steps, start=6):
        if what == "deliver":
            holding.deliver(how, seq, records)
            model[how] = seq
            ever.add(how)
        else:
            base, kept = min(how[0], seq - 1), how[1]
            holding.compact(base, kept, records)
            model = {at: since for at, since in model.items() if since > base or at in kept}
        assert list(holding.held()) == sorted(model)
        assert (holding.count, holding.chatter) == (len(model), 3 in model)
        assert holding.newest_fact("tier") == (0 if 0 in model else None)
        assert holding.unevaluable == sorted({1, 2, 4} & model.keys())
        assert holding.unevaluable_dropped == sorted(({1, 2, 4} & ever) - model.keys())
    again = Holding()
    again.restore(records, holding.deliveries(), base=holding.base, survivors=holding.survivors)
    assert list(again.held()) == list(holding.held())
    assert again.newest_fact("tier") == holding.newest_fact("tier")
    assert again.unevaluable == holding.unevaluable
    assert again.unevaluable_dropped == holding.unevaluable_dropped
    assert again.chatter_delivered == holding.chatter_delivered
    assert list(again.dropped()) == list(holding.dropped())
    assert again.bits() == holding.bits() == sum(1 << at for at in model).to_bytes(1, "little").rstrip(b"\0")
    again.deliver(4, 99, records)
    holding.deliver(4, 99, records)
    again.compact(50, [0], records)
    holding.compact(50, [0], records)
    assert (list(again.held()), again.deliveries()) == (list(holding.held()), holding.deliveries())
