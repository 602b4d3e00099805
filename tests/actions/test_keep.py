"""What a compaction has to keep, and what closes a set that it would keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from blackboard.gate.actions.exposure import EXACT
from blackboard.gate.actions.keep import Keep, must_keep, repair
from blackboard.gate.actions.precheck import Precheck, Tool, precheck, read_tools
from tests.actions.gating import approval, equals, fact, over, policy, retraction, world_of
from tests.actions.truths import Record

TOOLS = (Tool("t"),)


def needed(stated: Collection[Record], tools: Collection[Tool] = TOOLS, **sides: Any) -> Keep:
    """What has to be kept of the records, with which the precheck passes and without which it does not."""
    held = sides.pop("held", [record["id"] for record in stated])
    found = must_keep(world_of(stated, held, **sides), list(tools))
    assert after(stated, found.records, tools, **sides).verdict == "PASS"
    for one in found.records:
        rest = [other for other in found.records if other != one]
        assert after(stated, rest, tools, **sides).verdict == "BLOCK", one
    return found


def repaired(stated: Collection[Record], kept: Collection[str], **sides: Any) -> tuple[str, ...]:
    """What has to be kept beside the records that are, with which the precheck passes."""
    world = world_of(stated, [record["id"] for record in stated], **sides)
    positions = [at for at in map(world.records.position, kept) if at is not None]
    found = repair(world, positions, TOOLS)
    assert set(kept) <= set(found.records)
    assert after(stated, found.records, **sides).verdict == "PASS"
    return tuple(one for one in found.records if one not in kept)


def after(
    stated: Collection[Record], kept: Iterable[str], tools: Collection[Tool] = TOOLS, **sides: Any
) -> Precheck:
    """The precheck for who holds these records and has read the ledger again."""
    full, _ = sides.pop("ledger", (None, None))
    delivered = sides.pop("delivered", None)
    shown = None if delivered is None else {*delivered, *kept}
    world = world_of(stated, list(kept), delivered=shown, ledger=(full, full), **sides)
    return precheck(world, list(tools))


def stored(value: Any, field: str) -> Record:
    """The atom `field eq value`, whatever the params say."""
    return equals(value, field, source="fact")


def stated_no(field: str) -> Record:
    return {"field": field, "op": "exists", "value": False, "source": "fact"}


# ---- must-keep


def test_one_live_copy_of_each_rule_that_may_bind_is_kept() -> None:
    stated = [
        policy("p", 1, over(5)),
        policy("copy", 2, over(5)),
        policy("never", 3, {"any": []}),
        policy("permit", 4, over(5), "allow"),
        policy("elsewhere", 5, over(5), scope="u"),
        policy("dead", 6, over(6)),
        policy("end", 7, over(7), supersedes="dead"),
        policy("over", 8, over(8), expires_seq=9),
        {"id": "c", "seq": 9, "kind": "chatter"},
    ]
    assert needed(stated).records == ("copy", "end")


def test_of_several_copies_one_that_is_at_hand_is_kept() -> None:
    stated = [policy(name, at, over(5)) for at, name in enumerate("abc", 1)]
    assert needed(stated, held=["a"]).records == ("a",)
    assert needed(stated, held=["a"]).unread == ()
    assert needed(stated, held=[], delivered=["b"]).records == ("b",)
    assert needed(stated, held=[], delivered=[]).records == ("c",)
    assert needed(stated, held=[]).unread == ("c",)


def test_records_that_nobody_can_evaluate_are_kept_where_they_were_delivered() -> None:
    stated = [{"id": name, "seq": at, "kind": "summary"} for at, name in enumerate("ab", 1)]
    assert needed(stated).records == ("a", "b")
    assert needed(stated, held=["a"], delivered=["a"]).records == ("a",)


def test_a_domain_leaves_less_to_keep() -> None:
    stated = [policy("p", 1, over(5)), policy("q", 2, over(9))]
    schema = {"properties": {"amount": {"type": "integer", "maximum": 7}}, "required": ["amount"]}
    assert needed(stated, read_tools([{"name": "t", "input_schema": schema}])).records == ("p",)
    none = {"properties": {"amount": False}, "required": ["amount"]}
    assert needed(stated, read_tools([{"name": "t", "input_schema": none}])).records == ()


def test_what_any_of_the_tools_needs_is_kept() -> None:
    stated = [policy("p", 1, over(5)), policy("q", 2, over(5), scope="u"), policy("r", 3, over(5), scope="v")]
    assert needed(stated, [Tool("u"), Tool("t"), Tool("u")]).records == ("p", "q")


def test_a_rule_that_is_approved_for_every_call_need_not_be_kept() -> None:
    stated = [policy("p", 1, {"all": []}, "require_approval"), approval("a", 2, "p")]
    bare = read_tools([{"name": "t", "input_schema": {}}])
    assert needed(stated, bare).records == ()
    assert needed(stated).records == ("p",)


def test_the_newest_fact_that_a_rule_binds_by_is_kept() -> None:
    stated = [
        fact("old", 1, "tier", "x"),
        fact("new", 2, "tier", "gold"),
        policy("p", 3, equals("gold")),
        fact("unread", 4, "owner", "ann"),
    ]
    assert needed(stated).records == ("new", "p")


def test_a_fact_without_which_the_rule_is_more_cautious_is_not_kept() -> None:
    stated = [fact("f", 1, "tier", "x"), policy("p", 2, equals("gold"))]
    assert needed(stated).records == ("p",)


def test_a_newest_fact_that_says_nothing_is_not_kept() -> None:
    """Without it there is no value either."""
    absent: Record = {"field": "tier", "op": "exists", "value": False}
    stated = [fact("f", 1, "tier", "x"), retraction("r", 2, "tier"), policy("p", 3, absent)]
    assert needed(stated).records == ("p",)
    stated = [fact("f", 1, "tier", "x", expires_seq=2), policy("p", 2, absent)]
    assert needed(stated).records == ("p",)


def test_a_param_that_every_call_gives_leaves_no_fact_to_keep() -> None:
    stated = [fact("f", 1, "tier", "gold"), policy("p", 2, equals("gold"))]
    schema = {"properties": {"tier": {}}, "required": ["tier"]}
    assert needed(stated, read_tools([{"name": "t", "input_schema": schema}])).records == ("p",)
    assert needed(stated, [*read_tools([{"name": "t", "input_schema": schema}])]).smallest
    pinned = [stated[0], policy("p", 2, equals("gold", source="fact"))]
    assert needed(pinned, read_tools([{"name": "t", "input_schema": schema}])).records == ("f", "p")


def test_two_missing_facts_can_make_up_for_one_another() -> None:
    """To keep one of them needs the other: the smallest set has neither."""
    stated = [
        fact("a", 1, "a", 1),
        fact("b", 2, "b", 1),
        policy("p", 3, {"any": [stated_no("a"), stored(1, "b")]}),
    ]
    assert needed(stated).records == ("p",)
    assert after(stated, ["p", "a"]).verdict == "BLOCK"
    assert repaired(stated, ["a"]) == ("b", "p")


def test_of_two_facts_that_would_do_the_one_at_hand_is_kept_or_else_the_newer() -> None:
    stated = [
        fact("a", 1, "a", 1),
        fact("b", 2, "b", 1),
        policy("p", 3, {"any": [stored(1, "a"), stored(1, "b")]}),
    ]
    assert needed(stated).records == ("b", "p")
    assert needed(stated, held=["a"]).records == ("a", "p")


def test_the_ledger_keys_of_the_kept_rules_are_to_be_read_again() -> None:
    stated = [
        policy("p", 1, equals("open", "task/a", source="ledger")),
        policy("a", 2, equals("open", "task/b", source="ledger"), "allow"),
        policy("q", 3, equals("open", "task/c", source="ledger"), scope="u"),
    ]
    found = needed(stated, ledger=({"task/a": "open"}, {}))
    assert (found.records, found.keys) == (("p",), ("task/a",))
    world = world_of(stated, ["p", "a"])
    assert repair(world, [1], TOOLS).keys == ("task/a", "task/b")


def crossed(size: int) -> list[Record]:
    """Rules over neighbouring facts: each needs one of its two, so every other fact will do."""
    facts = [fact(f"f{at}", at + 1, f"field{at:02}", "gold") for at in range(size)]
    rules = [
        policy(f"p{at}", size + at + 1, {"any": [stored("gold", f"field{at + step:02}") for step in (0, 1)]})
        for at in range(size - 1)
    ]
    return [*facts, *rules]


@pytest.mark.parametrize("size", [2, 5, EXACT, EXACT + 1, 20])
def test_up_to_a_bound_the_facts_are_as_few_as_can_be_and_none_is_idle_beyond(size: int) -> None:
    found = needed(crossed(size))
    facts = [name for name in found.records if name.startswith("f")]
    assert found.smallest is (size <= EXACT)
    if found.smallest:
        assert len(facts) == size // 2


def test_facts_that_do_not_bear_on_one_another_are_counted_apart() -> None:
    alone = [
        record
        for at in range(EXACT + 1)
        for record in (
            fact(f"f{at}", 2 * at + 1, f"field{at}", "gold"),
            policy(f"p{at}", 2 * at + 2, equals("gold", f"field{at}")),
        )
    ]
    found = needed(alone)
    assert found.smallest
    assert len(found.records) == len(alone)


def test_a_rule_over_many_facts_is_tried_as_a_whole() -> None:
    every: list[Record] = [stored("gold", f"field{at}") for at in range(8)]
    stated = [fact(f"f{at}", at + 1, f"field{at}", "gold") for at in range(8)]
    assert len(needed([*stated, policy("p", 9, {"all": every})]).records) == 9
    assert needed([*stated, policy("p", 9, {"any": every})]).records == ("f7", "p")


# ---- repair


def test_nothing_kept_is_repaired_to_what_must_be_kept() -> None:
    stated = crossed(5)
    world = world_of(stated, [])
    assert repair(world, [], TOOLS) == must_keep(world, TOOLS)


def test_the_newest_fact_of_a_field_is_kept_beside_an_older_one() -> None:
    stated = [fact("old", 1, "tier", "x"), fact("mid", 2, "tier", "y"), retraction("new", 3, "tier")]
    assert repaired(stated, ["old"]) == ("new",)


def test_every_field_that_a_kept_permission_reads_is_kept() -> None:
    read = {"any": [equals("gold"), equals(1, "a", source="fact"), equals(1, "b", source="param")]}
    stated = [
        fact("f", 1, "tier", "x"),
        fact("a", 2, "a", 2),
        fact("b", 3, "b", 3),
        policy("p", 4, read, "allow"),
    ]
    assert repaired(stated, ["p"]) == ("f", "a")


def test_what_superseded_a_kept_rule_is_kept_to_the_last() -> None:
    stated = [
        policy("p", 1, over(5), "allow"),
        policy("q", 2, over(6), "allow", supersedes="p"),
        policy("r", 3, equals("gold"), "allow", supersedes="q"),
        fact("f", 4, "tier", "x"),
        policy("gone", 5, equals("gold", "owner"), "allow"),
        policy("end", 6, {"any": []}, supersedes="gone"),
        fact("o", 7, "owner", "ann"),
    ]
    assert repaired(stated, ["p", "gone"]) == ("q", "r", "f", "end")


def test_the_end_of_a_kept_approval_is_kept() -> None:
    rule = policy("p", 1, over(5), "require_approval")
    granted = approval("a", 2, "p")
    revoked = [rule, granted, approval("b", 3, "p"), approval("c", 4, "p", granted=False)]
    assert repaired(revoked, ["p", "a"]) == ("c",)
    other = approval("b", 3, "p", {"amount": 1}, supersedes="a")
    assert repaired([rule, granted, other], ["p", "a"]) == ("b",)


def test_a_copy_without_the_approval_is_kept_beside_the_approved_one() -> None:
    rules = [policy(name, at, over(5), "require_approval") for at, name in enumerate("pq", 1)]
    assert repaired([*rules, approval("a", 3, "p")], ["p", "a"]) == ("q",)
    both = [*rules, approval("a", 3, "p"), approval("b", 4, "q")]
    assert repaired(both, ["p", "a"]) == ()


def test_a_kept_copy_of_a_rule_is_copy_enough_while_it_lives() -> None:
    stated = [policy("p", 1, over(5)), policy("q", 2, over(5)), policy("r", 3, over(9), supersedes="p")]
    assert repaired(stated, ["q"]) == ("r",)
    assert repaired(stated, ["p"]) == ("q", "r")


def test_a_repaired_set_is_whole() -> None:
    stated = [*crossed(6), {"id": "s", "seq": 99, "kind": "summary"}]
    world = world_of(stated, ["f0"])
    found = repair(world, [0], TOOLS)
    assert repair(world, found.positions, TOOLS) == found
    assert "s" in found.records
    assert found.unread == tuple(one for one in found.records if one != "f0")


def test_false_claim_what_must_be_kept_passes_whatever_else_is_kept() -> None:
    stated = [
        fact("old", 1, "tier", "gold"),
        policy("a", 2, equals("gold"), "allow"),
        policy("p", 3, over(5)),
        fact("new", 4, "tier", "standard", supersedes="old"),
    ]
    least = needed(stated).records
    assert least == ("p",)
    assert after(stated, [*least, "a"]).verdict == "PASS"
    assert after(stated, [*least, "a", "old"]).verdict == "BLOCK"
    assert repaired(stated, [*least, "a", "old"]) == ("new",)
