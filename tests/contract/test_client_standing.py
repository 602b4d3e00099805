"""Every client: who was compacted is told so, and so is everyone else, at the next call."""

import pytest

import blackboard
from blackboard import Guarantee, Write
from tests.client.drive import Place


async def test_the_observed_incident_announced(place: Place) -> None:
    """Seed 1: the executor's summary says that B is complete; the board says that it failed."""
    planner, executor, verifier = [await place.agent(name) for name in ("planner", "executor", "verifier")]
    await planner.write_many([Write(f"task/{name}", 1, {"status": "pending"}) for name in "ABC"])
    await verifier.read_all()
    await executor.read_all()
    await executor.write("task/A", {"status": "complete"}, revision=2)
    await executor.write("task/B", {"status": "failed", "note": "retry pending"}, revision=2)
    await executor.compacted(cause="summary", tokens_before=180_000, tokens_after=2_000)

    with pytest.raises(blackboard.RevalidationRequired) as caught:
        await executor.write("task/B", {"status": "complete"}, revision=3)
    assert caught.value.remedy.keys == ["task/B"]
    assert "unseen-revision" in {rule.code for rule in caught.value.rules}
    assert caught.value.standing.state == "compacted"

    for peer in (planner, verifier):
        await peer.read("task/C")
        assert [(notice.about, notice.what) for notice in peer.notices] == [("agent:executor", "compacted")]

    ledger = await executor.read_all()
    assert {entry.key: entry.value["status"] for entry in ledger.entries} == {
        "task/A": "complete",
        "task/B": "failed",
        "task/C": "pending",
    }
    assert executor.standing is not None
    assert executor.standing.state == "active"
    await executor.write("task/B", {"status": "retrying"}, revision=3)
    await verifier.read("task/B")
    assert [(notice.about, notice.what) for notice in verifier.notices] == [("agent:executor", "restored")]


async def test_the_standing_of_a_demoted_agent_says_why_what_it_may_and_the_way_back(place: Place) -> None:
    board, peer = await place.agent("a"), await place.agent("b")
    await peer.write_many([Write("k1", 1, 1), Write("k2", 1, 1)])
    await board.read_many(["k1", "k2"])
    reply = await board.compacted(cause="truncation")
    standing = board.standing
    assert standing is not None
    assert standing == reply.standing
    assert (standing.state, standing.since, standing.owed) == ("compacted", reply.seq, 2)
    assert "truncation" in (standing.why or "")
    assert standing.may
    assert "read_all" in (standing.clear or "")
    with pytest.raises(blackboard.RevalidationRequired):
        await board.write("k1", 2, revision=2)
    assert board.standing is not None
    assert board.standing.keys == ["k1"]
    await board.read("k1")
    assert (board.standing.state, board.standing.owed) == ("compacted", 1)
    await board.write("k1", 2, revision=2)
    await board.read("k2")
    assert board.standing.state == "active"


async def test_a_compaction_tells_what_it_did(place: Place) -> None:
    board = await place.agent("a")
    await board.write("k", 1, revision=1)
    reply = await board.compacted(
        cause="eviction",
        base_seq=1,
        kept=["r-1", "r-2"],
        notify="in-band",
        tokens_before=10,
        tokens_after=1,
        summary_digest="ab" * 32,
        turn=1,
    )
    assert (reply.agents, reply.base_seq, reply.unknown_kept) == (["a"], 1, ["r-1", "r-2"])
    assert reply.mode is None
    assert [signal.name for signal in reply.signals] == ["invented-record"]
    (event,) = [event async for event in board.log(kind="agent.compacted")]
    assert event.body["summary_digest"] == "ab" * 32
    assert (event.body["tokens"], event.turn) == ({"before": 10, "after": 1}, 1)


async def test_an_operator_reports_a_compaction_that_nobody_owned_up_to(place: Place) -> None:
    a, b, operator = await place.agent("a"), await place.agent("b"), await place.operator()
    await a.write("k", 1, revision=1)
    await b.read("k")
    reply = await operator.compacted(agents=["a", "b"], cause="unknown")
    assert reply.agents == ["a", "b"]
    assert operator.standing is None
    for board in (a, b):
        with pytest.raises(blackboard.RevalidationRequired):
            await board.write("k", 2, revision=2)
    with pytest.raises(blackboard.Malformed):
        await operator.compacted()


