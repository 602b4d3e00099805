"""The generator of worlds: what it makes is sound, and most of what can go wrong goes wrong often."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from blackboard.records.index import Records
from blackboard.records.reading import read_record
from tests.actions.oracle import Verdict, rules_for
from tests.actions.truths import TRUE, UNKNOWN
from tests.actions.worlds import World, params, random_params, random_world, worlds

MANY = 3000
RULE_CODES = (
    *("binding-constraint", "superseder-stale-kept", "superseder-stale-permit"),
    *("input-kept-rule", "input-kept-permit"),
)


def drawn(seed: int) -> list[World]:
    rng = random.Random(seed)
    return [random_world(rng) for _ in range(MANY)]


def numbers(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in numbers(part)]
    return [value] if isinstance(value, float) else []


def check(world: World) -> None:
    """What `World` promises, and that its records are well-formed."""
    records = Records()
    for stated in sorted(world.records, key=lambda record: record["seq"]):
        record = read_record(stated)
        records.check(record)
        records.add(record)
    ids = {record["id"] for record in world.records}
    delivered = ids if world.delivered is None else set(world.delivered)
    assert set(world.held) <= delivered <= ids
    assert world.head >= max(record["seq"] for record in world.records)
    assert world.tool in world.tools
    assert (world.ledger_full is None) == (world.ledger_held is None)
    assert not numbers([world.records, world.params, world.ledger_full, world.ledger_held])


def test_one_seed_makes_one_world() -> None:
    first, second = random.Random(5), random.Random(5)
    assert random_world(first) == random_world(second)
    assert random_params(first) == random_params(second)


def test_random_worlds_are_well_formed() -> None:
    for world in drawn(1):
        check(world)


@given(worlds(), params())
def test_drawn_worlds_are_well_formed(world: World, others: dict[str, Any]) -> None:
    check(world)
    assert world.judge(params=others).exit in (0, 1)


def test_every_code_and_both_prefixes_occur_often() -> None:
    verdicts = [world.judge() for world in drawn(2)]
    found = Counter(code for verdict in verdicts for code in set(verdict.codes))
    blocked = sum(verdict.verdict == "BLOCK" for verdict in verdicts)
    answers = Counter(verdict.policy for verdict in verdicts)
    assert MANY / 4 < blocked < MANY * 3 / 4
    often = {f"{prefix}-{code}" for prefix in ("dropped", "unseen") for code in RULE_CODES}
    often.add("dropped-unevaluable-record")  # never delivered, it is a note
    assert set(found) == often
    assert min(found.values()) > MANY / 60, found
    assert set(answers) == {"deny", "needs-approval", "undetermined", "allowed-by", "default"}
    assert min(answers.values()) > MANY / 50, answers


# ------------------------------------------------------------------------- what holds of any gate on them


def everything_held(world: World) -> Verdict:
    return world.judge(
        held_ids=[record["id"] for record in world.records],
        delivered_ids=None,
        ledger_held=world.ledger_full,
    )


def test_nothing_missing_passes() -> None:
    assert all(everything_held(world).verdict == "PASS" for world in drawn(3))


def test_whatever_binds_was_either_dropped_or_never_delivered() -> None:
    for world in drawn(4):
        dropped = world.judge(delivered_ids=None, ledger_delivered=None)
        unseen = world.judge(delivered_ids=world.held, ledger_delivered=())
        assert all(code.startswith("dropped-") for code in dropped.codes)
        assert all(code.startswith("unseen-") for code in unseen.codes)
        assert [(code.removeprefix("unseen-"), name) for code, name in unseen.reasons] == [
            (code.removeprefix("dropped-"), name)
            for code, name in dropped.reasons
            if code != "dropped-unevaluable-record"
        ]
        assert world.judge(delivered_ids=world.held, ledger_delivered=(), unseen="note").verdict == "PASS"


def test_flying_blind_removes_one_reason_only() -> None:
    for world in drawn(5):
        reasons = [found for found in world.judge().reasons if found[0] != "dropped-unevaluable-record"]
        assert world.judge(allow_unevaluable=True).reasons == reasons


@given(worlds(), st.randoms(use_true_random=False))
def test_neither_the_order_of_records_nor_chatter_matters(world: World, rng: random.Random) -> None:
    shuffled = list(world.records)
    rng.shuffle(shuffled)
    talk = {"id": "talk", "seq": world.head + 1, "kind": "chatter", "text": "well"}
    moved = World(**{**vars(world), "records": [talk, *shuffled]})
    assert moved.judge() == world.judge()


def decision(truths: dict[str, int], effects: dict[str, str], cautious: bool, default: bool) -> int:
    """What a reader of the rules does: 0 nothing, 1 asks for approval, 2 acts.

    Where nothing permits and the default is to deny, nobody is asked: an approval lifts a rule, and permits
    nothing.
    """
    binding = {effects[rule] for rule, truth in truths.items() if truth >= (UNKNOWN if cautious else TRUE)}
    permitted = any(effects[rule] == "allow" and truth == TRUE for rule, truth in truths.items())
    if "deny" in binding or not (permitted or default):
        return 0
    return 1 if "require_approval" in binding else 2


def test_after_a_pass_the_holder_is_no_more_permissive_than_the_whole_log() -> None:
    passed = [world for world in drawn(6) if world.judge().verdict == "PASS"]
    assert len(passed) > MANY / 5
    for world in passed:
        case = world.case()
        rules = {rule[0]["id"]: rule for rule in rules_for(world.records, world.tool)}
        effects = {name: rule[0]["effect"] for name, rule in rules.items()}
        full = {name: case.truths(rule)[0] for name, rule in rules.items()}
        held = {name: case.truths(rule)[1] for name, rule in rules.items()}
        for cautious, default in product((True, False), repeat=2):
            assert decision(held, effects, cautious, default) <= decision(full, effects, cautious, default)
