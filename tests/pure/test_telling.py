"""What replies tell: standing, notices, moved keys. An agent that never subscribes hears at its next call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.errors import BlackboardError, Conflict, RevalidationRequired, WriteRejected
from blackboard.gate import telling
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.principal import Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, write
from tests.pure.plays import Step, played, plays


def heard(reply: say.Reply | BlackboardError) -> list[tuple[str, str]]:
    return [(notice.about, notice.what) for notice in reply.notices]


# -- notices


def test_peers_are_told_of_a_compaction_at_their_next_call(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    seen = peer.reads("k").head
    agent.compacts(cause="summary")
    reply = peer.reads("k", seen=seen)
    (notice,) = reply.notices
    assert (notice.about, notice.what, notice.seq) == ("agent:executor", "compacted", seen + 1)
    assert "declared by itself" in notice.detail


def test_every_reply_tells_whatever_was_called(worlds: Worlds) -> None:
    world = worlds({"coordinator": "verifier"})
    agent, peer = world.agents("executor", "verifier")
    first = agent.proposes(write("p", 1)).proposal
    second = agent.proposes(write("q", 1)).proposal
    agent.compacts()
    calls: list[Callable[[], Any]] = [
        lambda: peer.reads("k"),
        lambda: peer.reads_entry("k"),
        peer.reads_page,
        peer.reads_proposals,
        lambda: peer.writes("k", 1),
        lambda: peer.writes("k", 1),
        lambda: peer.says("hello"),
        lambda: peer.proposes(write("r", 1)),
        lambda: peer.accepts(first),
        lambda: peer.refuses(second),
        lambda: peer.ends_turn(1),
        peer.compacts,
    ]
    for call in calls:
        assert heard(call()) == [("agent:executor", "compacted")]


def test_a_rejection_tells_too(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes("k", 1)
    agent.compacts()
    with pytest.raises(WriteRejected) as caught:
        peer.writes("k", 1)
    assert heard(caught.value) == [("agent:executor", "compacted")]
    assert (caught.value.seq, caught.value.head) == (world.head, world.head)


def test_what_the_caller_has_seen_is_not_told_again(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.compacts()
    seen = peer.reads("k").head
    assert heard(peer.reads("k", seen=seen)) == []


def test_without_seen_everything_is_told(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.compacts()
    assert heard(peer.reads("k")) == heard(peer.reads("k")) == [("agent:executor", "compacted")]


def test_a_seq_beyond_the_head_says_nothing_about_this_board(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.compacts()
    assert heard(peer.reads("k", seen=10_000)) == [("agent:executor", "compacted")]


def test_only_the_latest_of_each_agent_is_told(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.compacts()
    agent.compacts()
    assert heard(peer.reads("k")) == [("agent:executor", "compacted")]
    agent.reads_all()
    assert heard(peer.reads("k")) == [("agent:executor", "restored")]


def test_a_suspicion_is_told(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent, peer = world.agents("executor", "verifier")
    agent.writes("k", 7)
    (notice,) = peer.reads("x").notices
    assert (notice.what, notice.seq) == ("suspected", world.head - 1)
    assert "revision-break" in notice.detail


def test_changes_of_mode_and_policy_are_told(world: World) -> None:
    peer = world.agent("verifier")
    world.operator.sets_mode("single-writer", "planner", why="quiet night")
    world.operator.sets_policy(completion="off")
    notices = peer.reads("k").notices
    assert [(notice.about, notice.what) for notice in notices] == [("board", "policy"), ("board", "mode")]
    assert notices[0].detail == "the policy changed; switched off: completion: off"
    assert notices[1].detail == "the board is in single-writer mode; planner coordinates (quiet night)"
    world.operator.sets_mode("open")
    world.operator.sets_policy(completion="reread")
    details = [notice.detail for notice in peer.reads("k").notices]
    assert details == ["the policy changed", "the board is in open mode"]


def test_an_agent_is_not_told_of_itself(world: World) -> None:
    agent = world.agent("executor")
    assert heard(agent.compacts()) == []
    assert heard(agent.reads("k")) == []


def test_operators_are_told_of_every_agent(world: World) -> None:
    world.agent("executor").compacts()
    assert heard(world.operator.opens()) == [("agent:executor", "compacted")]


def test_without_broadcasts_only_the_board_s_own_changes_are_told(worlds: Worlds) -> None:
    world = worlds({"broadcast": False})
    agent, peer = world.agents("executor", "verifier")
    agent.compacts()
    world.operator.sets_mode("single-writer", "planner")
    assert heard(peer.reads("k")) == [("board", "mode")]


def test_at_most_fifty_are_told_and_the_rest_is_counted(world: World) -> None:
    peer = world.agent("verifier")
    for number in range(50):
        world.agent(f"a{number}").compacts()
    assert len(peer.reads("k").notices) == 50
    for number in range(50, 57):
        world.agent(f"a{number}").compacts()
    notices = peer.reads("k").notices
    assert len(notices) == 51
    assert notices[0].about == "agent:a56"
    assert (notices[-1].what, notices[-1].detail[:6]) == ("more", "7 more")


def test_what_an_agent_heard_before_its_compaction_is_told_again_until_it_is_active(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes("k", 1)
    agent.compacts()
    seen = peer.reads("x").head
    peer.compacts(base_seq=seen)
    expected = [("agent:executor", "compacted")]
    assert heard(peer.says("hm", seen=world.head)) == expected
    assert heard(peer.says("hm", seen=world.head)) == expected
    assert heard(peer.reads_all(seen=world.head)) == []


def test_what_arrived_beside_the_compaction_counts_as_seen(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    peer.writes("k", 1)
    base = world.head
    agent.compacts()
    seen = peer.reads("x").head
    peer.compacts(base_seq=base)
    assert heard(peer.says("hm", seen=seen)) == []


def test_what_a_suspected_agent_heard_before_is_told_again(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent, peer = world.agents("executor", "verifier")
    agent.compacts()
    peer.writes("k", 9)
    assert heard(peer.says("hm", seen=world.head)) == [("agent:executor", "compacted")]


# -- standing


def test_an_active_agent_is_told_that_it_is(world: World) -> None:
    assert world.agent("executor").reads("k").standing == say.ACTIVE


def test_operators_and_auditors_have_no_standing(world: World) -> None:
    assert world.operator.opens().standing is None
    auditor = Principal(role="auditor", name="kim")
    assert world.send(auditor, ask.ReadProposals()).standing is None


def test_every_reply_to_a_compacted_agent_says_since_when_why_and_what_clears_it(world: World) -> None:
    agent = world.agent("executor")
    agent.writes_many(write("a", 1), write("b", 1))
    compaction = agent.compacts(cause="summary").head
    for reply in (agent.says("x"), agent.reads("a"), agent.proposes(write("a", 2)), agent.ends_turn(3)):
        standing = reply.standing
        assert standing is not None
        assert (standing.state, standing.since) == ("compacted", compaction)
        assert "compacted (summary), declared by itself" in (standing.why or "")
        assert "write the keys that it has read since" in (standing.may or "")
        assert "read_all()" in (standing.clear or "")
    assert agent.owed == 1


def test_a_rejection_names_the_owed_keys_that_matter_to_it(world: World) -> None:
    agent = world.agent("executor")
    agent.writes_many(write("a", 1), write("b", 1), write("c", 1))
    agent.compacts()
    agent.reads("a")
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes_many(write("a", 2), write("b", 2))
    assert caught.value.standing.keys == ["b"]
    assert caught.value.standing.owed == 2


def test_at_most_fifty_keys_are_named(world: World) -> None:
    agent = world.agent("executor")
    agent.writes_many(*(write(f"k{number:03}", 1) for number in range(60)))
    agent.compacts()
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes_many(*(write(f"k{number:03}", 2) for number in range(60)))
    assert len(caught.value.standing.keys) == 50
    assert (len(caught.value.remedy.keys), caught.value.remedy.more) == (50, 10)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"demotion": "off"}, "read and write as before"),
        ({"demotion": "read-only"}, "no write is accepted before a full re-read"),
        ({}, "write the keys that it has read since event"),
    ],
)
def test_a_demoted_agent_is_told_what_it_may_still_do(
    worlds: Worlds, policy: dict[str, Any], words: str
) -> None:
    world = worlds(policy)
    standing = world.agent("executor").compacts().standing
    assert standing is not None
    assert words in (standing.may or "")


def test_a_suspected_agent_is_told_that_no_write_is_accepted(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    standing = world.agent("executor").writes("k", 5).standing
    assert standing is not None
    assert standing.state == "suspected"
    assert "no write is accepted before a full re-read" in (standing.may or "")
    assert "signal revision-break" in (standing.why or "")


# -- moved keys


def moved(reply: say.Reply) -> list[tuple[str, int, str]]:
    return [(move.key, move.revision, move.writer) for move in reply.moved]


def test_a_key_that_a_peer_advanced_is_told_before_the_next_write(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes("a", 1)
    agent.writes("b", 1)
    seen = world.head
    peer.updates("a", "new")
    reply = agent.says("on my way", seen=seen)
    assert moved(reply) == [("a", 2, "verifier")]
    assert reply.moved[0].seq == world.entry("a").seq


def test_only_the_latest_move_of_a_key_is_told(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes("a", 1)
    peer.updates("a")
    peer.updates("a")
    assert moved(agent.says("x")) == [("a", 3, "verifier")]


def test_what_the_caller_has_seen_or_read_since_has_not_moved(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes_many(write("a", 1), write("b", 1))
    peer.updates("a")
    peer.updates("b")
    agent.reads("a")
    assert moved(agent.says("x")) == [("b", 2, "verifier")]
    assert moved(agent.says("x", seen=world.head)) == []


def test_keys_that_the_caller_does_not_hold_are_not_told(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes("a", 1)
    agent.compacts()
    peer.updates("a")
    peer.writes("other", 1)
    assert moved(agent.says("x")) == []


def test_a_key_that_was_absent_when_all_was_read_has_moved_when_a_peer_makes_it(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.reads_all()
    peer.writes("new", 1)
    assert moved(agent.says("x")) == [("new", 1, "verifier")]


def test_the_callers_own_writes_are_no_moves(world: World) -> None:
    agent = world.agent("executor")
    agent.writes("a", 1)
    agent.writes("a", 2)
    assert moved(agent.says("x")) == []


def test_at_most_fifty_moves_are_told(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.reads_all()
    peer.writes_many(*(write(f"k{number}", 1) for number in range(60)))
    assert len(agent.says("x").moved) == 50


def test_operators_have_no_moved_keys(world: World) -> None:
    world.agent("executor").writes("a", 1)
    assert world.operator.opens().moved == []


def test_what_a_suspected_agent_heard_to_have_moved_is_told_again(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent, peer = world.agents("executor", "verifier")
    agent.writes("a", 1)
    peer.updates("a")
    agent.writes("b", 9)
    peer.writes("c", 1)
    assert moved(agent.says("x", seen=world.head)) == [("a", 2, "verifier")]


def plainly(board: Board, agent: AgentState, known: int, forgotten: int) -> list[str]:
    """The same by looking at every entry."""
    oldest = board.moves[0].seq if board.moves else 0
    found = [
        entry
        for entry in board.ledger.entries.values()
        if entry.writer != agent.id
        and entry.seq >= oldest
        and agent.view.base < agent.view.observed(entry.key) < entry.seq
        and not forgotten < entry.seq <= known
    ]
    return [entry.key for entry in sorted(found, key=lambda entry: -entry.seq)][:50]


@given(plays, st.integers(0, 60), st.sampled_from([0, 0, 3, 10]), st.sampled_from([3, 1024]))
def test_the_moved_keys_are_those_whose_entry_a_peer_wrote_after_it_was_seen(
    play: tuple[dict[str, Any], list[Step]], known: int, forgotten: int, remembered: int
) -> None:
    world = played(*play).world
    world.board.moves = deque(world.board.moves, maxlen=remembered)
    for agent in world.board.agents.values():
        found = telling.moved(world.board, agent, known, forgotten)
        assert [move.key for move in found] == plainly(world.board, agent, known, forgotten)


def test_of_few_keys_all_that_moved_are_told_however_busy_the_peers_are(world: World) -> None:
    agent, peer = world.agents("executor", "verifier")
    agent.writes_many(write("a", 1), write("b", 1), write("c", 1))
    peer.updates("b")
    peer.updates("a")
    agent.updates("c")
    for number in range(30):
        peer.writes(f"busy{number}", 1)
    assert moved(agent.says("x")) == [("a", 2, "verifier"), ("b", 2, "verifier")]


# -- seq and head


def test_seq_is_the_commands_last_event_and_none_where_it_left_none(world: World) -> None:
    agent = world.agent("executor")
    ack = agent.writes("k", 3)
    assert (ack.seq, ack.head) == (3, 3)
    assert world.kinds[-2:] == ["entry.written", "signal.raised"]
    assert agent.reads_proposals().seq is None
    with pytest.raises(Conflict) as caught:
        world.operator.opens({"completion": "off"})
    assert caught.value.seq is None


def test_a_receipt_names_the_original_seq(world: World) -> None:
    agent: Agent = world.agent("executor")
    first = agent.writes("k", 1)
    agent.reads("k")
    again = agent.writes("k", 1)
    assert (again.seq, again.head) == (first.seq, world.head)
