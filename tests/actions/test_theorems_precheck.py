"""The theorems about all calls at once: the precheck over-blocks and never passes what the gate blocks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

from blackboard.canonical import parse_exact
from blackboard.errors import Malformed
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.calls import callable_tools
from blackboard.gate.actions.compiling import compile_tool
from blackboard.gate.actions.judging import Unseen, judge
from blackboard.gate.actions.keep import Keep, must_keep, repair
from blackboard.gate.actions.precheck import Precheck, Tool, precheck, read_tools
from blackboard.records.verdict import Reason
from tests.actions.gating import judged, real
from tests.actions.vocabulary import FIELDS, TOOLS, VALUES
from tests.actions.worlds import World, params, worlds

UNSEEN: Sequence[Unseen] = ("block", "note")


def named(names: Collection[str]) -> list[Tool]:
    return [Tool(name) for name in names]


@st.composite
def declared(draw: st.DrawFn, name: str) -> Tool:
    """A tool with a schema: for each field what it may be, whether it must be given, whether others may."""

    def schema(field: str) -> dict[str, Any]:
        listed = st.lists(st.sampled_from(VALUES[field]), min_size=1, max_size=3)
        bound = st.sampled_from([0, 4999, 5000, 5001])
        return draw(
            st.one_of(
                st.builds(lambda values: {"enum": values}, listed),
                st.builds(
                    lambda low, high: {"type": "integer", "minimum": low, "maximum": high}, bound, bound
                ),
                st.builds(
                    lambda kinds: {"type": kinds}, st.sampled_from(["string", "number", ["boolean", "null"]])
                ),
                st.just({}),
            )
        )

    fields = draw(st.lists(st.sampled_from(FIELDS), unique=True))
    required = draw(st.lists(st.sampled_from(fields), unique=True)) if fields else []
    members = {"properties": {field: schema(field) for field in fields}, "required": required}
    members["additionalProperties"] = draw(st.sampled_from([False, False, True]))
    return read_tools([{"name": name, "input_schema": members}])[0]


def takes(tool: Tool, call: dict[str, Any]) -> bool:
    assert tool.domain is not None
    try:
        tool.domain.check(call)
    except Malformed:
        return False
    return True


def blocks(world: World, reason: Reason, **options: Any) -> bool:
    """Whether the gate blocks the witness of a reason, for that reason."""
    assert reason.tool is not None
    assert reason.witness is not None
    action = Action(reason.tool, parse_exact(reason.witness))
    verdict = judge(compile_tool(real(world), reason.tool), action, **options)
    oracle = world.judge(tool=reason.tool, params=action.params, **options)
    return reason.id in {one.id for one in verdict.reasons} & {name for _, name in oracle.reasons}


def ids(found: Precheck) -> set[str]:
    return {reason.id for reason in found.reasons}


# ---- T1, T2


@given(worlds(), params(), st.sampled_from(UNSEEN), st.booleans())
def test_t1_what_the_gate_blocks_the_precheck_of_its_tool_blocks(
    world: World, other: dict[str, Any], unseen: Unseen, blind: bool
) -> None:
    options: dict[str, Any] = {"unseen": unseen, "allow_unevaluable": blind}
    found = precheck(real(world), [Tool(world.tool)], **options)
    for call in (world.params, other):
        verdict = judged(replace(world, params=call), **options)
        event(verdict.word)
        assert {reason.id for reason in verdict.reasons} <= ids(found)
        assert verdict.word == "PASS" or found.verdict == "BLOCK"


@given(worlds(), st.sampled_from(UNSEEN), st.booleans())
def test_t2_every_witness_blocks(world: World, unseen: Unseen, blind: bool) -> None:
    options: dict[str, Any] = {"unseen": unseen, "allow_unevaluable": blind}
    for reason in precheck(real(world), named(world.tools), **options).reasons:
        event("shown" if reason.witness is not None else "may")
        assert reason.witness is None or blocks(world, reason, **options)


@given(worlds())
def test_t2_only_an_approval_of_an_unknown_action_is_without_a_witness(world: World) -> None:
    for reason in precheck(real(world), named(world.tools)).reasons:
        if reason.witness is None:
            assert "its action is known by its digest only" in reason.detail


# ---- T4


def afterwards(world: World, keep: Keep, records: Collection[str]) -> World:
    """The world of who has kept, or read, these records, and has read the ledger keys again."""
    ledger = world.ledger_full or {}
    return replace(
        world,
        held=tuple(records),
        # What was kept once was delivered: the rest of it is dropped where it is not among `records`.
        delivered=None if world.delivered is None else tuple({*world.delivered, *keep.records}),
        ledger_held={key: ledger[key] for key in keep.keys if key in ledger},
    )


def prechecked(world: World, keep: Keep, records: Collection[str]) -> Precheck:
    return precheck(real(afterwards(world, keep, records)), named(world.tools))


@given(worlds())
def test_t4_with_what_must_be_kept_the_precheck_passes(world: World) -> None:
    keep = must_keep(real(world), named(world.tools))
    assert prechecked(world, keep, keep.records).verdict == "PASS"


@given(worlds())
def test_t4_without_any_one_record_of_it_the_precheck_blocks(world: World) -> None:
    keep = must_keep(real(world), named(world.tools))
    event(f"{len(keep.records)} records")
    for one in keep.records:
        rest = [other for other in keep.records if other != one]
        assert prechecked(world, keep, rest).verdict == "BLOCK"


@given(worlds(), st.data())
def test_t4_whatever_is_kept_once_repaired_the_precheck_passes(world: World, data: st.DataObject) -> None:
    made = real(world)
    kept = data.draw(st.sets(st.integers(0, len(world.records) - 1)))
    keep = repair(made, kept, named(world.tools))
    assert kept <= set(keep.positions)
    assert prechecked(world, keep, keep.records).verdict == "PASS"
    for tool in world.tools:
        assert afterwards(world, keep, keep.records).judge(tool=tool).verdict == "PASS"


@given(worlds(), st.data())
def test_t4_inside_declared_domains_too(world: World, data: st.DataObject) -> None:
    made, tools = real(world), [data.draw(declared(name)) for name in world.tools]
    assume(any(callable_tools(tools)))  # of no call at all nothing is blocked, whatever is kept
    least = must_keep(made, tools)
    assert precheck(real(afterwards(world, least, least.records)), tools).verdict == "PASS"
    for one in least.records:
        rest = [other for other in least.records if other != one]
        assert precheck(real(afterwards(world, least, rest)), tools).verdict == "BLOCK"
    keep = repair(made, data.draw(st.sets(st.integers(0, len(world.records) - 1))), tools)
    assert precheck(real(afterwards(world, keep, keep.records)), tools).verdict == "PASS"


@given(worlds())
def test_to_read_what_a_reason_names_lifts_it(world: World) -> None:
    found = precheck(real(world), named(world.tools))
    ledger = world.ledger_full or {}
    for reason in found.reasons:
        held = {key: value for key, value in (world.ledger_held or {}).items() if key not in reason.keys}
        read = replace(
            world,
            held=tuple({*world.held, *reason.reread}),
            delivered=None if world.delivered is None else tuple({*world.delivered, *reason.reread}),
            ledger_held=held | {key: ledger[key] for key in reason.keys if key in ledger},
        )
        assert reason.id not in ids(precheck(real(read), named(world.tools)))


# ---- T6, T7


@given(worlds(), st.randoms(use_true_random=False))
def test_t7_the_order_of_records_and_tools_is_irrelevant(world: World, rng: Any) -> None:
    def shuffled(items: Any) -> Any:
        return rng.sample(items, len(items))

    other = replace(
        world,
        records=[dict(shuffled(list(record.items()))) for record in shuffled(world.records)],
        held=tuple(shuffled(world.held)),
        delivered=None if world.delivered is None else tuple(shuffled(world.delivered)),
    )
    tools = named(world.tools)
    assert precheck(real(other), shuffled(tools)) == precheck(real(world), tools)
    assert must_keep(real(other), shuffled(tools)) == must_keep(real(world), tools)


@given(worlds(), st.booleans())
def test_t6_chatter_is_irrelevant(world: World, held: bool) -> None:
    last = max(record["seq"] for record in world.records)
    chatter = {"id": "chatter", "seq": last + 1, "kind": "chatter"}
    before = replace(world, head=max(world.head, last + 1))
    after = replace(
        before,
        records=[chatter, *world.records],
        held=(*world.held, "chatter") if held else world.held,
        delivered=None if world.delivered is None else (*world.delivered, *(["chatter"] if held else [])),
    )
    tools = named(world.tools)
    assert precheck(real(after), tools).reasons == precheck(real(before), tools).reasons
    assert must_keep(real(after), tools).records == must_keep(real(before), tools).records


# ---- T10


@given(worlds(), st.lists(st.sampled_from(TOOLS), unique=True))
def test_t10_more_tools_never_block_less(world: World, more: list[str]) -> None:
    few = precheck(real(world), named(world.tools))
    many = precheck(real(world), named({*world.tools, *more}))
    assert ids(few) <= ids(many)


# ---- T15


@given(worlds(), params(), st.data())
def test_t15_inside_a_domain_what_the_gate_blocks_the_precheck_blocks(
    world: World, other: dict[str, Any], data: st.DataObject
) -> None:
    tool = data.draw(declared(world.tool))
    found = precheck(real(world), [tool])
    for call in (world.params, other):
        if takes(tool, call):
            verdict = judged(replace(world, params=call))
            event(f"inside, {verdict.word}")
            assert {reason.id for reason in verdict.reasons} <= ids(found)


@given(worlds(), st.data())
def test_t15_every_witness_lies_in_its_domain_and_blocks(world: World, data: st.DataObject) -> None:
    tool = data.draw(declared(world.tool))
    for reason in precheck(real(world), [tool]).reasons:
        if reason.witness is not None:
            event("shown")
            assert takes(tool, parse_exact(reason.witness))
            assert blocks(world, reason)


@given(worlds(), st.data())
def test_t15_a_domain_never_adds_a_reason(world: World, data: st.DataObject) -> None:
    tool = data.draw(declared(world.tool))
    assert ids(precheck(real(world), [tool])) <= ids(precheck(real(world), [Tool(world.tool)]))


# ---- known to be false


def test_false_claim_what_must_be_kept_passes_with_anything_beside_it() -> None:
    """An old value beside a permission that reads it: nothing must be kept, and to keep both is worse."""
    rule = {"field": "tier", "op": "eq", "value": "gold"}
    world = World(
        records=[
            {"id": "old", "seq": 1, "kind": "fact", "field": "tier", "value": "gold"},
            {"id": "a", "seq": 2, "kind": "policy", "scope": "t", "predicate": rule, "effect": "allow"},
            {"id": "new", "seq": 3, "kind": "fact", "field": "tier", "retracted": True},
        ],
        held=("old", "a"),
        delivered=None,
        tool="t",
        params={},
        tools=("t",),
        head=3,
        agent=None,
        ledger_full=None,
        ledger_held=None,
        ledger_delivered=None,
    )
    keep = must_keep(real(world), [Tool("t")])
    assert keep.records == ()
    assert prechecked(world, keep, ("old", "a")).verdict == "BLOCK"
