"""Every refusal says what to do next, and doing it helps."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.errors import WriteRejected
from blackboard.gate.remedy import READ_ALL, READ_KEYS, READ_PROPOSALS
from tests.pure.driver import Agent, World, write


def refused(agent: Agent, *writes: dict[str, Any]) -> WriteRejected:
    with pytest.raises(WriteRejected) as caught:
        agent.writes_many(*writes)
    return caught.value


def laid(policy: dict[str, Any]) -> tuple[World, Agent]:
    world = World(policy)
    world.agent("peer").writes_many(write("k", 1, "open"), write("j", 1))
    return world, world.agent("a")


@pytest.mark.parametrize("revisions", ["advancing", "contiguous"])
def test_what_was_not_seen_is_to_be_read(revisions: str) -> None:
    _, agent = laid({"revisions": revisions})
    error = refused(agent, write("k", 2), write("j", 1))
    assert (error.code, error.remedy.call, error.remedy.keys) == (
        "revision-not-advancing",
        READ_KEYS,
        ["k", "j"],
    )
    error = refused(agent, write("k", 2))
    assert (error.code, error.remedy.call) == ("unseen-revision", READ_KEYS)
    agent.reads(*error.remedy.keys)
    agent.writes("k", 2)


def test_what_is_to_be_finished_is_to_be_read() -> None:
    _, agent = laid({})
    agent.writes("own", 1, "open")
    error = refused(agent, write("own", 2, "done"))
    assert (error.code, error.remedy.call, error.remedy.keys) == ("completion-unverified", READ_KEYS, ["own"])
    agent.reads(*error.remedy.keys)
    agent.writes("own", 2, "done")


def test_a_basis_that_moved_is_to_be_read_beside_the_key() -> None:
    _, agent = laid({})
    error = refused(agent, write("own", 1, basis={"j": 1, "k": 1}))
    assert (error.code, error.remedy.call) == ("basis-moved", READ_KEYS)
    assert sorted(error.remedy.keys) == ["j", "k", "own"]
    agent.reads(*error.remedy.keys)
    agent.writes("own", 1, basis={"j": 1, "k": 1})


def test_a_revision_that_skips_names_the_next_one() -> None:
    _, agent = laid({"revisions": "contiguous"})
    error = refused(agent, write("new", 2))
    assert (error.remedy.detail, error.remedy.call) == ("write current + 1", "")
    agent.writes("new", 1)


def test_a_fabricated_revision_is_to_be_read_again() -> None:
    _, agent = laid({})
    assert refused(agent, write("new", 2_000_000)).remedy.call == READ_KEYS


def test_a_revision_that_is_taken_needs_no_reading() -> None:
    _, agent = laid({})
    agent.writes("own", 1, "x")
    error = refused(agent, write("own", 1, "y"))
    assert (error.code, error.remedy.call) == ("revision-reused", "")
    assert error.remedy.keys == ["own"]  # for the rule that it breaks as well


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({}, "read these keys again to write them, or everything to be active"),
        ({"demotion": "read-only"}, "read everything again; no write of yours is accepted before"),
    ],
)
def test_a_demoted_agent_is_shown_the_way_back(policy: dict[str, Any], words: str) -> None:
    _, agent = laid(policy)
    agent.reads("k")
    agent.compacts()
    error = refused(agent, write("k", 2))
    assert words in error.remedy.detail
    assert error.remedy.call == READ_ALL
    agent.reads_all()
    agent.writes("k", 2)


def test_where_demotion_is_off_its_way_back_is_not_shown() -> None:
    _, agent = laid({"demotion": "off"})
    agent.compacts()
    error = refused(agent, write("k", 2))
    assert (error.code, error.remedy.call) == ("unseen-revision", READ_KEYS)


def test_a_suspected_agent_reads_everything() -> None:
    _, agent = laid({"signals": {"revision-break": "suspect"}})
    agent.writes("own", 5)
    error = refused(agent, write("own", 6))
    assert "no write of yours is accepted before" in error.remedy.detail


def test_who_does_not_hold_the_pen_proposes() -> None:
    world, agent = laid({})
    world.operator.sets_mode("single-writer", "planner")
    agent.compacts()
    error = refused(agent, write("k", 2))
    assert (error.code, error.remedy.call) == ("single-writer", "propose")
    agent.proposes(write("k", 2))


def test_where_nobody_holds_the_pen_an_operator_names_one() -> None:
    world, agent = laid({"coordinator": "planner"})
    world.board.mode = "single-writer"  # as a board from an earlier release could be: a mode without a pen
    error = refused(agent, write("own", 1))
    assert "nobody coordinates" in error.detail
    assert "the coordinator that an operator names decides" in error.remedy.detail


def test_a_coordinator_without_the_pen_reads_everything() -> None:
    world, agent = laid({})
    world.operator.sets_mode("single-writer", "a")
    agent.compacts()
    assert refused(agent, write("own", 1)).remedy.call == READ_ALL


def test_an_unread_proposal_is_to_be_read_and_a_stale_one_refused_or_restated() -> None:
    world, agent = laid({"coordinator": "a"})
    agent.reads("k")
    name = world.agent("helper").proposes(write("k", 2)).proposal
    with pytest.raises(WriteRejected) as caught:
        agent.accepts(name)
    assert caught.value.remedy.call == READ_PROPOSALS
    agent.reads_proposals()
    with pytest.raises(WriteRejected) as caught:
        agent.accepts(name)
    assert caught.value.remedy.call == "refuse, or accept with restate: true"
    agent.accepts(name, restate=True)


def test_a_stale_proposal_over_something_the_coordinator_did_not_see_is_to_be_read_first() -> None:
    world, agent = laid({"coordinator": "a"})
    name = world.agent("helper").proposes(write("k", 2)).proposal
    agent.reads_proposals()
    with pytest.raises(WriteRejected) as caught:
        agent.accepts(name)
    assert (caught.value.remedy.call, caught.value.remedy.keys) == (READ_KEYS, ["k"])


def test_at_most_fifty_keys_are_named_and_the_rest_counted() -> None:
    world = World()
    world.agent("peer").writes_many(*(write(f"k{number}", 1) for number in range(60)))
    error = refused(world.agent("a"), *(write(f"k{number}", 2) for number in range(60)))
    assert (len(error.remedy.keys), error.remedy.more) == (50, 10)
