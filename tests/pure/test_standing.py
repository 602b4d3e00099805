"""Standing: demotion, what is owed, and the way back; and the view that compactions take from."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.errors import Malformed, NotAllowed, RevalidationRequired
from blackboard.events import kinds
from blackboard.messages import commands as ask
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, raised, write


def laid(world: World, *keys: str) -> Agent:
    """A peer has written these keys."""
    peer = world.agent("peer")
    peer.writes_many(*(write(key, 1) for key in keys))
    return peer


# -- the view


def test_a_served_read_puts_the_entry_in_the_view(world: World) -> None:
    laid(world, "k")
    agent = world.agent("a")
    agent.reads("k")
    assert agent.holds("k")


def test_a_served_read_of_an_absent_key_is_recorded_as_revision_zero(world: World) -> None:
    agent = world.agent("a")
    reply = agent.reads("nothing")
    assert world.last(kinds.BoardRead).keys == {"nothing": 0}
    (entry,) = reply.entries
    assert (entry.key, entry.value, entry.revision, entry.id, entry.deleted) == (
        "nothing",
        None,
        0,
        None,
        False,
    )
    assert agent.holds("nothing")


def test_a_compaction_takes_out_what_was_observed_up_to_its_base(world: World) -> None:
    laid(world, "early", "late")
    agent = world.agent("a")
    base = agent.reads("early").head
    agent.reads("late")
    agent.compacts(base_seq=base)
    assert (agent.holds("early"), agent.holds("late")) == (False, True)


def test_the_base_defaults_to_the_head(world: World) -> None:
    laid(world, "k")
    agent = world.agent("a")
    agent.reads("k")
    reply = agent.compacts()
    assert (reply.base_seq, agent.holds("k")) == (reply.head - 1, False)


def test_a_compaction_takes_out_own_writes_too(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts()
    assert not agent.holds("k")


def test_a_base_beyond_the_head_is_refused(world: World) -> None:
    agent = world.agent("a")
    with pytest.raises(Malformed) as caught:
        agent.compacts(base_seq=2)
    assert (caught.value.member, caught.value.limit) == ("/base_seq", 1)
    agent.compacts(base_seq=1)


def test_a_compaction_with_base_zero_still_demotes(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts(base_seq=0)
    assert (agent.standing, agent.holds("k")) == ("compacted", True)


def test_a_peers_write_makes_what_is_held_old(world: World) -> None:
    peer = laid(world, "k")
    agent = world.agent("a")
    agent.reads("k")
    peer.writes("k", 2)
    assert not agent.holds("k")


# -- demotion and restoration


def test_a_compaction_demotes_at_once_and_every_live_key_is_owed(world: World) -> None:
    laid(world, "x", "y", "z")
    agent = world.agent("a")
    agent.compacts()
    assert (agent.standing, agent.owed) == ("compacted", 3)


def test_a_full_reread_restores(world: World) -> None:
    laid(world, "x", "y")
    agent = world.agent("a")
    agent.compacts()
    reply = agent.reads_all()
    assert (agent.standing, agent.owed) == ("active", 0)
    assert reply.standing is not None
    assert reply.standing.state == "active"


def test_page_by_page_restores_with_the_last_page(world: World) -> None:
    laid(world, "x", "y", "z")
    agent = world.agent("a")
    agent.compacts()
    page = agent.reads_page(limit=2)
    assert (agent.standing, agent.owed, page.cursor) == ("compacted", 1, "2:y")
    page = agent.reads_page(page.cursor, limit=2)
    assert (agent.standing, page.cursor) == ("active", None)


def test_key_by_key_restores_with_the_last_key(world: World) -> None:
    laid(world, "x", "y")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x")
    agent.reads("x")
    assert (agent.standing, agent.owed) == ("compacted", 1)
    agent.reads_entry("y")
    assert agent.standing == "active"


def test_nothing_owed_still_needs_one_served_read(world: World) -> None:
    agent = world.agent("a")
    agent.compacts()
    assert (agent.standing, agent.owed) == ("compacted", 0)
    agent.says("I am back")
    assert agent.standing == "compacted"
    agent.reads_all()
    assert agent.standing == "active"


def test_reading_proposals_is_no_read_of_the_board(world: World) -> None:
    world.agent("peer").proposes(write("k", 1))
    agent = world.agent("a")
    agent.compacts()
    agent.reads_proposals()
    assert agent.standing == "compacted"


def test_keys_created_later_are_never_owed(world: World) -> None:
    peer = laid(world, "x")
    agent = world.agent("a")
    agent.compacts()
    peer.writes("new", 1)
    assert agent.owed == 1
    agent.reads("x")
    assert agent.standing == "active"


def test_a_deletion_strikes_what_is_owed(world: World) -> None:
    peer = laid(world, "x", "y")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x")
    deletion = peer.deletes("y", 2)
    assert (agent.standing, agent.owed) == ("active", 0)
    assert world.board.notables["agent:a"].seq == deletion.seq


def test_a_deletion_before_any_read_leaves_one_read_to_do(world: World) -> None:
    peer = laid(world, "x")
    agent = world.agent("a")
    agent.compacts()
    peer.deletes("x", 2)
    assert (agent.standing, agent.owed) == ("compacted", 0)
    agent.reads("anything")
    assert agent.standing == "active"


def test_a_key_deleted_and_made_again_is_not_owed(world: World) -> None:
    peer = laid(world, "x", "y")
    agent = world.agent("a")
    agent.compacts()
    peer.deletes("x", 2)
    peer.writes("x", 3)
    assert agent.owed == 1
    agent.reads("x")
    assert agent.owed == 1


def test_a_deletion_strikes_nothing_that_was_read_already(world: World) -> None:
    peer = laid(world, "x", "y")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x")
    peer.deletes("x", 2)
    peer.deletes("x", 3)
    assert agent.owed == 1


def test_tombstones_are_not_owed(world: World) -> None:
    peer = laid(world, "x", "y")
    peer.deletes("x", 2)
    agent = world.agent("a")
    agent.compacts()
    assert agent.owed == 1


def test_peers_may_write_while_an_agent_reads_its_way_back(world: World) -> None:
    peer = laid(world, *(f"k{number}" for number in range(6)))
    agent = world.agent("a")
    agent.compacts()
    cursor, pages = None, 0
    while True:
        page = agent.reads_page(cursor, limit=2)
        peer.writes("k0", 2 + pages)
        peer.writes(f"new{pages}", 1)
        pages += 1
        cursor = page.cursor
        if cursor is None:
            break
    assert agent.standing == "active"


def test_each_demotion_makes_everything_owed_anew(world: World) -> None:
    laid(world, "x", "y")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x")
    agent.compacts()
    assert agent.owed == 2
    agent.reads("y")
    assert (agent.standing, agent.owed) == ("compacted", 1)


def test_what_is_owed_to_both_demotions_is_struck_once(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    laid(world, "x")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x", "own")
    agent.writes("own", 7)
    assert (agent.standing, agent.owed) == ("suspected", 2)
    agent.compacts()
    assert agent.standing == "compacted"
    agent.reads_all()
    assert agent.standing == "active"


def test_a_compaction_over_a_suspicion_shows_compacted(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x", "k")
    assert agent.standing == "active"
    agent.writes("k", 9)
    agent.compacts()
    assert agent.standing == "compacted"
    assert world.board.notables["agent:a"].what == "compacted"


def test_a_suspicion_over_a_compaction_shows_compacted(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    laid(world, "x")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("k")
    agent.writes("k", 9)
    state = world.state(agent).demotion
    assert (state.state, state.suspected_at) == ("compacted", world.head)
    assert world.board.notables["agent:a"].what == "compacted"


def test_a_read_is_never_refused_to_a_demoted_agent(worlds: Worlds) -> None:
    world = worlds({"demotion": "read-only"})
    laid(world, "x")
    world.operator.sets_mode("single-writer", "nobody")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("x")
    agent.reads_entry("x")
    agent.reads_page()
    agent.reads_proposals()
    agent.says("x")
    agent.proposes(write("x", 2))


def test_own_writes_strike_nothing(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts()
    agent.reads("j")
    agent.writes("j", 1)
    assert agent.owed == 1


def test_what_protection_costs_is_counted(world: World) -> None:
    laid(world, "x", "y", "z")
    agent = world.agent("a")
    agent.reads("x", "y")
    agent.compacts()
    agent.reads("x", "x", "other")
    agent.reads_all()
    counts = world.state(agent).counts
    assert (counts.reads, counts.rereads, counts.compactions) == (2 + 2 + 3, 3, 1)


# -- prefixes


def test_a_prefix_from_the_token_bounds_the_full_reread(world: World) -> None:
    laid(world, "task/A", "task/B", "other")
    agent = world.agent("a", prefix="task/")
    agent.says("hello")
    assert world.last(kinds.AgentJoined) == kinds.AgentJoined(agent="a", prefix="task/")
    agent.compacts()
    assert agent.owed == 2
    page = agent.reads_all()
    assert [entry.key for entry in page.entries] == ["task/A", "task/B"]
    assert agent.standing == "active"
    assert not agent.holds("other")


def test_an_agent_joins_with_its_first_event_and_once(world: World) -> None:
    agent = world.agent("a", prefix="task/")
    agent.reads("x")
    agent.reads("x")
    assert world.kinds[1:] == ["agent.joined", "board.read", "board.read"]


def test_a_command_that_leaves_no_trace_does_not_join(world: World) -> None:
    agent = world.agent("a", prefix="task/")
    agent.reads_proposals()
    assert world.kinds == ["board.opened"]


def test_the_operators_word_stands_over_the_tokens(world: World) -> None:
    laid(world, "task/A", "doc/A")
    world.operator.joins("a", "doc/")
    agent = world.agent("a", prefix="task/")
    agent.compacts()
    assert agent.owed == 1
    assert [entry.key for entry in agent.reads_all().entries] == ["doc/A"]
    assert agent.standing == "active"


def test_another_prefix_counts_again_what_is_owed(world: World) -> None:
    laid(world, "task/A", "task/B", "doc/A")
    agent = world.agent("a")
    agent.compacts()
    agent.reads("task/A")
    world.operator.joins("a", "task/")
    assert agent.owed == 1
    world.operator.joins("a", "")
    assert agent.owed == 2
    world.operator.joins("a", "nothing/")
    assert agent.standing == "active"


def test_a_prefix_without_a_read_restores_nothing(world: World) -> None:
    laid(world, "task/A")
    agent = world.agent("a")
    agent.compacts()
    world.operator.joins("a", "nothing/")
    assert (agent.standing, agent.owed) == ("compacted", 0)


def test_a_prefix_of_an_active_agent_owes_nothing(world: World) -> None:
    laid(world, "task/A")
    world.operator.joins("a", "task/")
    agent = world.agent("a")
    assert (agent.standing, agent.owed) == ("active", 0)
    assert world.operator.joins("a", "task/").seq is None


def test_live_keys_under_a_prefix_are_counted_as_they_come_and_go(world: World) -> None:
    peer = laid(world, "task/A", "doc/A")
    world.operator.joins("a", "task/")
    agent = world.agent("a")
    agent.compacts()
    assert agent.owed == 1
    peer.writes("task/B", 1)
    peer.deletes("task/A", 2)
    peer.deletes("task/A", 3)
    peer.writes("doc/B", 1)
    agent.compacts()
    assert agent.owed == 1


# -- reporting a compaction


def test_an_agent_reports_its_own(world: World) -> None:
    agent = world.agent("a")
    reply = agent.compacts(cause="truncation", tokens_before=900, tokens_after=100, summary_digest="d1")
    assert (reply.agents, reply.unknown_kept, reply.mode) == (["a"], [], None)
    body = world.last(kinds.AgentCompacted)
    assert (body.declared_by, body.cause, body.notify, body.kept) == ("self", "truncation", "in-band", None)
    assert (body.tokens, body.summary_digest) == (kinds.Tokens(before=900, after=100), "d1")
    assert agent.compacts(agents=["a", "a"]).agents == ["a"]


def test_an_agent_may_not_report_another_without_the_grant(world: World) -> None:
    for agents in (["b"], ["a", "b"]):
        with pytest.raises(NotAllowed, match="report_peers") as caught:
            world.agent("a").compacts(agents=agents)
        assert caught.value.members == {"agents": agents}
    assert world.head == 1


def test_a_harness_reports_a_peer_which_then_keeps_nothing(world: World) -> None:
    hook = world.agent("hook", report_peers=True)
    reply = hook.compacts(agents=["b"], kept=["r1"])
    body = world.last(kinds.AgentCompacted)
    assert (body.agents, body.declared_by, body.kept, body.unknown) == (["b"], "peer", None, [])
    assert (reply.unknown_kept, raised(reply)) == ([], [])
    assert world.agent("b").standing == "compacted"
    assert hook.standing == "active"


def test_an_unattributed_compaction_demotes_everyone_named(world: World) -> None:
    laid(world, "k")
    one, two = world.agents("one", "two")
    one.reads("k")
    world.operator.reports_compaction("one", "two", "two", "never-heard-of")
    body = world.last(kinds.AgentCompacted)
    assert (body.agents, body.declared_by) == (["one", "two", "never-heard-of"], "operator")
    assert [one.standing, two.standing, world.agent("never-heard-of").standing] == ["compacted"] * 3
    assert not one.holds("k")


def test_an_operator_names_the_agents(world: World) -> None:
    with pytest.raises(Malformed) as caught:
        world.operator.sends(ask.Compact())
    assert caught.value.member == "/agents"


@pytest.mark.parametrize("kept", [None, []])
def test_a_compaction_that_does_not_say_what_was_kept_keeps_nothing(world: World, kept: Any) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    reply = agent.compacts(kept=kept)
    assert (reply.unknown_kept, raised(reply)) == ([], [])
    assert not agent.holds("k")


def test_records_never_delivered_are_named_and_flagged_and_the_agent_is_demoted(world: World) -> None:
    agent = world.agent("a")
    reply = agent.compacts(kept=["r2", "r1", "r2"])
    assert reply.unknown_kept == ["r2", "r1"]
    assert raised(reply) == ["invented-record"]
    body = world.last(kinds.AgentCompacted)
    assert (body.kept, body.unknown) == ([], ["r2", "r1"])
    signal = world.last(kinds.SignalRaised)
    assert signal.numbers == {"unknown": ["r2", "r1"], "count": 2}
    assert agent.standing == "compacted"


def test_a_summary_keeps_no_precondition_whatever_it_claims(world: World) -> None:
    agent = world.agent("a")
    entry = agent.writes("k", 1).entries[0]
    agent.compacts(kept=["k", entry.id])
    with pytest.raises(RevalidationRequired):
        agent.writes("k", 2)
