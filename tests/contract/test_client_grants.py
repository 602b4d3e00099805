"""Every client: who may add which records, and that no agent adds what licenses its own action."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import blackboard
from blackboard import Approval, Chatter, Fact, Policy, Write
from blackboard.client import Board
from tests.client.desk import ASK, BIG, CAP, LARGE, NEW, NOT_GOLD, TOOL, YES, atom, desk
from tests.client.drive import Place

Call = Callable[[Any], Awaitable[Any]]
DIGEST = "ab" * 32
RULE = {"kind": "policy", "scope": TOOL, "predicate": LARGE, "effect": "deny"}
FACT = {"kind": "fact", "field": "tier", "value": "gold"}
APPROVAL = {"kind": "approval", "policy": "cap", "action_digest": DIGEST, "granted": True}


GRANTS: dict[str, tuple[list[str], Any, str]] = {
    "a policy": (["chatter", "approval", "fact:*", "opaque"], RULE, "policy"),
    "a permission": (["chatter"], RULE | {"effect": "allow"}, "policy"),
    "an approval": (["chatter", "policy", "fact:*"], APPROVAL, "approval"),
    "a fact": (["chatter", "policy", "approval"], FACT, "fact:tier"),
    "a fact of another field": (["fact:customer.*", "fact:tie"], FACT, "fact:tier"),
    "a retraction": (["chatter"], {"kind": "fact", "field": "tier", "retracted": True}, "fact:tier"),
    "chatter": (["policy"], {"kind": "chatter"}, "chatter"),
    "a kind that nobody knows": (["chatter", "policy"], {"kind": "summary", "text": "done"}, "opaque"),
    "a policy of another version": (["opaque"], {"kind": "policy", "version": 2}, "policy"),
    "a fact of another version": (["opaque", "fact:tier"], {"kind": "fact", "version": 2}, "fact:*"),
}


@pytest.mark.parametrize("case", GRANTS)
async def test_without_the_grant_for_its_kind_no_record_is_added(place: Place, case: str) -> None:
    given, record, wanted = GRANTS[case]
    _, board = await desk(place, CAP, records=given)
    with pytest.raises(blackboard.NotAllowed) as caught:
        await board.add_record(record)
    assert caught.value.members["grant"] == wanted
    assert wanted in caught.value.detail
    assert (await board.events()).head == 2
    granted = await place.agent("b", records=[wanted])
    assert (await granted.add_record(record)).seq == 3


async def test_a_grant_that_stands_for_nothing_is_refused(place: Place) -> None:
    for wrong in ("polcy", "fact", "fact:", "approval:*", "*"):
        with pytest.raises(blackboard.Malformed, match="grants nothing"):
            await place.agent("b", records=["chatter", wrong])


async def test_an_approval_of_no_policy_is_refused(place: Place) -> None:
    operator, _ = await desk(place, CAP, Fact("tier", "gold", id="tier"))
    for nothing in ("cpa", "tier"):
        with pytest.raises(blackboard.Malformed, match="nothing would be approved") as caught:
            await operator.add_record(Approval.for_action(nothing, TOOL, BIG))
        assert caught.value.member == "/record/policy"
    assert (await operator.events()).head == 3


async def test_a_grant_for_facts_may_be_a_pattern(place: Place) -> None:
    _, board = await desk(place, records=["fact:customer.*"])
    await board.add_record(Fact("customer.tier", "gold"))
    with pytest.raises(blackboard.NotAllowed):
        await board.add_record(Fact("Customer.tier", "gold"))


async def test_nobody_adds_records_as_an_auditor_and_only_agents_read_them(place: Place) -> None:
    operator, agent = await desk(place, CAP)
    auditor = await place.auditor()
    calls: list[Call] = [
        lambda _: auditor.add_record(Chatter("hello")),
        lambda _: auditor.read_records(),
        lambda _: operator.read_records(["cap"]),
    ]
    for call in calls:
        with pytest.raises(blackboard.NotAllowed):
            await call(None)
    assert (await agent.events()).head == 2


@pytest.mark.parametrize("claimed", ["operator:ops", "ops", "a", "agent:b", "nobody"])
async def test_nobody_approves_in_anothers_name(place: Place, claimed: str) -> None:
    _, board = await desk(place, CAP, records=["approval"])
    approver = await place.agent("reviewer", records=["approval"])
    with pytest.raises(blackboard.NotAllowed, match="cannot approve as"):
        await approver.add_record(APPROVAL | {"approver": claimed})
    assert (await board.events()).head == 2


async def test_the_approver_is_who_adds_the_approval(place: Place) -> None:
    operator, _ = await desk(place, CAP)
    approver = await place.agent("reviewer", records=["approval"])
    replies = [
        await approver.add_record(APPROVAL),
        await approver.add_record(APPROVAL | {"approver": "agent:reviewer"}),
        await operator.add_record(Approval("cap", DIGEST, True)),
    ]
    assert [reply.record["approver"] for reply in replies] == [
        "agent:reviewer",
        "agent:reviewer",
        "operator:ops",
    ]


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
