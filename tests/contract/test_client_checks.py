"""Every client: a check judges an action by what the agent holds, and the log keeps what it said."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
from msgspec import to_builtins

import blackboard
from blackboard import Approval, Chatter, EventView, Fact, Policy, Write, canonical
from blackboard.client import Board
from blackboard.gate.actions.examine import Options, examine
from blackboard.gate.actions.report import Section
from tests.client.desk import BIG, CAP, LARGE, SMALL, TOOL, atom, codes, desk, noted, told
from tests.client.drive import KINDS, Http, Place
from tests.client.fixtures import database, live_server, place, place_of
from tests.client.live import LiveServer, serving
from tests.contract.test_client_parity import plain

__all__ = ["database", "live_server", "place"]

GOLD = {"field": "tier", "op": "eq", "value": "gold", "source": "fact"}
NOT_GOLD = {"not": GOLD}
YES = Approval.for_action("cap", TOOL, BIG)
ASK = Policy(TOOL, LARGE, "require_approval", id="cap")


class Case(NamedTuple):
    """Records, what a compaction keeps of them after all were read, and what a check of `params` says."""

    records: list[Any]
    kept: list[str]
    told: tuple[str, list[str], str]
    params: dict[str, Any] = BIG
    notes: tuple[str, ...] = ()


OLD, NEW = Fact("tier", "gold", id="old"), Fact("tier", "base", id="new")
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


def light(effect: Any, color: str, **more: Any) -> Policy:
    predicate = atom("task/B", color, source="ledger", at="/light", **more)
    return Policy(TOOL, predicate, effect, id="light")


class Ledger(NamedTuple):
    """The values that the peer writes, after which of them the agent reads, and what a check says then."""

    rule: Policy
    written: list[Any]
    read_after: int
    told: tuple[str, list[str], str]


GREEN, RED = {"light": "green"}, {"light": "red"}
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


# -- checks and the log


async def test_a_check_is_an_event_of_its_own_whatever_it_says(place: Place) -> None:
    _, board = await desk(place, CAP)
    found = [await board.check(TOOL, params) for params in (BIG, BIG, SMALL)]
    assert [verdict.id for verdict in found] == ["check:3", "check:4", "check:5"]
    assert [(verdict.seq, verdict.judged_at) for verdict in found] == [(3, 2), (4, 3), (5, 4)]
    assert [event.seq async for event in board.log(kind="action.checked")] == [3, 4, 5]


async def test_a_check_ignores_an_idempotency_key(live_server: LiveServer) -> None:
    async with blackboard.connect(live_server.url, board="keys", token=live_server.token) as operator:
        await operator.open_board()
        secret = (await operator.create_token("agent", "a")).token
        headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": "the-same"}
        async with aiohttp.ClientSession(live_server.url, headers=headers) as session:
            ids = []
            for rule in ([], [CAP]):
                for record in rule:
                    await operator.add_record(record)
                async with session.post(
                    "/v1/boards/keys/checks", json={"tool": TOOL, "params": BIG}
                ) as answer:
                    reply = await answer.json()
                ids.append((reply["id"], reply["verdict"], [reason["code"] for reason in reply["reasons"]]))
    assert ids == [("check:2", "PASS", []), ("check:4", "BLOCK", ["unseen-binding-constraint"])]


async def test_the_log_holds_what_it_takes_to_judge_again(place: Place) -> None:
    operator, board = await desk(
        place,
        CAP,
        OLD,
        NEW,
        Policy(TOOL, NOT_GOLD, "require_approval", id="p"),
        {"kind": "summary", "id": "s", "text": "all is well"},
        Chatter("hello", id="c"),
    )
    await board.check(TOOL, BIG)
    await board.read_records(["cap", "old", "p", "s", "c"])
    await board.check(TOOL, BIG, turn=1)
    await board.compacted(kept=["p", "old", "c"])
    await board.check(TOOL, {"amount": 19.99, "tier": ["x", None]})
    await operator.add_record(Approval.for_action("p", TOOL, BIG))
    await board.check(TOOL, BIG, allow_unevaluable=True)
    await board.compacted(kept=["cap", "old"])  # "cap" was lost before
    await board.read_records(["p", "new", "record:8"])
    await board.check(TOOL, BIG)
    await board.check(TOOL, SMALL, basis={"none": 0})
    await board.read_records()
    await board.check(TOOL, BIG)
    events = [event async for event in operator.log()]
    checks = [event for event in events if event.kind == "action.checked"]
    assert len(checks) == 7
    for event in checks:
        body = event.body
        again = judged_again(event, events)
        recorded = body.get("reasons", [])
        moved = [reason for reason in recorded if reason["code"] == "basis-moved"]
        assert to_builtins(list(again.reasons)) == [reason for reason in recorded if reason not in moved]
        assert to_builtins(list(again.notes)) == body["notes"]
        assert to_builtins(again.policy) == body["policy"]
        assert body["verdict"] == ("BLOCK" if moved else again.verdict)
        assert (body["head"], body["digest"]) == (event.seq - 1, digest_of(body))
    assert [event.body["verdict"] for event in checks] == ["BLOCK"] * 6 + ["PASS"]


def judged_again(check: EventView, events: Iterable[EventView]) -> Section:
    """The verdict of the file tool on what the log says up to the head of a check."""
    records: list[dict[str, Any]] = []
    delivered: set[str] = set()
    held: set[str] = set()
    for event in events:
        if event.seq > check.body["head"]:
            break
        if event.kind == "record.added":
            records.append(event.body["record"] | {"seq": event.seq})
        elif event.kind == "board.read" and event.actor == check.actor:
            delivered |= set(event.body["records"])
            held |= set(event.body["records"])
        elif event.kind == "agent.compacted":
            held &= set(event.body["kept"])
    case = {
        "records": records,
        "delivered": sorted(delivered),
        "kept": sorted(held),
        "action": {"tool": check.body["tool"], "params": check.body["params"]},
        "agent": check.actor,
    }
    blind = check.body.get("allow_unevaluable", False)
    (section,) = examine(json.dumps(case).encode(), Options(allow_unevaluable=blind))
    return section


def digest_of(body: dict[str, Any]) -> str:
    return canonical.digest(b"blackboard/verdict/1\0", canonical.encode(body | {"digest": ""})).hex()


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


# -- nobody licenses its own action


async def refused(call: Awaitable[Any], board: Board) -> blackboard.NotAllowed:
    """The refusal of a call that leaves the log as it was."""
    head = (await board.events()).head
    with pytest.raises(blackboard.NotAllowed) as caught:
        await call
    assert (await board.events()).head == head
    return caught.value


async def answer(board: Board, params: dict[str, Any] = BIG) -> str:
    """The second answer on a refund, for an agent that has read everything."""
    await board.read_records()
    verdict = await board.check(TOOL, params)
    assert verdict.verdict == "PASS"
    return verdict.policy.answer


async def test_an_agent_cannot_add_itself_the_permission(place: Place) -> None:
    _, board = await desk(place, CAP, records=["chatter", "approval", "fact:*", "opaque"])
    permission = Policy(TOOL, LARGE, "allow", id="mine")
    for record in (permission, Policy(TOOL, LARGE, "allow", supersedes="cap")):
        assert (await refused(board.add_record(record), board)).members["grant"] == "policy"
    assert await answer(board) == "deny"


async def test_an_agent_cannot_add_itself_the_approval(place: Place) -> None:
    _, board = await desk(place, ASK, records=["chatter", "policy", "fact:*", "opaque"])
    assert (await refused(board.add_record(YES), board)).members["grant"] == "approval"
    assert await answer(board) == "needs-approval"


async def test_an_agent_with_the_grant_for_approvals_does_not_approve_its_own_action(place: Place) -> None:
    _, board = await desk(place, ASK, records=["approval"])
    reply = await board.add_record(YES)
    assert reply.record["approver"] == "agent:a"
    assert await answer(board) == "needs-approval"
    peer = await place.agent("b")
    assert await answer(peer) == "default"


async def test_another_credential_approves_the_action_and_no_other(place: Place) -> None:
    operator, board = await desk(place, ASK, records=["approval"])
    await board.add_record(YES)
    reviewer = await place.agent("reviewer", records=["approval"])
    await reviewer.add_record(YES)
    assert await answer(board) == "default"
    assert await answer(board, {"amount": 8401}) == "needs-approval"
    assert await answer(board, {"amount": 8400.0}) == "default"
    await operator.add_record(Approval.for_action("cap", TOOL, BIG, granted=False))
    assert await answer(board) == "needs-approval"


async def test_an_approval_never_lifts_a_denial_and_ends_with_its_policy(place: Place) -> None:
    operator, board = await desk(place, CAP, YES)
    assert await answer(board) == "deny"
    await operator.add_record(Policy(TOOL, LARGE, "require_approval", id="new", supersedes="cap"))
    assert await answer(board) == "needs-approval"


async def test_an_agent_cannot_add_itself_the_fact(place: Place) -> None:
    _, board = await desk(
        place, Policy(TOOL, NOT_GOLD, "deny"), NEW, records=["chatter", "policy", "approval", "fact:notes.*"]
    )
    for fact in (Fact("tier", "gold"), Fact("tier", "gold", supersedes="new"), Fact("tier", retracted=True)):
        assert (await refused(board.add_record(fact), board)).members["grant"] == "fact:tier"
    assert await answer(board) == "deny"
    assert await answer(board, {"tier": "gold"}) == "deny"


UNLESS_GREEN = Policy(
    TOOL, {"not": atom("release/light", "green", source="ledger")}, "deny", id="unless-green"
)
KEY = "release/light"


async def test_an_agent_cannot_add_itself_the_entry(place: Place) -> None:
    _, board = await desk(place, UNLESS_GREEN)
    attempts = [
        board.write(KEY, "green", revision=1),
        board.write_many([Write("notes/1", 1, "x"), Write(KEY, 1, "green")]),
        board.delete(KEY, revision=1),
    ]
    for attempt in attempts:
        error = await refused(attempt, board)
        assert (error.members["key"], error.members["policy"]) == (KEY, "unless-green")
        assert KEY in error.detail
    await board.write("notes/1", "x", revision=1)
    await board.read(KEY)
    assert await answer(board) == "undetermined"


async def test_a_write_grant_for_other_keys_does_not_name_the_entry(place: Place) -> None:
    _, board = await desk(place, UNLESS_GREEN, writes=["notes/*", "release/notes"])
    await refused(board.write(KEY, "green", revision=1), board)


@pytest.mark.parametrize("pattern", [KEY, "release/*", "*"])
async def test_a_write_grant_that_names_the_entry_lets_it_be_written(place: Place, pattern: str) -> None:
    _, board = await desk(place, UNLESS_GREEN, writes=[pattern])
    await board.write(KEY, "green", revision=1)
    assert await answer(board) == "default"


async def test_an_agent_cannot_add_itself_the_entry_through_a_proposal(place: Place) -> None:
    operator, coordinator = await desk(place, UNLESS_GREEN)
    await operator.set_mode("single-writer", "a")
    own = await coordinator.propose([Write(KEY, 1, "green")])
    theirs = await (await place.agent("b")).propose([Write("notes/1", 1, "x"), Write(KEY, 1, "green")])
    await coordinator.proposals()
    for proposal in (own.proposal, theirs.proposal):
        for restate in (False, True):
            error = await refused(coordinator.accept(proposal, restate), coordinator)
            assert error.members["key"] == KEY
    ledger = await operator.ledger()
    assert ledger.entries == []
    granted = await place.agent("c", writes=["*"])
    await operator.set_mode("single-writer", "c")
    await granted.proposals()
    await granted.accept(theirs.proposal)
    await coordinator.read(KEY)
    assert await answer(coordinator) == "default"


async def test_a_key_is_free_again_once_no_rule_in_force_reads_it(place: Place) -> None:
    operator, board = await desk(place, UNLESS_GREEN)
    await refused(board.write(KEY, "green", revision=1), board)
    expiry = operator.head + 2
    await operator.add_record(
        Policy(TOOL, UNLESS_GREEN.predicate, "deny", supersedes="unless-green", expires_seq=expiry)
    )
    await refused(board.write(KEY, "green", revision=1), board)
    await operator.add_record(Chatter("the head moves on"))
    await board.write(KEY, "green", revision=1)


# -- what to keep


TWO_FACTS: list[Any] = [
    CAP,
    OLD,
    NEW,
    Policy(TOOL, NOT_GOLD, "deny", id="p"),
    Fact("mood", "fine", id="m"),
    Chatter("hello", id="c"),
    {"kind": "summary", "id": "s"},
]


async def test_what_must_be_kept_keeps_every_call_safe(place: Place) -> None:
    _, board = await desk(place, *TWO_FACTS)
    await board.read_records()
    plan = await board.must_keep([TOOL])
    assert (plan.agent, plan.records, plan.held) == ("a", ["cap", "new", "p", "s"], ["cap", "new", "p", "s"])
    assert (plan.read, plan.reread, plan.smallest) == ([], [], True)
    assert plan.head == board.head
    await board.compacted(kept=plan.held)
    for params in (BIG, SMALL, {}, {"tier": "gold"}, {"amount": None}):
        assert (await board.check(TOOL, params)).verdict == "PASS"


async def test_each_of_what_must_be_kept_is_needed(place: Place) -> None:
    _, board = await desk(place, *TWO_FACTS)
    await board.read_records()
    records = (await board.must_keep([TOOL])).records
    for number, name in enumerate(records):
        agent = await place.agent(f"agent-{number}")
        await agent.read_records()
        await agent.compacted(kept=[one for one in records if one != name])
        assert (await agent.check(TOOL, BIG)).verdict == "BLOCK", name


async def test_a_repair_closes_what_is_kept_already(place: Place) -> None:
    _, board = await desk(place, *TWO_FACTS)
    await board.read_records()
    plan = await board.repair(["old", "c"], [TOOL])
    assert set(plan.held) >= {"old", "c", "new", "cap", "p", "s"}
    await board.compacted(kept=plan.held)
    assert (await board.check(TOOL, BIG)).verdict == "PASS"


async def test_what_is_not_held_is_to_be_read_and_entries_are_to_be_read_again(place: Place) -> None:
    operator, board = await desk(place, light("deny", "red"), CAP)
    peer = await place.agent("b", writes=["task/B"])
    await peer.write("task/B", RED, revision=1)
    await board.read_records(["cap"])
    for plan in (await board.must_keep([TOOL]), await board.repair(["cap"], [TOOL])):
        assert (plan.records, plan.held) == (["light", "cap"], ["cap"])
        assert (plan.read, plan.reread) == (["light"], ["task/B"])
        asked = await operator.repair(["cap"], [TOOL], agent="a")
        assert (asked.records, asked.held, asked.read) == (plan.records, plan.held, plan.read)
        await board.compacted(kept=plan.held)
    await board.read_records(plan.read)
    await board.read_many(plan.reread)
    assert told(await board.check(TOOL, SMALL)) == ("PASS", [], "deny")


async def test_a_tools_schema_says_which_calls_there_can_be(place: Place) -> None:
    _, board = await desk(place, CAP)
    await board.read_records()
    schema = {"properties": {"amount": {"type": "number", "maximum": 5000}}, "required": ["amount"]}
    assert (await board.must_keep([{"name": TOOL, "input_schema": schema}])).records == []
    assert (await board.must_keep([{"name": TOOL}])).records == ["cap"]
    assert (await board.must_keep(["notes.append"])).records == []


async def test_what_to_keep_is_told_to_the_agent_and_to_those_who_watch(place: Place) -> None:
    operator, board = await desk(place, CAP)
    await board.read_records()
    auditor = await place.auditor()
    head = board.head
    for asking in (operator, auditor, board):
        assert (await asking.must_keep([TOOL], agent="a")).held == ["cap"]
    with pytest.raises(blackboard.NotAllowed):
        await board.must_keep([TOOL], agent="b")
    with pytest.raises(blackboard.UnknownAgent):
        await operator.must_keep([TOOL], agent="nobody")
    with pytest.raises(blackboard.Malformed) as caught:
        await operator.must_keep([TOOL])
    assert caught.value.member == "/agent"
    with pytest.raises(blackboard.TooLarge):
        await board.must_keep([f"tool-{number}" for number in range(257)])
    assert (await board.events()).head == head


# -- one answer, whichever the client


async def session(place: Place) -> list[Any]:
    """Much of what can be asked at the gate, each answer as plain data."""
    operator = await place.operator()
    await operator.open_board({"unseen": "block"})
    board = await place.agent("a", records=["chatter", "fact:desk.*"], writes=["task/*"])
    calls: list[Call] = [
        lambda _: operator.add_record(CAP),
        lambda _: operator.add_record(CAP),
        lambda _: operator.add_record(light("require_approval", "red")),
        lambda _: board.add_record(Fact("desk.open", [1.5, "ü", None, {"a": True}])),
        lambda _: board.add_record(CAP),
        lambda _: board.check(TOOL, BIG),
        lambda _: board.read_records(["cap", "nope"]),
        lambda _: board.read_records(),
        lambda _: board.write("task/B", RED, revision=1),
        lambda _: board.check(TOOL, SMALL, basis={"task/B": 1}, turn=1),
        lambda _: board.check(TOOL, SMALL, basis={"task/B": 7}),
        lambda _: operator.add_record(Approval.for_action("light", TOOL, SMALL)),
        lambda _: board.check(TOOL, SMALL),
        lambda _: board.must_keep([TOOL, {"name": "notes.append", "input_schema": {"type": "object"}}]),
        lambda _: board.repair(["cap", "nope"], [TOOL]),
        lambda _: board.repair(["record:4"], [TOOL]),
        lambda _: board.compacted(kept=["cap", "nope", "record:9"]),
        lambda _: board.check(TOOL, BIG),
        lambda _: board.check(TOOL, {"amount": float("inf")}),
        lambda _: board.check("", {}),
        lambda _: board.events(kind="action.checked"),
        lambda _: operator.show_agent("a"),
    ]
    found = []
    for number, call in enumerate(calls):
        try:
            found.append((number, plain(await call(None), place.name)))
        except blackboard.BlackboardError as error:
            found.append((number, plain(error, place.name)))
    return found


async def test_a_session_at_the_gate_is_the_same_over_every_client(request: pytest.FixtureRequest) -> None:
    sessions = []
    for kind in KINDS:
        place = place_of(request, kind)
        sessions.append(await session(place))
        await place.close()
    for other in sessions[1:]:
        for one, same in zip(sessions[0], other, strict=True):
            assert one == same
    assert sum("error" in told for _, told in sessions[0]) == 5


async def test_a_verdict_and_a_certificate_outlive_the_server(tmp_path: Path) -> None:
    """What an agent holds is in the log, and the key in the state directory: a crash takes neither."""
    with serving(tmp_path / "server") as server:
        place = Place(Http(server, sync=False))
        _, board = await desk(place, *TWO_FACTS)
        await board.read_records()
        await board.compacted(kept=["p", "old"])
        before = await board.check(TOOL, BIG)
        issued = await board.certificate(TOOL)
        key = (await board.signing_key()).public_key
        server.kill()
        server.start()
        after = await board.check(TOOL, BIG)
        assert (after.reasons, after.notes, told(after)) == (before.reasons, before.notes, told(before))
        assert before.verdict == "BLOCK"
        assert (await board.certificate_valid(issued.id)).valid
        assert (await board.signing_key()).public_key == key
        await place.close()
