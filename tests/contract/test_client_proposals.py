"""Every client: single-writer mode, where others propose and the coordinator decides."""

import pytest

import blackboard
from blackboard import Proposal, Write
from blackboard.client import Board
from blackboard.messages.replies import ProposalWrite
from tests.client.drive import Place


async def single_writer(place: Place) -> tuple[Board, Board, Board]:
    """Operator, coordinator and writer; the coordinator has written `k`, and both have read it."""
    operator = await place.operator()
    await operator.open_board()
    await operator.set_mode("single-writer", "lead", why="a peer is out of reach")
    lead, writer = await place.agent("lead"), await place.agent("writer")
    await lead.write("k", {"v": 1}, revision=1)
    await writer.read("k")
    return operator, lead, writer


async def test_a_proposal_becomes_the_coordinators_write(place: Place) -> None:
    _, lead, writer = await single_writer(place)
    with pytest.raises(blackboard.SingleWriter) as caught:
        await writer.write("k", {"v": 2}, revision=2)
    assert caught.value.remedy.call == "propose"
    proposed = await writer.propose(
        [Write("k", 2, {"v": 2}, 0.5, basis={"k": 1}), {"key": "new", "revision": 1, "value": None}],
        reason="measured",
        turn=3,
    )
    assert proposed.seq is not None
    assert proposed.proposal == f"proposal:{proposed.seq}"
    reply = await lead.proposals()
    assert reply.proposals == [
        Proposal(
            id=proposed.proposal,
            seq=proposed.seq,
            proposer="writer",
            reason="measured",
            writes=[
                ProposalWrite(key="k", revision=2, value={"v": 2}, held=1, confidence=0.5, basis={"k": 1}),
                ProposalWrite(key="new", revision=1, value=None, held=None),
            ],
        )
    ]
    ack = await lead.accept(proposed.proposal)
    assert [(entry.key, entry.revision) for entry in ack.entries] == [("k", 2), ("new", 1)]
    entry = await writer.read("k")
    assert (entry.value, entry.writer, entry.id) == ({"v": 2}, "lead", ack.entries[0].id)
    assert (await lead.proposals()).proposals == []


async def test_nothing_is_accepted_unread(place: Place) -> None:
    _, lead, writer = await single_writer(place)
    proposed = await writer.propose([Write("k", 2, "v2")])
    with pytest.raises(blackboard.UnseenRevision):
        await lead.accept(proposed.proposal)
    await lead.proposals(turn=1)
    await lead.accept(proposed.proposal, turn=1)


async def test_what_its_proposer_never_saw_needs_a_restatement(place: Place) -> None:
    _, lead, writer = await single_writer(place)
    proposed = await writer.propose([Write("k", 3, "v3")])
    await lead.write("k", {"v": 2}, revision=2)
    await lead.proposals()
    with pytest.raises(blackboard.UnseenRevision) as caught:
        await lead.accept(proposed.proposal)
    assert "restate" in caught.value.detail
    assert len((await lead.proposals()).proposals) == 1
    assert (await lead.accept(proposed.proposal, restate=True)).entries[0].revision == 3


async def test_a_proposal_is_decided_once(place: Place) -> None:
    _, lead, writer = await single_writer(place)
    proposed = await writer.propose([Write("k", 2, "v2")])
    done = await lead.refuse(proposed.proposal, "nobody has answered yet")
    assert (done.replayed, done.head) == (False, lead.head)
    for decide in (lead.accept, lead.refuse):
        with pytest.raises(blackboard.ProposalClosed):
            await decide(proposed.proposal)
    (refused,) = [event async for event in lead.log(kind="proposal.refused")]
    assert refused.body == {"proposal": proposed.proposal, "reason": "nobody has answered yet"}


async def test_a_retried_acceptance_gets_the_same_answer(place: Place) -> None:
    _, lead, writer = await single_writer(place)
    proposed = await writer.propose([Write("k", 2, "v2")])
    await lead.proposals()
    first = await lead.accept(proposed.proposal, idempotency_key="accept")
    again = await lead.accept(proposed.proposal, idempotency_key="accept")
    assert again.replayed
    assert (again.seq, [entry.seq for entry in again.entries]) == (
        first.seq,
        [entry.seq for entry in first.entries],
    )


async def test_only_the_coordinator_decides(place: Place) -> None:
    _, _, writer = await single_writer(place)
    proposed = await writer.propose([Write("k", 2, "v2")])
    await writer.proposals()
    for decide in (writer.accept, writer.refuse):
        with pytest.raises(blackboard.NotAllowed):
            await decide(proposed.proposal)


async def test_a_proposal_without_revision_is_refused(place: Place) -> None:
    _, _, writer = await single_writer(place)
    with pytest.raises(blackboard.RevisionMissing):
        await writer.propose([{"key": "k", "value": 1}])


async def test_the_pen_changes_hands_and_is_laid_down(place: Place) -> None:
    operator, lead, writer = await single_writer(place)
    await operator.set_mode("single-writer", "writer")
    with pytest.raises(blackboard.SingleWriter):
        await lead.write("k", 2, revision=2)
    assert [notice.what for notice in lead.notices] == ["mode"]
    await writer.write("k", 2, revision=2)
    await operator.set_mode("open")
    shown = await operator.get_board()
    assert (shown.mode, shown.coordinator) == ("open", None)


async def test_a_compaction_that_nobody_can_be_told_of_puts_the_pen_into_one_hand(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board({"coordinator": "lead"})
    writer = await place.agent("writer")
    reply = await writer.compacted(notify="impossible")
    assert reply.mode == "single-writer"
    assert (await operator.get_board()).coordinator == "lead"


async def test_operators_see_proposals_without_leaving_a_trace(place: Place) -> None:
    operator, _, writer = await single_writer(place)
    proposed = await writer.propose([Write("k", 2, "v2")])
    head = proposed.head
    assert [one.id for one in (await operator.proposals()).proposals] == [proposed.proposal]
    assert (await operator.get_board()).head == head