async def test_an_agent_learns_early_that_what_it_holds_has_moved(place: Place) -> None:
    board, peer = await place.agent("a"), await place.agent("b")
    await board.write("k", 1, revision=1)
    await peer.read("k")
    ack = await peer.write("k", 2, revision=2)
    await board.say("still here, entry:2")
    (moved,) = board.moved
    assert (moved.key, moved.revision, moved.writer, moved.seq) == ("k", 2, "b", ack.seq)
    await board.say("still here, entry:2")
    assert board.moved == ()


async def test_notices_come_once_and_a_new_connection_hears_the_latest(place: Place) -> None:
    board, peer, operator = await place.agent("a"), await place.agent("b"), await place.operator()
    await board.write("k", 1, revision=1)
    await peer.read("k")
    await peer.compacted(cause="clear")
    await operator.set_policy({"completion_window": 4})
    await board.read("k")
    assert {(notice.about, notice.what) for notice in board.notices} == {
        ("agent:b", "compacted"),
        ("board", "policy"),
    }
    await board.read("k")
    assert board.notices == ()
    again = await place.agent("a")
    reply = await again.read_many(["k"])
    assert {(notice.about, notice.what) for notice in reply.notices} == {
        ("agent:b", "compacted"),
        ("board", "policy"),
    }


async def test_an_error_carries_notices_too_and_they_count_as_heard(place: Place) -> None:
    board, peer = await place.agent("a"), await place.agent("b")
    await board.write("k", 1, revision=1)
    await peer.read("k")
    await peer.compacted()
    with pytest.raises(blackboard.RevisionReused) as caught:
        await board.write("k", 2, revision=1)
    assert [notice.about for notice in caught.value.notices] == ["agent:b"]
    assert board.notices == caught.value.notices
    await board.read("k")
    assert board.notices == ()


async def test_a_message_without_identifiers_suspends_the_writes_of_who_used_to_cite(place: Place) -> None:
    board = await place.agent("a")
    await board.write("task/A", {"status": "done"}, revision=1)
    for _ in range(4):
        assert (await board.say("task/A@1 is done")).signals == []
    said = await board.say("The completed tasks are done.")
    (signal,) = said.signals
    assert (signal.name, signal.agent, signal.effect, signal.seq) == (
        "citation-decay",
        "a",
        "suspect",
        said.seq,
    )
    assert signal.evidence
    assert signal.numbers
    assert said.standing is not None
    assert said.standing.state == "suspected"
    with pytest.raises(blackboard.RevalidationRequired):
        await board.write("new", 1, revision=1)
    await board.read_all()
    await board.write("new", 1, revision=1)


async def test_a_policy_that_switches_a_leg_off_is_named_in_every_reply(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board({"demotion": "off", "require_view": False, "revisions": "advisory"})
    board = await place.agent()
    ack = await board.write("k", 1, revision=9)
    assert ack.guarantee == Guarantee(
        intact=False, off=["revisions: advisory", "require_view: false", "demotion: off"]
    )
    assert board.guarantee == ack.guarantee
    assert ack.entries[0].revision == 9


async def test_a_read_only_agent_is_told_by_the_code(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board({"demotion": "read-only"})
    board = await place.agent()
    await board.write_many([Write("a", 1, 1), Write("b", 1, 1)])
    await board.compacted()
    await board.read("a")
    with pytest.raises(blackboard.AgentReadOnly):
        await board.write("a", 2, revision=2)


async def test_finishing_the_unfinished_needs_a_read(place: Place) -> None:
    board = await place.agent()
    await board.write("task", {"status": "running"}, revision=1)
    with pytest.raises(blackboard.CompletionUnverified):
        await board.write("task", {"status": "done"}, revision=2)
    await board.read("task")
    await board.write("task", {"status": "done"}, revision=2)


async def test_a_revision_must_not_skip_where_the_policy_says_so(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board({"revisions": "contiguous"})
    board = await place.agent()
    with pytest.raises(blackboard.RevisionSkipped):
        await board.write("k", 1, revision=2)
