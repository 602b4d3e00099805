"""Ledger entries as facts: one notion of newest, and nobody writes the entry that licenses it."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.errors import NotAllowed
from blackboard.events import kinds
from blackboard.gate.case import Need
from blackboard.gate.decide import needs
from blackboard.messages import commands as ask
from blackboard.messages.prepare import prepare
from tests.pure.driver import Agent, World, write
from tests.pure.records import Record, fact, policy

OPEN: Record = {"field": "gate/release", "op": "eq", "value": "open", "source": "ledger", "at": "/status"}


def reads_ledger(effect: str = "deny", **members: Any) -> Record:
    return policy("p", OPEN, effect, **members)


def scene(world: World, effect: str = "deny") -> tuple[Agent, Agent]:
    """A rule on the gate's entry, its keeper, and an agent that has read both."""
    keeper, agent = world.agent("keeper", writes=["gate/*"]), world.agent("a")
    keeper.writes("gate/release", 1, {"status": "shut"})
    world.operator.adds(reads_ledger(effect))
    agent.reads_records()
    agent.reads("gate/release")
    return keeper, agent


def codes(reply: Any) -> list[str]:
    return [reason.code for reason in reply.reasons]


# -- judged on both sides


def test_an_entry_that_moved_out_of_sight_blocks_until_it_is_read(world: World) -> None:
    keeper, agent = scene(world)
    assert agent.checks("t").verdict == "PASS"
    keeper.writes("gate/release", 2, {"status": "open"})
    reply = agent.checks("t")
    assert (reply.verdict, codes(reply)) == ("BLOCK", ["unseen-superseder-stale-kept"])
    (read,) = reply.reasons[0].inputs
    assert read.held is not None
    assert read.missing is not None
    assert (read.held.revision, read.held.value, read.held.id) == (1, '{"status":"shut"}', "entry:2")
    assert (read.missing.revision, read.missing.value) == (2, '{"status":"open"}')
    assert reply.reasons[0].keys == ["gate/release"]
    agent.reads("gate/release")
    assert agent.checks("t").policy.answer == "deny"
    assert agent.checks("t").verdict == "PASS"


def test_the_outdated_revision_is_fetched_once(world: World) -> None:
    keeper, agent = scene(world)
    keeper.writes("gate/release", 2, {"status": "open"})
    prepared = prepare(ask.Check(tool="t"), agent="a")
    wanted = needs(world.board, agent.principal, prepared)
    assert wanted == [Need("gate/release", as_of=5)]
    assert needs(world.board, agent.principal, prepare(ask.Check(tool="u"), agent="a")) == []
    agent.checks("t")
    assert needs(world.board, agent.principal, prepared) == []
    keeper.writes("gate/release", 3, {"status": "shut"})
    assert needs(world.board, agent.principal, prepared) == wanted


def test_what_a_compaction_took_is_not_held_and_was_delivered(world: World) -> None:
    _, agent = scene(world, "allow")
    agent.compacts(kept=["p"])
    assert agent.checks("t").verdict == "PASS"
    world.operator.adds(
        policy("q", {"field": "gate/release", "op": "exists", "value": True, "source": "ledger"})
    )
    agent.reads_records("q")
    assert codes(agent.checks("t")) == ["dropped-input-kept-rule"]
    agent.reads_all()
    assert agent.checks("t").verdict == "PASS"


def test_an_entry_that_was_never_read_is_unseen(world: World) -> None:
    keeper = world.agent("keeper", writes=["gate/*"])
    world.operator.adds(reads_ledger())
    keeper.writes("gate/release", 1, {"status": "open"})
    agent = world.agent("a")
    agent.reads_records()
    assert codes(agent.checks("t")) == ["unseen-input-kept-rule"]


def test_an_absent_key_is_absent_on_both_sides(world: World) -> None:
    world.operator.adds(reads_ledger())
    agent = world.agent("a")
    agent.reads_records()
    reply = agent.checks("t")
    assert (reply.verdict, reply.policy.answer) == ("PASS", "undetermined")
    agent.reads("gate/release")
    assert agent.checks("t").verdict == "PASS"


def test_a_key_that_was_absent_when_it_was_read_is_held_as_absent(world: World) -> None:
    world.operator.adds(reads_ledger())
    agent = world.agent("a")
    agent.reads_records()
    agent.reads("gate/release")
    world.agent("keeper", writes=["gate/*"]).writes("gate/release", 1, {"status": "open"})
    assert codes(agent.checks("t")) == ["unseen-input-kept-rule"]


def test_a_deleted_entry_is_absent_and_an_older_value_is_held(world: World) -> None:
    keeper, agent = scene(world, "allow")
    keeper.writes("gate/release", 2, {"status": "open"})
    agent.reads("gate/release")
    assert agent.checks("t").policy.answer == "allowed-by"
    keeper.deletes("gate/release", 3)
    reply = agent.checks("t")
    assert (codes(reply), reply.reasons[0].inputs[0].missing) == (["unseen-superseder-stale-permit"], None)
    agent.reads("gate/release")
    assert agent.checks("t").verdict == "PASS"


