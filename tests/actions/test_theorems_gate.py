"""The theorems of the action gate that a single verdict can show, and the claims about it that are false."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.gate.actions.action import Action
from blackboard.gate.actions.compiling import compile_tool
from blackboard.gate.actions.judging import Verdict, judge
from tests.actions.gating import codes, equals, fact, gate, judged, notes, over, policy, real
from tests.actions.oracle import rules_for
from tests.actions.truths import TRUE, UNKNOWN, Record
from tests.actions.vocabulary import FIELDS, VALUES
from tests.actions.worlds import World, params, worlds

Said = tuple[str, list[tuple[str, str]], str, list[str], list[tuple[str, str]]]


def said(verdict: Verdict) -> Said:
    """All that a verdict says of rules and of records that nobody can evaluate."""
    policy = verdict.policy
    return verdict.word, codes(verdict), policy.answer, policy.rules, notes(verdict)


def spread(world: World) -> World:
    """The same world with room between its seqs."""
    wider = [
        record | {name: record[name] * 10 for name in ("seq", "expires_seq") if name in record}
        for record in world.records
    ]
    return replace(world, records=wider, head=world.head * 10 + 9)


def with_more(world: World, more: list[Record], held: list[bool], places: list[int]) -> World:
    """The world with more records, each of them held or not, right behind some of those it has."""
    seqs = sorted(record["seq"] for record in world.records)
    taken = set(seqs)
    added = []
    for record, place in zip(more, places, strict=True):
        seq = next(at for at in range(seqs[place % len(seqs)] + 1, 10**9) if at not in taken)
        taken.add(seq)
        added.append(record | {"seq": seq})
    ids = [record["id"] for record, is_held in zip(added, held, strict=True) if is_held]
    return replace(
        world,
        records=[*world.records, *added],
        held=(*world.held, *ids),
        delivered=None if world.delivered is None else (*world.delivered, *ids),
        head=max(world.head, *taken),
    )


def some_of(draw: st.DrawFn, make: Any) -> tuple[list[Record], list[bool], list[int]]:
    count = draw(st.integers(1, 4))
    records = [{"id": f"more{at}", **make(at)} for at in range(count)]
    held = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    places = draw(st.lists(st.integers(0, 99), min_size=count, max_size=count))
    return records, held, places


# ---- T0, T6, T7, T9


@given(worlds())
def test_t0_where_nothing_is_missing_everything_passes(world: World) -> None:
    whole = replace(
        world,
        held=tuple(record["id"] for record in world.records),
        delivered=None,
        ledger_held=world.ledger_full,
    )
    assert judged(whole).word == "PASS"


@given(worlds(), st.data())
def test_t6_chatter_is_irrelevant(world: World, data: st.DataObject) -> None:
    chatter = data.draw(st.composite(some_of)(lambda _at: {"kind": "chatter", "text": "well"}))
    before = spread(world)
    assert said(judged(with_more(before, *chatter))) == said(judged(before))


@given(worlds(), st.randoms(use_true_random=False))
def test_t7_the_order_of_the_input_is_irrelevant(world: World, rng: Any) -> None:
    def shuffled(items: Any) -> Any:
        return rng.sample(items, len(items))

    other = replace(
        world,
        records=[dict(shuffled(list(record.items()))) for record in shuffled(world.records)],
        held=tuple(shuffled(world.held)),
        delivered=None if world.delivered is None else tuple(shuffled(world.delivered)),
        params=dict(shuffled(list(world.params.items()))),
    )
    assert judged(other).reasons == judged(world).reasons
    assert judged(other).notes() == judged(world).notes()
    assert judged(other).policy == judged(world).policy


@given(worlds())
def test_t9_to_drop_facts_whose_newest_is_held_changes_nothing(world: World) -> None:
    newest = {record["field"]: record["id"] for record in by_seq(world) if is_fact(record)}
    idle = {
        record["id"]
        for record in world.records
        if is_fact(record) and newest[record["field"]] in world.held and record["id"] not in newest.values()
    }
    dropped = replace(world, held=tuple(name for name in world.held if name not in idle))
    assert said(judged(dropped)) == said(judged(world))


def by_seq(world: World) -> list[Record]:
    return sorted(world.records, key=lambda record: record["seq"])


def is_fact(record: Record) -> bool:
    return record["kind"] == "fact" and record.get("version", 1) == 1


# ---- T11, T13, T14


@given(worlds())
def test_t11_to_allow_the_unevaluable_removes_only_its_reason(world: World) -> None:
    strict, blind = judged(world), judged(world, allow_unevaluable=True)
    code = "dropped-unevaluable-record"
    assert blind.reasons == [reason for reason in strict.reasons if reason.code != code]
    assert blind.policy == strict.policy
    loud = [note for note in blind.notes() if note.code == code]
    assert [note for note in blind.notes() if note not in loud] == strict.notes()
    dropped = [reason.id for reason in strict.reasons if reason.code == code]
    assert len(loud) == bool(dropped)
    assert all(f"'{name}'" in note.detail for note in loud for name in dropped)
    assert [note.id for note in loud if len(dropped) == 1] == dropped[:1] * (len(dropped) == 1)


@given(worlds(), st.data())
def test_why_an_approval_was_given_changes_no_verdict(world: World, data: st.DataObject) -> None:
    """Nor its version: words are for people."""
    second = {"version": 2}
    why: st.SearchStrategy[Record] = st.sampled_from([{}, second, second | {"text": "no"}])

    def retold(record: Record) -> Record:
        if record["kind"] != "approval":
            return record
        bare = {name: member for name, member in record.items() if name not in ("version", "text")}
        return bare | data.draw(why)

    other = replace(world, records=[retold(record) for record in world.records])
    assert said(judged(other)) == said(judged(world))
    assert [reason.missing for reason in judged(other).reasons] == [
        reason.missing for reason in judged(world).reasons
    ]


@given(worlds(), st.data())
def test_t13_facts_that_no_rule_reads_are_irrelevant(world: World, data: st.DataObject) -> None:
    facts = data.draw(
        st.composite(some_of)(lambda at: {"kind": "fact", "field": f"unread{at % 2}", "value": at})
    )
    before = spread(world)
    assert said(judged(with_more(before, *facts))) == said(judged(before))


@given(worlds(), st.data())
def test_t14_rules_for_other_tools_are_irrelevant(world: World, data: st.DataObject) -> None:
    def other(at: int) -> Record:
        read = {"field": FIELDS[at % len(FIELDS)], "op": "exists", "value": True}
        effect = ("deny", "allow", "require_approval")[at % 3]
        return {"kind": "policy", "scope": ["else.where", "else.*"], "predicate": read, "effect": effect}

    rules = data.draw(st.composite(some_of)(other))
    before = spread(world)
    assert said(judged(with_more(before, *rules))) == said(judged(before))


@given(worlds(), params(), st.integers(0, 30))
def test_a_compiled_tool_says_the_same_until_it_expires(
    world: World, other: dict[str, Any], later: int
) -> None:
    made = compile_tool(real(world), world.tool)
    head = world.head + later
    if made.valid_until is None or head < made.valid_until:
        then = judged(replace(world, head=head, params=other))
        now = judge(made, Action(world.tool, other))
        assert said(now) == said(then)
        assert now.reasons == then.reasons


# ---- T16

READINGS = {"cautious": UNKNOWN, "reckless": TRUE}
"""From which truth on a reader takes a restriction for one that binds."""

DENY, ASK, GO = 0, 1, 2
READERS = list(product(READINGS.values(), (DENY, GO)))
"""Cautious and reckless ones, each where nothing says anything deny and where they go ahead."""

Truths = list[tuple[str, int]]


def decision(truths: Truths, binds_from: int, default: int) -> int:
    """What a reader does of whom these effects and truths are all; the greater, the more permissive."""
    binding = {effect for effect, truth in truths if truth >= binds_from}
    if "deny" in binding or (default == DENY and ("allow", TRUE) not in truths):
        return DENY
    return ASK if "require_approval" in binding else GO


def sides(world: World, rules: list[list[Record]]) -> tuple[Truths, Truths]:
    """Effects and truths of the rules on the full log, and on the view."""
    case = world.case()
    full, held = (
        [(rule[0]["effect"], view.truth(rule, world.params, case.digest)) for rule in rules]
        for view in (case.full, case.held)
    )
    return full, held


@given(worlds())
def test_t16_pass_means_that_the_decision_on_the_view_refines_that_on_the_full_log(world: World) -> None:
    if judged(world).word == "PASS":
        full, held = sides(world, rules_for(world.records, world.tool))
        for reader in READERS:
            assert decision(held, *reader) <= decision(full, *reader)


@given(worlds())
def test_t16_a_rule_blocks_only_where_it_makes_some_reader_too_permissive(world: World) -> None:
    blocking = {reason.id for reason in judged(world).reasons}
    for rule in rules_for(world.records, world.tool):
        full, held = sides(world, [rule])
        looser = any(decision(held, *reader) > decision(full, *reader) for reader in READERS)
        assert looser is any(record["id"] in blocking for record in rule)


# ---- T18


@given(worlds())
def test_t18_unseen_and_dropped_give_the_same_findings(world: World) -> None:
    """Records of unknown kinds apart: what was never delivered of them blocks nothing."""
    dropped = judged(replace(world, delivered=None, ledger_delivered=None), allow_unevaluable=True)
    unseen = judged(replace(world, delivered=world.held, ledger_delivered=()), allow_unevaluable=True)

    def findings(verdict: Verdict) -> Any:
        return verdict.word, [(code.split("-", 1)[1], name) for code, name in codes(verdict)]

    assert findings(unseen) == findings(dropped)
    assert unseen.policy == dropped.policy
    assert all(code.startswith("unseen-") for code, _ in codes(unseen))
    assert all(code.startswith("dropped-") for code, _ in codes(dropped))


# ---- known to be false


def test_false_claim_to_hold_more_can_only_help() -> None:
    """An old value and the permission that reads it: to keep both is worse than to keep neither."""
    records = [
        fact("old", 1, "tier", "gold"),
        policy("a", 2, equals("gold"), "allow"),
        fact("new", 3, "tier", "standard", supersedes="old"),
    ]
    assert gate(records, []).word == "PASS"
    assert gate(records, ["a"]).word == "PASS"
    assert codes(gate(records, ["a", "old"])) == [("dropped-superseder-stale-permit", "a")]


def test_false_claim_to_hold_one_more_newest_fact_can_only_help() -> None:
    """Two stale values agree by luck; one of them made right, the rule comes out wrong."""
    records = [
        fact("a1", 1, "a", 0),
        fact("b1", 2, "b", 9),
        policy("p", 3, {"any": [over(5, "a", source="fact"), over(5, "b", source="fact")]}),
        fact("a2", 4, "a", 9, supersedes="a1"),
        fact("b2", 5, "b", 0, supersedes="b1"),
    ]
    assert gate(records, ["a1", "b1", "p"]).word == "PASS"
    assert codes(gate(records, ["a1", "b1", "p", "b2"])) == [("dropped-superseder-stale-kept", "p")]
    assert gate(records, ["a1", "b1", "p", "b2", "a2"]).word == "PASS"


@pytest.mark.parametrize("hold", [VALUES["ok"][0], None])
def test_false_claim_a_permission_without_its_input_licenses_nothing(hold: Any) -> None:
    """One that reads an absence does, once the fact that stands against it is dropped."""
    records = [
        fact("h", 1, "hold", hold),
        policy("a", 2, {"not": {"field": "hold", "op": "exists", "value": True}}, "allow"),
    ]
    assert gate(records, ["h", "a"]).word == "PASS"
    assert codes(gate(records, ["a"])) == [("dropped-input-kept-permit", "a")]
