"""Every client: a check judges an action by what the agent holds, and the log keeps what it said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

import pytest

import blackboard
from blackboard import Approval, Chatter, Fact, Policy
from blackboard.client import Board
from tests.client.desk import (
    ASK,
    BIG,
    CAP,
    GOLD,
    GREEN,
    LARGE,
    NEW,
    NOT_GOLD,
    OLD,
    RED,
    SMALL,
    TOOL,
    YES,
    atom,
    codes,
    desk,
    light,
    noted,
    told,
)
from tests.client.drive import Place


class Case(NamedTuple):
    """Records, what a compaction keeps of them after all were read, and what a check of `params` says."""

    records: list[Any]
    kept: list[str]
    told: tuple[str, list[str], str]
    params: dict[str, Any] = BIG
    notes: tuple[str, ...] = ()


CASES: dict[str, Case] = {
    # -- nothing is lost: the second answer alone
    "nothing says anything": Case([], [], ("PASS", [], "default")),
    "a held rule denies": Case(
        [CAP], ["cap"], ("PASS", [], "deny"), notes=("binds, and the agent holds it",)
    ),
    "a held rule asks": Case([ASK], ["cap"], ("PASS", [], "needs-approval")),
    "a held rule asks, and it is approved": Case([ASK, YES], ["cap", "record:3"], ("PASS", [], "default")),
    "a held rule cannot be resolved": Case(
        [CAP], ["cap"], ("PASS", [], "undetermined"), {}, ("unresolved in both views",)
    ),
    "a held rule permits": Case(
        [Policy(TOOL, LARGE, "allow", id="may")], ["may"], ("PASS", [], "allowed-by")
    ),
    "a rule is for another tool": Case([Policy("notes.*", LARGE, "deny")], [], ("PASS", [], "default")),
    "a rule that was lost does not bind this call": Case([CAP], [], ("PASS", [], "default"), SMALL),
    # -- what was lost binds
    "a rule was dropped": Case([CAP], [], ("BLOCK", ["dropped-binding-constraint"], "deny")),
    "a rule was dropped that cannot be resolved": Case(
        [CAP], [], ("BLOCK", ["dropped-binding-constraint"], "undetermined"), {"amount": "8400"}
    ),
    "a held rule reads an old value": Case(
        [Policy(TOOL, NOT_GOLD, "deny", id="p"), OLD, NEW],
        ["p", "old"],
        ("BLOCK", ["dropped-superseder-stale-kept"], "deny"),
    ),
    "a held permission reads an old value": Case(
        [Policy(TOOL, GOLD, "allow", id="p"), OLD, NEW],
        ["p", "old"],
        ("BLOCK", ["dropped-superseder-stale-permit"], "default"),
    ),
    "a held permission was superseded": Case(
        [Policy(TOOL, LARGE, "allow", id="p"), Policy(TOOL, GOLD, "allow", id="q", supersedes="p")],
        ["p"],
        ("BLOCK", ["dropped-superseder-stale-permit"], "default"),
    ),
    "a held approval was revoked": Case(
        [ASK, YES, Approval.for_action("cap", TOOL, BIG, granted=False)],
        ["cap", "record:3"],
        ("BLOCK", ["dropped-superseder-stale-permit"], "needs-approval"),
    ),
    "the only input of a held rule was dropped": Case(
        [Policy(TOOL, GOLD, "deny", id="p"), OLD], ["p"], ("BLOCK", ["dropped-input-kept-rule"], "deny")
    ),
    "a held permission reads that something is absent": Case(
        [Policy(TOOL, {"not": atom("hold", True, "exists", "fact")}, "allow", id="p"), Fact("hold", "yes")],
        ["p"],
        ("BLOCK", ["dropped-input-kept-permit"], "default"),
    ),
    "what nobody can evaluate was dropped": Case(
        [{"kind": "summary", "text": "all is well"}],
        [],
        ("BLOCK", ["dropped-unevaluable-record"], "default"),
        SMALL,
    ),
    "all reasons are told, sorted": Case(
        [
            {"kind": "summary", "id": "z"},
            CAP,
            Policy("*", LARGE, "deny", id="all"),
            {"kind": "memo", "id": "a"},
        ],
        [],
        ("BLOCK", ["dropped-binding-constraint"] * 2 + ["dropped-unevaluable-record"] * 2, "deny"),
    ),
    # -- what was lost and is no danger
    "a permission was dropped": Case(
        [Policy(TOOL, LARGE, "allow", id="may")], [], ("PASS", [], "allowed-by"), notes=("permissive",)
    ),
    "an old value makes the agent cautious": Case(
        [Policy(TOOL, GOLD, "deny", id="p"), OLD, NEW],
        ["p", "old"],
        ("PASS", [], "default"),
        notes=("stale value, safe direction",),
    ),
    "an approval was dropped": Case(
        [ASK, YES], ["cap"], ("PASS", [], "default"), notes=("stale value, safe direction",)
    ),
    "another copy of the rule is held": Case(
        [CAP, Policy(TOOL, LARGE, "deny", id="copy")], ["copy"], ("PASS", [], "deny")
    ),
    "what nobody can evaluate is held": Case(
        [{"kind": "summary", "id": "s"}],
        ["s"],
        ("PASS", [], "default"),
        notes=("kept-unevaluable-record",),
    ),
    "a parameter shadows a fact": Case(
        [Policy(TOOL, atom("tier", "gold"), "deny", id="p"), OLD],
        ["p", "old"],
        ("PASS", [], "default"),
        {"tier": "base"},
        ("params-shadow-fact",),
    ),
    "chatter was dropped, and is believed": Case([Chatter("x"), Chatter("y")], [], ("PASS", [], "default")),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_was_lost_is_weighed_for_this_action(place: Place, case: str) -> None:
    records, kept, wanted, params, notes = CASES[case]
    _, board = await desk(place, *records)
    await board.read_records()
    await board.compacted(kept=kept)
    verdict = await board.check(TOOL, params)
    assert told(verdict) == wanted
    assert set(notes) <= noted(verdict).keys()
    assert [(reason.code, reason.id) for reason in verdict.reasons] == sorted(
        (reason.code, reason.id) for reason in verdict.reasons
    )
    for reason in verdict.reasons:
        await board.read_records(reason.reread)
    assert told(await board.check(TOOL, params)) == ("PASS", [], wanted[2])


async def test_a_reason_tells_all_that_it_takes_to_check_it_by_hand(place: Place) -> None:
    _, board = await desk(place, Policy(TOOL, NOT_GOLD, "deny", id="p"), OLD, NEW)
    await board.read_records()
    await board.compacted(kept=["p", "old"])
    verdict = await board.check(TOOL, BIG)
    (reason,) = verdict.reasons
    assert (reason.id, reason.effect, reason.predicate) == ("p", "deny", "not fact:tier eq gold")
    assert (reason.full, reason.held) == ("TRUE", "FALSE")
    assert (reason.missing, reason.reread, reason.keys) == (["new"], ["new"], [])
    (read,) = reason.inputs
    assert read.held is not None
    assert read.missing is not None
    assert (read.field, read.source) == ("tier", "fact")
    assert (read.held.id, read.held.seq, read.held.value) == ("old", 3, '"gold"')
    assert (read.missing.id, read.missing.seq, read.missing.value) == ("new", 4, '"base"')
    assert (verdict.policy.rules, verdict.records) == (["p"], ["new", "p"])
    for word in ("p", "tier", "old", "new", "TRUE", "FALSE"):
        assert word in reason.detail


async def test_how_much_went_as_chatter_is_always_told(place: Place) -> None:
    _, board = await desk(place, Chatter("x", id="x"), Chatter("y"), Chatter("z"))
    await board.read_records()
    await board.compacted(kept=["x"])
    (note,) = (await board.check(TOOL, BIG)).notes
    assert (note.code, note.detail) == ("dropped as chatter", "2")


async def test_what_was_never_delivered_blocks_by_another_name(place: Place) -> None:
    _, board = await desk(place, CAP, {"kind": "summary", "id": "s"})
    verdict = await board.check(TOOL, BIG)
    assert told(verdict) == ("BLOCK", ["unseen-binding-constraint"], "deny")
    assert noted(verdict) == {"unseen-unevaluable-record": "s"}


async def test_a_policy_may_only_note_what_was_never_delivered(place: Place) -> None:
    operator, board = await desk(place, CAP, policy={"unseen": "note"})
    verdict = await board.check(TOOL, BIG)
    assert told(verdict) == ("PASS", [], "deny")
    assert noted(verdict) == {"unseen-binding-constraint": "cap"}
    await board.read_records()
    await board.compacted(kept=[])
    assert codes(await board.check(TOOL, BIG)) == ["dropped-binding-constraint"]
    await operator.set_policy({"unseen": "block"})
    other = await place.agent("b")
    assert codes(await other.check(TOOL, BIG)) == ["unseen-binding-constraint"]


async def test_who_chooses_to_fly_blind_is_told_so_and_lifts_that_reason_alone(place: Place) -> None:
    _, board = await desk(place, CAP, {"kind": "summary", "id": "s"})
    await board.read_records()
    await board.compacted(kept=[])
    blind = await board.check(TOOL, SMALL, allow_unevaluable=True)
    assert told(blind) == ("PASS", [], "default")
    (loud,) = [note for note in blind.notes if note.id == "s"]
    assert loud.code == "dropped-unevaluable-record"
    assert "you chose to fly blind" in loud.detail
    assert codes(await board.check(TOOL, BIG, allow_unevaluable=True)) == ["dropped-binding-constraint"]
    assert codes(await board.check(TOOL, SMALL)) == ["dropped-unevaluable-record"]
    bodies = [event.body async for event in board.log(kind="action.checked")]
    assert [body.get("allow_unevaluable", False) for body in bodies] == [True, True, False]


async def test_a_rule_binds_until_the_head_reaches_its_expiry(place: Place) -> None:
    operator, board = await desk(place)
    await operator.add_record(Policy(TOOL, LARGE, "deny", id="p", expires_seq=5))
    found = [await board.check(TOOL, BIG) for _ in range(4)]
    assert [verdict.judged_at for verdict in found] == [2, 3, 4, 5]
    assert [told(verdict) for verdict in found] == [
        *[("BLOCK", ["unseen-binding-constraint"], "deny")] * 3,
        ("PASS", [], "default"),
    ]


async def test_facts_and_approvals_expire_alike_on_both_sides(place: Place) -> None:
    operator, board = await desk(place, Policy(TOOL, GOLD, "allow", id="p"), ASK)
    head = operator.head
    await operator.add_record(Fact("tier", "gold", expires_seq=head + 5))
    await operator.add_record(
        {"kind": "approval", "policy": "cap", "granted": True, "expires_seq": head + 6}
        | {"action_digest": blackboard.action_digest(TOOL, BIG)}
    )
    await board.read_records()
    found = [told(await board.check(TOOL, BIG)) for _ in range(4)]
    assert found == [
        ("PASS", [], "allowed-by"),  # judged at head + 3
        ("PASS", [], "allowed-by"),
        ("PASS", [], "default"),  # the fact has ended, the approval has not
        ("PASS", [], "needs-approval"),
    ]


async def test_a_check_is_told_to_agents_alone(place: Place) -> None:
    operator, agent = await desk(place, CAP)
    for other in (operator, await place.auditor()):
        with pytest.raises(blackboard.NotAllowed):
            await other.check(TOOL, BIG)
    assert (await agent.events()).head == 2


async def test_a_check_changes_neither_view_nor_standing(place: Place) -> None:
    _, board = await desk(place, CAP)
    await board.read_records()
    await board.write("k", 1, revision=1)
    await board.compacted(kept=[])
    verdict = await board.check(TOOL, BIG)
    assert verdict.standing is not None
    assert verdict.standing.state == "compacted"
    assert codes(await board.check(TOOL, BIG)) == codes(verdict)


async def test_the_board_tells_an_operator_what_it_answered(place: Place) -> None:
    operator, board = await desk(place, CAP)
    await board.check(TOOL, BIG)
    await board.check(TOOL, SMALL)
    agents = (await operator.agents()).agents
    assert [one.agent for one in agents] == ["a"]
    assert [event.actor async for event in operator.log(kind="action.checked")] == ["agent:a", "agent:a"]


# -- the basis, and the ledger as facts


async def test_a_basis_that_moved_blocks(place: Place) -> None:
    _, board = await desk(place)
    peer = await place.agent("b")
    await board.write("task/A", "red", revision=1)
    assert told(await board.check(TOOL, SMALL, basis={"task/A": 1})) == ("PASS", [], "default")
    await peer.read("task/A")
    await peer.write("task/A", "green", revision=2)
    verdict = await board.check(TOOL, SMALL, basis={"task/A": 1, "task/B": 0})
    assert told(verdict) == ("BLOCK", ["basis-moved", "basis-moved"], "default")
    assert [(reason.id, reason.keys) for reason in verdict.reasons] == [
        ("task/A", ["task/A"]),
        ("task/B", ["task/B"]),
    ]
    assert "revision 1" in verdict.reasons[0].detail
    assert "the agent does not hold" in verdict.reasons[1].detail
    await board.read_many(["task/A", "task/B"])
    assert told(await board.check(TOOL, SMALL, basis={"task/A": 2, "task/B": 0}))[0] == "PASS"
    assert codes(await board.check(TOOL, SMALL, basis={"task/A": 1})) == ["basis-moved"]
    await board.compacted(kept=[])
    assert codes(await board.check(TOOL, SMALL, basis={"task/A": 2})) == ["basis-moved"]


class Ledger(NamedTuple):
    """The values that the peer writes, after which of them the agent reads, and what a check says then."""

    rule: Policy
    written: list[Any]
    read_after: int
    told: tuple[str, list[str], str]


LEDGER: dict[str, Ledger] = {
    "the current entry is held": Ledger(light("deny", "red"), [RED], 1, ("PASS", [], "deny")),
    "the entry was never read": Ledger(
        light("deny", "red"), [RED], 0, ("BLOCK", ["unseen-input-kept-rule"], "deny")
    ),
    "an old entry hides a rule": Ledger(
        light("deny", "red"), [GREEN, RED], 1, ("BLOCK", ["unseen-superseder-stale-kept"], "deny")
    ),
    "an old entry makes cautious": Ledger(light("deny", "red"), [RED, GREEN], 1, ("PASS", [], "default")),
    "an old entry permits": Ledger(
        light("allow", "green"), [GREEN, RED], 1, ("BLOCK", ["unseen-superseder-stale-permit"], "default")
    ),
    "the entry was deleted": Ledger(
        light("deny", "red"), [GREEN, None], 1, ("BLOCK", ["unseen-superseder-stale-kept"], "undetermined")
    ),
    "nothing stands at the place": Ledger(light("deny", "red"), ["red"], 1, ("PASS", [], "undetermined")),
    "nobody has written it": Ledger(light("deny", "red"), [], 0, ("PASS", [], "undetermined")),
}


async def written(peer: Board, values: Iterable[Any], first: int = 1) -> None:
    for revision, value in enumerate(values, first):
        if value is None:
            await peer.delete("task/B", revision=revision)
        else:
            await peer.write("task/B", value, revision=revision)


@pytest.mark.parametrize("case", LEDGER)
async def test_entries_of_the_ledger_are_facts_of_one_notion_of_newest(place: Place, case: str) -> None:
    rule, values, read_after, wanted = LEDGER[case]
    _, board = await desk(place, rule)
    peer = await place.agent("b", writes=["task/*"])
    await board.read_records()
    await written(peer, values[:read_after])
    if read_after:
        await board.read("task/B")
    await written(peer, values[read_after:], read_after + 1)
    verdict = await board.check(TOOL, BIG)
    assert told(verdict) == wanted
    for reason in verdict.reasons:
        assert (reason.keys, reason.reread) == (["task/B"], [])
        await board.read_many(reason.keys)
    assert told(await board.check(TOOL, BIG)) == ("PASS", [], wanted[2])
    await board.compacted(kept=["light"])
    lost = await board.check(TOOL, BIG)
    assert told(lost) == (
        ("BLOCK", ["dropped-input-kept-rule"], "deny") if wanted[2] == "deny" else ("PASS", [], wanted[2])
    )


async def test_who_writes_an_entry_holds_it(place: Place) -> None:
    _, board = await desk(place, light("deny", "red"), writes=["task/B"])
    await board.read_records()
    await board.write("task/B", GREEN, revision=1)
    assert told(await board.check(TOOL, BIG)) == ("PASS", [], "default")


# -- what is malformed


Call = Callable[[Any], Awaitable[Any]]
MALFORMED: dict[str, tuple[Call, str]] = {
    "a tool that is no text": (lambda b: b.check(5), "/tool"),
    "an empty tool": (lambda b: b.check(""), "/tool"),
    "a pattern for a tool": (lambda b: b.check("refunds.*"), "/tool"),
    "a tool of 257 bytes": (lambda b: b.check("x" * 257), "/tool"),
    "params that are a list": (lambda b: b.check(TOOL, [1]), "/params"),
    "params of text": (lambda b: b.check(TOOL, "amount=1"), "/params"),
    "NaN": (lambda b: b.check(TOOL, {"a": [float("nan")]}), "/params/a/0"),
    "a set": (lambda b: b.check(TOOL, {"a": {1}}), "/params/a"),
    "an integer beyond 2^53": (lambda b: b.check(TOOL, {"a": 2**53}), "/params/a"),
    "a lone surrogate": (lambda b: b.check(TOOL, {"a": "\ud800"}), "/params/a"),
    "a parameter without name": (lambda b: b.check(TOOL, {"": 1}), "/params"),
    "a parameter's name that is no text": (lambda b: b.check(TOOL, {1: 2}), "/params"),
    "a basis of text": (lambda b: b.check(TOOL, basis={"a": "1"}), "/basis"),
    "a basis that is none": (lambda b: b.check(TOOL, basis=[("a", 1)]), "/basis"),
    "a negative basis": (lambda b: b.check(TOOL, basis={"a": -1}), "/basis/a"),
    "a choice that is none": (lambda b: b.check(TOOL, allow_unevaluable="yes"), "/allow_unevaluable"),
    "a negative turn": (lambda b: b.check(TOOL, turn=-1), "/turn"),
    "no tools": (lambda b: b.must_keep([]), "/tools"),
    "tools as text": (lambda b: b.must_keep(TOOL), "/tools"),
    "a tool that is a number": (lambda b: b.must_keep([TOOL, 5]), "/tools/1"),
    "a tool without name": (lambda b: b.must_keep([{"input_schema": {}}]), "/tools/0/name"),
    "a pattern among the tools": (lambda b: b.repair([], ["refunds.*"]), "/tools/0"),
    "a kept record that is none": (lambda b: b.repair(["cap", "nope"], [TOOL]), "/kept/1"),
    "kept as text": (lambda b: b.repair("cap", [TOOL]), "/kept"),
}


@pytest.mark.parametrize("case", MALFORMED)
async def test_what_is_malformed_names_the_member_and_is_not_logged(place: Place, case: str) -> None:
    call, member = MALFORMED[case]
    _, board = await desk(place, CAP)
    with pytest.raises(blackboard.Malformed) as caught:
        await call(board)
    assert (caught.value.member or "").startswith(member), caught.value.member
    assert caught.value.detail
    assert (await board.events()).head == 2
