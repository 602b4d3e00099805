"""The theorems of the certificate: it says what the gate says, for as long as it says that it does."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.canonical import normal
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.certificate import dangers
from blackboard.gate.actions.compiling import Compiled, compile_tool
from blackboard.gate.actions.formula import Formula, Seen, Told, dangerous, holds, stands
from blackboard.gate.actions.judging import Unseen, judge
from blackboard.gate.actions.portable import exact
from blackboard.gate.actions.precheck import Tool, precheck
from blackboard.gate.actions.residual import from_json
from blackboard.gate.actions.simplify import simplified
from blackboard.gate.actions.verifying import Certificate
from blackboard.records.atoms import ABSENT
from tests.actions import gating
from tests.actions.certifying import codes, issued, round_trip
from tests.actions.gating import real
from tests.actions.truths import Record
from tests.actions.vocabulary import FIELDS
from tests.actions.worlds import World, params, random_params, random_world, worlds

Params = dict[str, Any]


def same(
    compiled: Compiled, certificate: Certificate, calls: Iterable[Params], unseen: Unseen = "block"
) -> None:
    """Certificate and gate say the same of every one of the calls."""
    for call in calls:
        action = Action(compiled.tool, call)
        judged, checked = judge(compiled, action, unseen=unseen), certificate.check(action)
        assert (checked.verdict, codes(checked)) == (judged.word, gating.codes(judged))
        for told, reason in zip(checked.reasons, judged.reasons, strict=True):
            assert (told.full, told.held, told.missing) == (reason.full, reason.held, reason.missing)


# ---- T3


@given(worlds(), st.lists(params(), max_size=4), st.sampled_from(["block", "note"]))
def test_t3_a_certificate_says_what_the_gate_says_of_every_call(
    world: World, calls: list[Params], unseen: Unseen
) -> None:
    compiled = compile_tool(real(world), world.tool)
    certificate = round_trip(issued(compiled, unseen=unseen))
    # The world's own params first and last: what was screened once is remembered.
    same(compiled, certificate, [world.params, *calls, {}, world.params], unseen)


def test_t3_on_many_worlds_against_the_oracle() -> None:
    dice = random.Random(3)
    blocked = 0
    for _ in range(600):
        world = random_world(dice)
        certificate = round_trip(issued(compile_tool(real(world), world.tool)))
        for call in (world.params, random_params(dice)):
            checked = certificate.check(Action(world.tool, call))
            asked = replace(world, params=call).judge()
            assert (checked.verdict, codes(checked)) == (asked.verdict, asked.reasons)
            blocked += checked.verdict == "BLOCK"
    assert blocked > 200


# ---- what it leaves out, and what it says in words


@given(worlds(), st.lists(params(), max_size=4))
def test_a_certificate_without_rows_is_of_a_tool_that_a_precheck_passes(
    world: World, calls: list[Params]
) -> None:
    certificate = round_trip(issued(compile_tool(real(world), world.tool)))
    safe = certificate.words == "safe for every call"
    passed = precheck(real(world), [Tool(world.tool, None)]).verdict == "PASS"
    assert safe or not passed
    if safe:
        assert all(certificate.check(Action(world.tool, call)).verdict == "PASS" for call in calls)


def holds_of(formula: Formula, action: Action, approved: Iterable[str], dead: Iterable[str]) -> bool:
    """Whether a formula about one line is true of an action of which everything is known."""

    def about(seen: Seen) -> bool:
        return stands(seen.compare, action.params.get(seen.compare.field, ABSENT)) == seen.part

    def told(said: Told) -> bool:
        if said.text.startswith("the call is not "):
            return action.digest not in approved
        return action.digest in dead

    return holds(formula, about, told)


@given(worlds(), st.lists(params(), max_size=3))
def test_the_formula_that_the_words_are_made_of_is_exact(world: World, calls: list[Params]) -> None:
    compiled = compile_tool(real(world), world.tool)
    rows = {row.id: row for row in compiled.rows}
    for line in round_trip(issued(compiled)).body.rows:
        full = from_json(exact(line.full))
        held = None if line.held is None else from_json(exact(line.held))
        formula = dangers(line, full, held)
        for call in (world.params, *calls, {}):
            action = Action(world.tool, call)
            row = rows[line.id]
            expected = dangerous(row, *row.truths(call, action.digest))
            ended = set(line.held_approved) - set(line.full_approved)
            assert holds_of(formula, action, line.full_approved, ended) is expected
            assert holds_of(simplified(formula), action, line.full_approved, ended) is expected


# ---- for how long


def appended(world: World, more: list[Record]) -> World:
    """The world with more records behind the others, none of them delivered."""
    last = max(world.head, *(record["seq"] for record in world.records))
    added = [record | {"seq": last + at + 1} for at, record in enumerate(more)]
    everything = tuple(record["id"] for record in world.records)
    return replace(
        world,
        records=[*world.records, *added],
        delivered=everything if world.delivered is None else world.delivered,
        head=last + len(more),
    )


IRRELEVANT: list[Record] = [
    {"kind": "chatter", "text": "noted"},
    {"kind": "fact", "field": "unread", "value": 1},
    {
        "kind": "policy",
        "scope": ["else.where", "else.*"],
        "predicate": {"field": FIELDS[0], "op": "exists", "value": True},
        "effect": "deny",
    },
    {"kind": "approval", "policy": "nobody", "action_digest": "0" * 64, "granted": True, "approver": "bob"},
]


@given(
    worlds(), st.lists(st.sampled_from(IRRELEVANT), min_size=1, max_size=4), st.lists(params(), max_size=2)
)
def test_t13_t14_a_certificate_survives_irrelevant_appends(
    world: World, more: list[Record], calls: list[Params]
) -> None:
    compiled = compile_tool(real(world), world.tool)
    certificate = round_trip(issued(compiled))
    later = appended(world, [record | {"id": f"more{at}"} for at, record in enumerate(more)])
    after = real(later)
    assert after.records.clock(world.tool) == compiled.world.records.clock(world.tool)
    if not certificate.expired(later.head):
        same(compile_tool(after, world.tool), certificate, [world.params, *calls])


RELEVANT: list[Record] = [
    {"kind": "fact", "field": "amount", "value": 5001},
    {"kind": "summary", "text": "prose"},
    {"kind": "policy", "scope": "*", "predicate": {"any": []}, "effect": "deny"},
]


@pytest.mark.parametrize("record", RELEVANT, ids=lambda record: record["kind"])
def test_a_relevant_append_moves_the_clock_that_a_certificate_is_bound_to(record: Record) -> None:
    rule = gating.policy("p", 1, gating.over(5000))
    before = gating.world_of([rule], ["p"])
    after = gating.world_of([rule, {"id": "more", "seq": 2, **record}], ["p"])
    assert after.records.clock("t") > before.records.clock("t")


@given(worlds(), st.integers(0, 12), st.lists(params(), max_size=2))
def test_a_certificate_says_the_same_until_it_expires(world: World, later: int, calls: list[Params]) -> None:
    certificate = round_trip(issued(compile_tool(real(world), world.tool)))
    after = replace(world, head=world.head + later)
    if not certificate.expired(after.head):
        same(compile_tool(real(after), world.tool), certificate, [world.params, *calls])


@given(worlds())
def test_one_world_gives_one_certificate_byte_for_byte(world: World) -> None:
    first, second = (normal(issued(compile_tool(real(world), world.tool))) for _ in range(2))
    other = replace(world, records=world.records[::-1], held=world.held[::-1])
    assert first == second == normal(issued(compile_tool(real(other), world.tool)))


# ---- what to read again


@given(worlds())
def test_to_read_again_what_a_reason_names_lifts_it(world: World) -> None:
    certificate = round_trip(issued(compile_tool(real(world), world.tool)))
    for reason in certificate.check(Action(world.tool, world.params)).reasons:
        keys = world.ledger_full or {}
        held = {name: value for name, value in (world.ledger_held or {}).items() if name not in reason.keys}
        after = replace(
            world,
            held=tuple({*world.held, *reason.reread}),
            delivered=None if world.delivered is None else tuple({*world.delivered, *reason.reread}),
            ledger_held=held | {name: keys[name] for name in reason.keys if name in keys},
        )
        left = gating.judged(after).reasons
        assert (reason.code, reason.id) not in [(one.code, one.id) for one in left]
