"""What a reason names: enough to check it by hand, and what to read again; and what notes say."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from blackboard.gate.actions.compiling import Compiled, compile_tool
from blackboard.gate.actions.judging import Verdict
from blackboard.gate.actions.rereading import Reread, reread
from blackboard.gate.actions.sides import held_side, reread_side
from blackboard.records.verdict import Held, Input, Note, Reason
from tests.actions import worlds
from tests.actions.gating import (
    approval,
    codes,
    equals,
    fact,
    gate,
    judged,
    over,
    policy,
    real,
    retraction,
)
from tests.actions.truths import Record, action_digest

TIER = [
    fact("f2", 2, "tier", "gold"),
    policy("p3", 3, equals("gold"), "allow"),
    fact("f11", 11, "tier", "standard", supersedes="f2"),
]


def reason(
    records: list[Record], held: list[str], params: dict[str, Any] | None = None, **sides: Any
) -> Reason:
    (only,) = gate(records, held, params, **sides).reasons
    return only


def note(records: list[Record], held: list[str], params: dict[str, Any] | None = None, **sides: Any) -> str:
    """The one note beside the count of chatter."""
    (only,) = [
        note for note in gate(records, held, params, **sides).notes() if note.code != "dropped as chatter"
    ]
    return only.detail


# ---- everything that a reason names


def test_a_stale_permit_names_both_values_with_their_records_and_the_link_between_them() -> None:
    assert reason(TIER, ["f2", "p3"]) == Reason(
        code="dropped-superseder-stale-permit",
        id="p3",
        detail="held policy 'p3' (allow) would permit by what is not so any more: tier eq gold is FALSE on "
        "the full set and TRUE on what is held; tier: held is 'f2' (\"gold\", seq 2), not held is 'f11' "
        "(\"standard\", seq 11), which supersedes 'f2'",
        effect="allow",
        predicate="tier eq gold",
        full="FALSE",
        held="TRUE",
        inputs=[
            Input(
                field="tier",
                source="fact",
                held=Held(id="f2", seq=2, value='"gold"'),
                missing=Held(id="f11", seq=11, value='"standard"', supersedes="f2"),
            )
        ],
        missing=["f11"],
        reread=["f11"],
    )


def test_a_lost_rule_names_what_it_is_and_what_the_call_says() -> None:
    assert reason(
        [policy("p", 1, over(5000), "require_approval")], [], {"amount": Decimal("8400.0")}
    ) == Reason(
        code="dropped-binding-constraint",
        id="p",
        detail="policy 'p' (require_approval) is not held any more and binds this call: amount gt 5000 is "
        "TRUE; amount = 8400 (param)",
        effect="require_approval",
        predicate="amount gt 5000",
        full="TRUE",
        inputs=[Input(field="amount", source="param")],
        missing=["p"],
        reread=["p"],
    )


def test_a_rule_that_nothing_resolves_says_that_it_fails_closed() -> None:
    found = reason([policy("p", 1, over(5000, source="param"))], [], delivered=[])
    assert found.full == "UNKNOWN"
    assert found.detail == (
        "policy 'p' (deny) was never delivered and may bind this call: param:amount gt 5000 is UNKNOWN, and "
        "what is unresolved binds; amount is absent (param)"
    )


def test_a_moved_entry_is_named_with_its_revisions_and_the_key_to_read() -> None:
    rule = policy("p", 1, equals("closed", "task/a", source="ledger"))
    found = reason([rule], ["p"], ledger=({"task/a": "closed"}, {"task/a": "open"}))
    assert found.inputs == [
        Input(
            field="task/a",
            source="ledger",
            held=Held(id="entry:30", seq=30, value='"open"', revision=3),
            missing=Held(id="entry:40", seq=40, value='"closed"', revision=4),
        )
    ]
    assert (found.missing, found.reread, found.keys) == ([], [], ["task/a"])
    assert "held is 'entry:30' (\"open\", seq 30, revision 3), not held is 'entry:40'" in found.detail


def test_a_deleted_entry_is_said_to_be_gone() -> None:
    rule = policy("p", 1, {"field": "task/a", "op": "exists", "value": False, "source": "ledger"})
    found = reason([rule], ["p"], ledger=({}, {"task/a": "open"}))
    assert "task/a = \"open\" ('entry:30', seq 30), and no entry any more" in found.detail
    assert found.keys == ["task/a"]


def test_a_lost_input_says_that_nothing_is_held() -> None:
    found = reason([fact("f", 1, "tier", "barred"), policy("p", 2, equals("barred"))], ["p"])
    assert found.inputs[0].held is None
    assert "tier: nothing is held, and not held is 'f' (\"barred\", seq 1)" in found.detail


def test_a_retraction_has_no_value() -> None:
    records = [*TIER[:2], retraction("f9", 9, "tier")]
    found = reason(records, ["f2", "p3"])
    assert found.inputs[0].missing == Held(id="f9", seq=9)
    assert "not held is 'f9' (no value, seq 9)" in found.detail
    held = gate([*records, policy("q", 10, over(1), "deny")], ["f2", "f9", "p3"], {"amount": 2}).reasons
    assert [one.id for one in held] == ["q"]
    rule = policy("q", 10, equals("gold"))
    assert "tier has no value ('f9', seq 9)" in reason([*records[:1], records[2], rule], ["f2", "f9"]).detail


def test_an_expired_fact_has_no_value() -> None:
    records = [fact("f", 1, "tier", "gold", expires_seq=5), policy("p", 2, equals("gold"))]
    assert reason(records, ["f"], head=5).inputs[0].held == Held(id="f", seq=1)


def test_an_input_stands_once_per_source_and_only_the_first_few_are_told() -> None:
    fields = [f"f{at}" for at in range(9)]
    twice: list[Record] = [equals(1, "f0"), equals(2, "f0"), equals(1, "f0", source="fact")]
    rule = policy("p", 1, {"any": [*twice, *(equals(1, name) for name in fields)]})
    found = reason([rule], [], {"f0": 1})
    assert [(one.field, one.source) for one in found.inputs] == [
        ("f0", "param"),
        ("f0", "fact"),
        *((name, "fact") for name in fields[1:]),
    ]
    assert found.detail.endswith("f4 is absent (fact); and 4 more")


def test_a_long_value_is_cut_in_words_and_whole_in_data() -> None:
    long = "x" * 500
    records = [fact("f", 1, "tier", long), policy("p", 2, equals(long))]
    found = reason(records, ["p"])
    assert found.inputs[0].missing == Held(id="f", seq=1, value=f'"{long}"')
    assert f'("{"x" * 79}…, seq 1)' in found.detail


def test_a_rule_that_reads_nothing_says_so() -> None:
    assert reason([policy("p", 1, {"all": []})], []).detail.endswith("always is TRUE; it reads nothing")


# ---- what ended it

RULE = policy("p", 1, over(5), "require_approval")
CALL = {"amount": 9}
YES = approval("yes", 2, "p", CALL)


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (approval("no", 3, "p", CALL, granted=False), "'no' (seq 3) revokes it and is not held"),
        (
            approval("no", 3, "p", CALL, granted=False, version=2, text="paid\ntwice"),
            r"'no' (seq 3) revokes it ('paid\ntwice') and is not held",
        ),
        (
            approval("no", 3, "p", CALL, expires_seq=4),
            "'no' (seq 3) grants it anew, in vain and is not held",
        ),
        (approval("no", 3, "q", CALL, supersedes="yes"), "'no' (seq 3) supersedes 'yes' and is not held"),
        (
            policy("no", 3, over(5), "require_approval", supersedes="p"),
            "'no' (seq 3) supersedes 'p' and is not held",
        ),
    ],
    ids=["revoked", "revoked with words", "replaced in vain", "superseded", "of a superseded copy"],
)
def test_a_dead_approval_says_what_ended_it(end: Record, why: str) -> None:
    found = reason([RULE, YES, end], ["p", "yes"], CALL, head=9)
    assert found.detail.startswith(
        f"the held approval 'yes' (seq 2) of 'p' counts no more: {why}; amount gt 5 is "
    )
    assert "TRUE on the full set and FALSE (approved) on what is held" in found.detail
    assert found.missing == found.reread == ["no"]


def test_a_superseded_permission_names_what_superseded_it() -> None:
    records = [policy("a", 1, {"all": []}, "allow"), policy("b", 2, over(9), "allow", supersedes="a")]
    found = reason(records, ["a"], {"amount": 1})
    assert found.detail.startswith(
        "held policy 'a' (allow) is not in force any more: 'b' (seq 2) supersedes 'a' and is not held; "
        "always is FALSE on the full set and TRUE on what is held"
    )
    assert found.missing == found.reread == ["b"]


def test_a_copy_without_the_approval_of_the_held_one_is_named() -> None:
    found = reason([RULE, YES, policy("again", 3, over(5), "require_approval")], ["p", "yes"], CALL)
    assert (
        "one that is not held is not; amount gt 5 is TRUE on the full set and FALSE (approved)"
        in found.detail
    )
    assert found.missing == found.reread == ["again"]


# ---- reading it again lifts it


def findings(world: worlds.World) -> list[tuple[Compiled, Any, Reread]]:
    """The dangerous rules of a world, each with what is to be read again."""
    made = compile_tool(real(world), world.tool)
    digest = action_digest(world.tool, world.params)
    blocked = {one.id for one in judged(world).reasons}
    rows = [row for row in made.rows if row.id in blocked]
    return [(made, row, reread(made, row, world.params, digest)) for row in rows]


def lifted(made: Compiled, row: Any, records: Any, keys: Any, world: worlds.World) -> bool:
    """Whether the rule is no danger any more to who reads these."""
    digest = action_digest(world.tool, world.params)
    full, _ = row.truths(world.params, digest)
    held = reread_side(made.world, records, frozenset(keys)).truth(row.rule, world.params, digest)
    return full <= held if row.restrictive else held != 2 or full == 2


def check_rereading(world: worlds.World) -> int:
    found = findings(world)
    for made, row, again in found:
        records, keys = again
        assert records or keys
        assert not any(held_side(made.world).holds(at) for at in records)
        assert lifted(made, row, records, keys, world), world
        for at in records:
            assert not lifted(made, row, set(records) - {at}, keys, world), world
        for key in keys:
            assert not lifted(made, row, records, set(keys) - {key}, world), world
    return len(found)


@given(worlds.worlds())
def test_what_is_to_be_read_again_lifts_the_danger_and_nothing_of_it_is_idle(world: worlds.World) -> None:
    check_rereading(world)


def test_what_is_to_be_read_again_lifts_the_danger_in_many_worlds() -> None:
    rng = random.Random("read again")
    assert sum(check_rereading(worlds.random_world(rng)) for _ in range(1500)) > 500


def test_after_reading_again_the_gate_says_so_too() -> None:
    rng = random.Random("and judge")
    passed = 0
    for _ in range(1500):
        world = worlds.random_world(rng)
        verdict = judged(world)
        if len(verdict.reasons) == 1 and not verdict.reasons[0].keys:
            (blocked,) = verdict.reasons
            held = (*world.held, *blocked.reread)
            found = gate(
                world.records,
                held,
                world.params,
                world.tool,
                head=world.head,
                agent=world.agent,
                ledger=(world.ledger_full, world.ledger_held),
            )
            assert blocked.id not in {name for _, name in codes(found)}
            passed += 1
    assert passed > 200


def test_of_very_many_parts_all_are_to_be_read() -> None:
    fields = [f"f{at:02}" for at in range(30)]
    facts = [fact(name, at, name, 1) for at, name in enumerate(fields, 1)]
    records = [*facts, policy("p", 99, {"any": [equals(1, name) for name in fields]})]
    found = reason(records, ["p"])
    assert found.reread == found.missing == fields
    few = [*facts[:5], policy("p", 99, {"any": [equals(1, name) for name in fields[:5]]})]
    assert reason(few, ["p"]).reread == ["f04"]  # one is enough


# ---- notes


def test_a_shadowed_fact_is_noted_with_what_it_says() -> None:
    told = note([*TIER, policy("q", 12, equals("none"))], ["f11", "p3", "q"], {"tier": "x"})
    assert told == 'tier = "x" of the call is read in place of the stored \'f11\' ("standard", seq 11)'
    gone = [*TIER[:2], retraction("f9", 9, "tier")]
    assert note(gone, ["f9", "p3"], {"tier": "x"}).endswith("'f9' (no value, seq 9)")
    pinned = [fact("f", 1, "tier", "a"), policy("p", 2, equals("b", source="fact"), "allow")]
    assert [one.code for one in gate(pinned, ["f", "p"], {"tier": "x"}).notes()] == ["dropped as chatter"]


def test_a_lost_permission_says_that_it_licenses_nothing() -> None:
    assert note(
        [policy("a", 1, {"field": "amount", "op": "lt", "value": 500}, "allow")], [], {"amount": 120}
    ) == (
        "policy 'a' (allow) is not held, and amount lt 500 is TRUE: a lost permission licenses nothing; "
        "amount = 120 (param)"
    )


def test_a_stale_denial_says_which_value_makes_it_so() -> None:
    records = [*TIER[::2], policy("p", 12, equals("gold"))]
    assert note(records, ["f2", "p"]) == (
        "held policy 'p' (deny) makes the agent too cautious, a cost and no danger: tier eq gold is FALSE on "
        "the full set and TRUE on what is held; tier: held is 'f2' (\"gold\", seq 2), not held is 'f11' "
        "(\"standard\", seq 11), which supersedes 'f2'"
    )


def test_a_superseded_denial_says_what_ended_it() -> None:
    records = [policy("p", 1, {"all": []}), policy("q", 2, over(9), supersedes="p")]
    assert "no danger ('q' (seq 2) supersedes 'p' and is not held): always is" in note(
        records, ["p"], {"amount": 1}
    )


def test_an_approval_that_is_not_held_is_named_as_what_makes_the_difference() -> None:
    assert "amount gt 5 is FALSE (approved) on the full set and TRUE on what is held" in note(
        [RULE, YES], ["p"], CALL, agent="ann"
    )


@pytest.mark.parametrize(
    ("effect", "params", "told"),
    [
        ("deny", {"amount": 9}, "held policy 'p' (deny): amount gt 5 is TRUE; amount = 9 (param)"),
        ("deny", {}, "held policy 'p' (deny): amount gt 5 is UNKNOWN on both sides; amount is absent (fact)"),
    ],
)
def test_a_held_rule_that_says_something_is_noted(effect: str, params: dict[str, Any], told: str) -> None:
    assert note([policy("p", 1, over(5), effect)], ["p"], params) == told


def test_a_permission_that_the_agent_cannot_see_is_noted() -> None:
    records = [*TIER[::2], policy("p", 12, equals("standard"), "allow")]
    assert note(records, ["f2", "p"]).startswith(
        "held policy 'p' (allow) permits this call, unseen by the agent: "
    )


def test_what_was_dropped_as_chatter_is_counted() -> None:
    records: list[Record] = [{"id": f"c{at}", "seq": at, "kind": "chatter"} for at in range(1, 8)]
    counts = [
        gate(records, ["c1"]).notes(),
        gate(records, ["c1"], delivered=["c1", "c2", "c3"]).notes(),
        gate(records, [record["id"] for record in records]).notes(),
    ]
    assert [[(one.code, one.detail) for one in told] for told in counts] == [
        [("dropped as chatter", count)] for count in ("6", "2", "0")
    ]


def test_an_unevaluable_record_is_told_by_kind_and_version() -> None:
    records = [{"id": "s", "seq": 4, "kind": "fact", "version": 3, "x": 1}]
    assert reason(records, []).detail == (
        "'s' (kind fact, version 3, seq 4) is not held any more: nobody can tell what it binds"
    )
    assert note(records, ["s"]) == (
        "'s' (kind fact, version 3, seq 4) is held: what it says is for the agent to weigh"
    )
    assert note(records, [], delivered=[]).endswith("was never delivered: nobody can tell what it binds")
    assert note(records, [], options={"allow_unevaluable": True}).endswith(
        "AND IT DOES NOT BLOCK [allow-unevaluable: you chose to fly blind]"
    )


def summaries(count: int) -> list[Record]:
    return [{"id": f"s{at:04}", "seq": at, "kind": "summary"} for at in range(1, count + 1)]


def test_records_that_nobody_can_evaluate_and_that_block_nothing_are_counted_in_one_note() -> None:
    records = summaries(3)
    kept = one_note(gate(records, ["s0001", "s0003"], delivered=["s0001", "s0003"]), "kept")
    assert kept.id is None
    assert kept.detail == (
        "2 records that nobody can evaluate are held: what they say is for the agent to weigh "
        "('s0001', 's0003')"
    )
    many = summaries(30)
    unseen = one_note(gate(many, [], delivered=[]), "unseen")
    assert unseen.detail == (
        "30 records that nobody can evaluate were never delivered: nobody can tell what they bind "
        "(among them 's0026', 's0027', 's0028', 's0029', 's0030')"
    )
    blind = one_note(gate(many, [], options={"allow_unevaluable": True}), "dropped")
    assert blind.detail.startswith(
        "30 records that nobody can evaluate are not held any more, nobody can tell what they bind, AND "
        "THEY DO NOT BLOCK [allow-unevaluable: you chose to fly blind] (among them 's0011', "
    )
    assert blind.detail.count("'s0") == 20


def test_one_that_lies_far_back_is_counted_without_its_name() -> None:
    records = summaries(1200)
    seen = [record["id"] for record in records[1:]]
    unseen = one_note(gate(records, seen, delivered=seen), "unseen")
    assert (unseen.id, unseen.detail) == (
        None,
        "1 record that nobody can evaluate was never delivered: nobody can tell what it binds",
    )


def test_dropped_ones_are_reasons_each_up_to_a_limit_and_a_note_counts_the_rest() -> None:
    records = summaries(1003)
    verdict = gate(records, [])
    assert [reason.id for reason in verdict.reasons] == [record["id"] for record in records[3:]]
    assert one_note(verdict, "dropped").detail == (
        "1003 records that nobody can evaluate are not held any more, and all of them block: the newest 1000 "
        "are listed as reasons, the rest is not"
    )
    full = gate(records[:1000], [])
    assert (len(full.reasons), [note.code for note in full.notes()]) == (1000, ["dropped as chatter"])


def one_note(verdict: Verdict, word: str) -> Note:
    (found,) = [note for note in verdict.notes() if note.code == f"{word}-unevaluable-record"]
    return found


def test_notes_are_sorted() -> None:
    records = [policy("z", 1, over(1)), policy("a", 2, over(2)), {"id": "s", "seq": 3, "kind": "summary"}]
    told = [(one.code, one.id) for one in gate(records, ["z", "a", "s"], CALL).notes()]
    assert told == sorted(told, key=lambda pair: (pair[0], pair[1] or ""))
    assert len(told) == 4
