"""However little may be tried, answers are sound; and however hostile the question, little is tried."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from blackboard.canonical import parse_exact
from blackboard.gate.actions.calls import MAY, Calls, Search, callable_tools
from blackboard.gate.actions.certificate import certificate
from blackboard.gate.actions.compiling import compile_tool
from blackboard.gate.actions.exposure import Restriction
from blackboard.gate.actions.keep import must_keep, repair
from blackboard.gate.actions.precheck import Tool, possible, precheck, read_tools
from blackboard.gate.actions.sides import full_side
from blackboard.gate.actions.work import BUILD, CAP, CELL, DIGEST, TOTAL, Work
from tests.actions.gating import approval, fact, judged, over, policy, real, world_of
from tests.actions.test_theorems_precheck import afterwards, blocks, declared, ids, named, takes
from tests.actions.truths import Record
from tests.actions.vocabulary import TOOLS
from tests.actions.worlds import World, params, worlds

LITTLE = st.sampled_from([0, 1, 60, 100, 200, 400, 700, 1000, 2000, 4000])


# ---- work


def test_what_was_asked_for_beyond_what_there_was_leaves_nothing_for_ever() -> None:
    work = Work(5)
    assert work.spend(5)
    assert not work.out
    assert not work.spend(1)
    assert not work.spend(0)
    assert work.out


def test_a_part_is_spent_of_the_whole_too() -> None:
    whole = Work(10)
    part = Work(6, within=whole)
    assert part.spend(6)
    assert not part.spend(1)
    assert (part.out, whole.out) == (True, False)
    other = Work(6, within=whole)
    assert not other.spend(4)
    assert (other.out, whole.out) == (True, True)


# ---- the theorems, with hardly any work


@given(worlds(), params(), LITTLE)
def test_t1_what_the_gate_blocks_the_precheck_blocks_with_little_work(
    world: World, other: dict[str, Any], little: int
) -> None:
    found = precheck(real(world), [Tool(world.tool)], total=little)
    for call in (world.params, other):
        verdict = judged(replace(world, params=call))
        assert {reason.id for reason in verdict.reasons} <= ids(found)


@given(worlds(), LITTLE, st.data())
def test_t2_every_witness_blocks_and_lies_in_its_domain_with_little_work(
    world: World, little: int, data: st.DataObject
) -> None:
    for tools in (named(world.tools), [data.draw(declared(world.tool))]):
        for reason in precheck(real(world), tools, total=little).reasons:
            event("may" if reason.witness is None else "shown")
            if reason.witness is not None:
                assert blocks(world, reason)
                (tool,) = (tool for tool in tools if tool.name == reason.tool)
                assert tool.domain is None or takes(tool, parse_exact(reason.witness))


@given(worlds(), LITTLE, st.data())
def test_t4_what_little_work_keeps_passes_a_precheck_of_no_more_work(
    world: World, little: int, data: st.DataObject
) -> None:
    """A precheck can find out whatever a keep found out: each has as much to do for it."""
    made = real(world)
    kept = data.draw(st.sets(st.integers(0, len(world.records) - 1)))
    for tools in (named(world.tools), [data.draw(declared(name)) for name in world.tools]):
        for keep in (must_keep(made, tools, total=little), repair(made, kept, tools, total=little)):
            event(f"smallest: {keep.smallest}")
            after = real(afterwards(world, keep, keep.records))
            assert precheck(after, tools, total=little).verdict == "PASS"
        assert kept <= set(keep.positions)


@given(worlds(), LITTLE, st.data())
def test_t4_with_no_more_kept_than_that_none_of_it_is_idle(
    world: World, little: int, data: st.DataObject
) -> None:
    tools = [data.draw(declared(name)) for name in world.tools]
    assume(any(callable_tools(tools)))
    keep = must_keep(real(world), tools, total=little)
    least = must_keep(real(world), tools)
    assert len(least.records) <= len(keep.records)
    assert not keep.smallest or keep == least


@given(worlds(), st.lists(st.sampled_from(TOOLS), max_size=2), LITTLE, st.data())
def test_t10_to_ask_about_more_tools_with_little_work_never_takes_a_reason_away(
    world: World, more: list[str], little: int, data: st.DataObject
) -> None:
    tools = {name: data.draw(declared(name)) for name in {*world.tools, *more}}
    few = precheck(real(world), [tools[name] for name in world.tools], total=little)
    assert ids(few) <= ids(precheck(real(world), list(tools.values()), total=little))
    few = precheck(real(world), named(world.tools), total=little)
    assert ids(few) <= ids(precheck(real(world), named({*world.tools, *more}), total=little))


@given(worlds(), params(), LITTLE, st.data())
def test_t15_inside_a_domain_what_the_gate_blocks_the_precheck_blocks_with_little_work(
    world: World, other: dict[str, Any], little: int, data: st.DataObject
) -> None:
    tool = data.draw(declared(world.tool))
    found = precheck(real(world), [tool], total=little)
    for call in (world.params, other):
        if takes(tool, call):
            verdict = judged(replace(world, params=call))
            assert {reason.id for reason in verdict.reasons} <= ids(found)


@given(worlds(), st.integers(0, 3000))
def test_the_same_question_with_the_same_work_has_the_same_answer(world: World, little: int) -> None:
    made, tools = real(world), named(world.tools)
    assert must_keep(made, tools, total=little) == must_keep(made, tools, total=little)
    assert precheck(made, tools, total=little) == precheck(made, tools, total=little)


# ---- hostile questions


FIELDS = [f"f{at}" for at in range(12)]
FREE: Sequence[Tool] = [Tool(f"t{at}") for at in range(256)]
NARROW = read_tools(
    [
        {
            "name": f"t{at}",
            "input_schema": {"properties": {field: {"type": "integer", "minimum": at} for field in FIELDS}},
        }
        for at in range(256)
    ]
)


def tangled(count: int, size: int) -> list[Record]:
    """Rules of `size` atoms over twelve facts: each set of these leaves another one of them to be tried."""
    rng = random.Random(size)
    stated = [fact(f"x{at}", at + 1, field, 5) for at, field in enumerate(FIELDS)]
    for at in range(count):
        parts = []
        for _ in range(size // 3):
            some = [over(rng.randint(0, 99), field) for field in rng.sample(FIELDS, 3)]
            parts.append([one if rng.random() < 0.5 else {"not": one} for one in some])
        inner, outer = ("any", "all") if at % 2 else ("all", "any")
        stated.append(policy(f"p{at}", at + 100, {outer: [{inner: part} for part in parts]}, scope="*"))
    return stated


class Tried:
    """How many cells were tried, and how many ways to lack facts."""

    cells = 0
    losses = 0


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    counted = Tried()
    parts, exposed = Search._parts, Restriction._tried

    def _parts(self: Search, *given: Any) -> Any:
        counted.cells += 1
        return parts(self, *given)

    def _tried(self: Restriction, *given: Any) -> bool:
        counted.losses += 1
        return exposed(self, *given)

    monkeypatch.setattr(Search, "_parts", _parts)
    monkeypatch.setattr(Restriction, "_tried", _tried)
    return counted


@pytest.mark.parametrize(("count", "size"), [(1, 60), (2, 240), (60, 9), (300, 30)])
@pytest.mark.parametrize("tools", [FREE[:1], FREE, NARROW], ids=["one", "free", "narrow"])
def test_a_keep_of_tangled_rules_tries_no_more_than_there_is_work(
    tried: Tried, count: int, size: int, tools: Sequence[Tool]
) -> None:
    world = world_of(tangled(count, size), [])
    keep = must_keep(world, tools)
    assert tried.cells <= TOTAL // CELL
    assert tried.losses <= len(keep.records) + TOTAL // (BUILD * size)
    assert count <= len(keep.records) <= count + len(FIELDS)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("tools", [FREE[:1], NARROW[:8]], ids=["one", "narrow"])
def test_a_precheck_of_tangled_rules_tries_no_more_than_there_is_work(
    tried: Tried, tools: Sequence[Tool], held: bool
) -> None:
    stated = tangled(20, 90)
    rules = [record["id"] for record in stated if record["kind"] == "policy"]
    found = precheck(world_of(stated, rules if held else []), tools)
    assert 0 < tried.cells <= TOTAL // CELL
    assert found.verdict == "BLOCK"


def test_a_certificate_tries_no_more_than_there_is_work(tried: Tried) -> None:
    listed = {"field": "a", "op": "in", "value": list(range(3000))}
    stated = [policy(f"p{at}", at + 1, {"all": [listed, over(at, "b")]}) for at in range(30)]
    body = certificate(compile_tool(world_of(stated, []), "t"), full="", held="")
    assert 0 < tried.cells <= TOTAL // CELL
    assert len(body["rows"]) == 30


def test_small_rules_are_looked_into_before_large_ones_use_up_the_work() -> None:
    never = policy("z", 999, {"all": [over(5), {"not": {"field": "amount", "op": "exists", "value": True}}]})
    number = {"amount": {"type": "integer"}, **{field: {"type": "integer"} for field in FIELDS}}
    tools = read_tools([{"name": "t", "input_schema": {"properties": number, "required": [*number]}}])
    found = precheck(world_of([*tangled(40, 90), never], []), tools)
    assert "z" not in ids(found)


def test_one_formula_cannot_take_all_the_work() -> None:
    assert CAP < TOTAL


def test_many_approvals_are_looked_at_as_far_as_there_is_work() -> None:
    """Where they are not, the rule binds and is kept, and no approval counts."""
    answers = [
        {**approval(f"a{at}", at + 2, "p"), "action_digest": f"{at:064x}"} for at in range(TOTAL // DIGEST)
    ]
    stated = [policy("p", 1, over(5), "require_approval"), *answers]
    world = world_of(stated, [])
    assert must_keep(world, [Tool("t")]).records == ("p",)
    row = compile_tool(world, "t").rows[0]
    assert possible(row, Calls(Tool("t")), work=Work(DIGEST)) is MAY
    assert possible(row, Calls(Tool("t"))) == {"amount": 6}
    (row,) = compile_tool(world_of(stated[:2], []), "t").rows
    calls = Calls(Tool("t"))
    enough = next(total for total in range(TOTAL) if possible(row, calls, work=Work(total)) != MAY)
    assert possible(row, calls, work=Work(enough - 1)) is MAY


def test_beyond_the_work_every_copy_is_kept_beside_the_approvals_of_some() -> None:
    rules = [policy(name, at, over(5), "require_approval") for at, name in enumerate("pq", 1)]
    world = world_of([*rules, approval("a", 3, "p"), approval("b", 4, "q")], [])
    assert repair(world, [0, 2], [Tool("t")]).records == ("p", "a")
    found = repair(world, [0, 2], [Tool("t")], total=0)
    assert found.records == ("p", "q", "a")


def test_beyond_the_work_every_fact_is_kept_that_a_kept_permission_could_read() -> None:
    read = {"field": "f1", "op": "eq", "value": 1, "source": "fact"}
    facts = [fact(f"x{at}", at + 1, f"f{at}", 1) for at in range(4)]
    rules = [policy(f"a{at}", at + 10, {"any": [read, over(at)]}, "allow") for at in range(3)]
    world = world_of([*facts, *rules], [])
    assert repair(world, [4, 5], [Tool("t")]).records == ("x1", "a0", "a1")
    assert repair(world, [4, 5, 6], [Tool("t")], total=0).records == (
        "x0",
        "x1",
        "x2",
        "x3",
        "a0",
        "a1",
        "a2",
    )


def test_what_there_was_no_work_to_look_into_is_not_taken_for_known() -> None:
    world = world_of([fact("x", 1, "f", 1), policy("p", 2, over(5, "f"))], [])
    (rule,) = world.records.rules_for("t")
    lost = Restriction(full_side(world), rule, rule.copies, [Calls(Tool("t"))], answers=0, work=Work(0))
    assert lost.binds(Work())
    assert lost.exposed(frozenset({"f"}), Work())
    assert not lost.exposed(frozenset({"other"}), Work())