def test_a_tombstone_that_was_seen_is_held_when_the_key_lives_again(world: World) -> None:
    keeper, agent = scene(world)
    keeper.deletes("gate/release", 2)
    agent.reads("gate/release")
    keeper.writes("gate/release", 3, {"status": "open"})
    assert codes(agent.checks("t")) == ["unseen-input-kept-rule"]


def test_a_key_that_was_deleted_before_anybody_looked_is_the_same_as_absent(world: World) -> None:
    keeper, agent = scene(world)
    keeper.deletes("gate/release", 2)
    agent.compacts(kept=["p"])
    assert agent.checks("t").verdict == "PASS"


def test_the_number_of_an_entry_is_exact(world: World) -> None:
    keeper, agent = world.agent("keeper", writes=["n"]), world.agent("a")
    keeper.writes("n", 1, 0.1)
    world.operator.adds(policy("p", {"field": "n", "op": "eq", "value": 0.1, "source": "ledger"}))
    agent.reads_records()
    agent.reads("n")
    assert agent.checks("t").policy.answer == "deny"


def test_a_write_touches_the_clock_of_what_reads_it(world: World) -> None:
    keeper, _ = scene(world)
    before = world.board.records.clock("t")
    world.agent("b").writes("elsewhere", 1)
    assert world.board.records.clock("t") == before
    keeper.writes("gate/release", 2, {"status": "open"})
    assert (world.board.records.clock("t"), world.board.records.clock("u")) == (world.head, 0)


@pytest.mark.parametrize("how", ["key", "range", "other key"])
def test_only_reads_of_what_rules_read_bear_on_verdicts(world: World, how: str) -> None:
    _, agent = scene(world)
    before = world.state(agent).gate_version
    if how == "range":
        agent.reads_all()
    else:
        agent.reads("gate/release" if how == "key" else "x")
    assert world.state(agent).view_version == world.head
    assert world.state(agent).gate_version == (before if how == "other key" else world.head)


# -- who may write what licenses


def test_an_agent_cannot_write_the_entry_that_licenses_it(world: World) -> None:
    _, agent = scene(world, "allow")
    with pytest.raises(NotAllowed, match="policy 'p' reads 'gate/release' from the ledger") as caught:
        agent.writes("gate/release", 2, {"status": "open"})
    assert caught.value.members == {"key": "gate/release", "policy": "p", "grant": "gate/release"}
    assert (world.entry("gate/release").revision, world.kinds[-1]) == (1, "board.read")
    agent.writes("elsewhere", 1)


def test_a_write_grant_that_names_the_key_lets_write_it(world: World) -> None:
    keeper, _ = scene(world)
    assert keeper.writes("gate/release", 2, {"status": "open"}).entries[0].revision == 2


def test_a_key_that_no_rule_in_force_reads_takes_no_grant(world: World) -> None:
    _, agent = scene(world)
    world.operator.adds(policy("q", {"field": "x", "op": "eq", "value": 1}, "deny") | {"supersedes": "p"})
    assert agent.writes("gate/release", 2, 1).entries[0].revision == 2


def test_an_expired_rule_takes_no_grant(world: World) -> None:
    world.operator.adds(reads_ledger(expires_seq=3))
    agent = world.agent("a")
    with pytest.raises(NotAllowed):
        agent.writes("gate/release", 1, 1)
    agent.reads("x")
    assert agent.writes("gate/release", 1, 1).seq == 4


def test_rules_that_read_other_things_take_no_grant(world: World) -> None:
    world.operator.adds(policy("o", {"field": "gate/release", "op": "eq", "value": 1}))
    world.operator.adds(policy("q", {"field": "other", "op": "eq", "value": 1, "source": "ledger"}))
    world.operator.adds(fact("f", "gate/release", 1))
    assert world.agent("a").writes("gate/release", 1, 1).seq == 5


def test_through_a_proposal_the_coordinators_grant_counts(world: World) -> None:
    _, agent = scene(world)
    agent.proposes(write("gate/release", 2, {"status": "open"}))
    proposal = f"proposal:{world.head}"
    for name, grants in (("boss", {}), ("chief", {"writes": ["gate/*"]})):
        coordinator = world.agent(name, **grants)
        world.operator.sets_mode("single-writer", name)
        coordinator.reads("gate/release")
        coordinator.reads_proposals()
        if grants:
            coordinator.accepts(proposal)
        else:
            with pytest.raises(NotAllowed, match="from the ledger"):
                coordinator.accepts(proposal)
    assert world.entry("gate/release").writer == "chief"
    assert world.last(kinds.ProposalAccepted).proposal == proposal
