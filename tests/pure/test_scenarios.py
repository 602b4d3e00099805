"""Every rule and every signal has a scenario that triggers it and one that does not.

The table is held against RULES and SIGNALS: a new file there fails this suite until it has its two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from blackboard.errors import BlackboardError, WriteRejected
from blackboard.events import kinds
from blackboard.gate.signals import SIGNALS
from blackboard.gate.writes import RULES
from tests.pure.driver import World, write

Scenario = Callable[[World], Any]
OFF: dict[str, Any] = {"demotion": "off", "require_view": False, "completion": "off"}


def reused(world: World, value: str) -> Any:
    world.agent("a").writes("k", 1, "one")
    return world.agent("a").writes("k", 1, value)


def single(world: World, writer: str) -> Any:
    world.operator.sets_mode("single-writer", "planner")
    return world.agent(writer).writes("k", 1)


def demoted(world: World, *, back: bool) -> Any:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts()
    if back:
        agent.reads_all()
    return agent.writes("k", 2)


def overtaken(world: World, revision: int, *, read: bool) -> Any:
    world.agent("b").writes("k", 1, "open")
    if read:
        world.agent("a").reads("k")
    return world.agent("a").writes("k", revision, "open")


def finished(world: World, *, read: bool) -> Any:
    agent = world.agent("a")
    agent.writes("k", 1, "open")
    if read:
        agent.reads("k")
    return agent.writes("k", 2, "done")


def based(world: World, *, moved: bool) -> Any:
    agent, peer = world.agents("a", "b")
    peer.writes("A", 1, "done")
    agent.reads("A")
    if moved:
        peer.writes("A", 2, "failed")
    return agent.writes("release", 1, basis={"A": 1})


RULE_SCENARIOS: dict[str, tuple[dict[str, Any], Scenario, Scenario]] = {
    "revision-reused": ({}, lambda w: reused(w, "two"), lambda w: reused(w, "one")),
    "single-writer": ({}, lambda w: single(w, "a"), lambda w: single(w, "planner")),
    "agent-read-only": (
        {"demotion": "read-only"},
        lambda w: demoted(w, back=False),
        lambda w: demoted(w, back=True),
    ),
    "revalidation-required": ({}, lambda w: demoted(w, back=False), lambda w: demoted(w, back=True)),
    "revision-not-advancing": (
        {},
        lambda w: overtaken(w, 1, read=True),
        lambda w: overtaken(w, 2, read=True),
    ),
    "revision-skipped": (
        {"revisions": "contiguous"},
        lambda w: w.agent("a").writes("k", 2),
        lambda w: w.agent("a").writes("k", 1),
    ),
    "unseen-revision": ({}, lambda w: overtaken(w, 2, read=False), lambda w: overtaken(w, 2, read=True)),
    "completion-unverified": ({}, lambda w: finished(w, read=False), lambda w: finished(w, read=True)),
    "basis-moved": ({}, lambda w: based(w, moved=True), lambda w: based(w, moved=False)),
}


def breadths(world: World, *counts: int) -> Any:
    for turn, count in enumerate(counts):
        world.agent("a").writes_many(*(write(f"{turn}/{n}", 1) for n in range(count)))


def messages(world: World, last: str) -> Any:
    world.agent("a").writes("k", 1)
    for _ in range(4):
        world.agent("a").says("see entry:2")
    world.agent("a").says(last)


def habit(world: World, *, read: bool) -> Any:
    agent = world.agent("a")
    for number in range(3):
        agent.updates("k", number)
    if read:
        agent.reads("k")
    agent.writes("k", 4)


def confident(world: World, *, compacted: bool) -> Any:
    agent = world.agent("a")
    agent.writes("k", 1, "v", confidence=0.5)
    if compacted:
        agent.compacts()
    agent.writes("k", 2, "v", confidence=0.9)


def covering(world: World, status: str) -> Any:
    world.agent("a").writes("part", 1, status)
    world.agent("a").writes("all", 1, {"status": "done", "covers": ["part"]})


SIGNAL_SCENARIOS: dict[str, tuple[dict[str, Any], Scenario, Scenario]] = {
    "revision-break": ({}, lambda w: w.agent("a").writes("k", 3), lambda w: w.agent("a").writes("k", 1)),
    "write-breadth": ({}, lambda w: breadths(w, 4, 4, 4, 1, 1), lambda w: breadths(w, 4, 4, 4, 1, 4)),
    "citation-decay": (
        {},
        lambda w: messages(w, "the tasks are done"),
        lambda w: messages(w, "the tasks are done, see entry:2"),
    ),
    "read-elision": ({}, lambda w: habit(w, read=False), lambda w: habit(w, read=True)),
    "confidence-inflation": (
        OFF,
        lambda w: confident(w, compacted=True),
        lambda w: confident(w, compacted=False),
    ),
    "completion-over-open": ({}, lambda w: covering(w, "open"), lambda w: covering(w, "done")),
    "invented-record": (
        {},
        lambda w: w.agent("a").compacts(kept=["r1"]),
        lambda w: w.agent("a").compacts(kept=[]),
    ),
}


def broken(world: World) -> set[str]:
    return {rule.code for body in world.bodies(kinds.WriteRejected) for rule in body.rules}


def flagged(world: World) -> set[str]:
    return {body.signal for body in world.bodies(kinds.SignalRaised)}


@pytest.mark.parametrize("format_", RULES)
def test_every_rule_of_every_format_is_in_the_table(format_: int) -> None:
    assert {code for code, _ in RULES[format_]} <= set(RULE_SCENARIOS)


@pytest.mark.parametrize("format_", SIGNALS)
def test_every_signal_of_every_format_is_in_the_table(format_: int) -> None:
    assert {name for name, _ in SIGNALS[format_]} <= set(SIGNAL_SCENARIOS)


def test_the_formats_that_can_be_written_have_rules_and_signals() -> None:
    assert set(RULES) == set(SIGNALS) == set(range(1, kinds.FORMAT + 1))


@pytest.mark.parametrize("code", RULE_SCENARIOS)
def test_a_rule_has_a_scenario_that_breaks_it_and_one_that_does_not(code: str) -> None:
    policy, breaking, keeping = RULE_SCENARIOS[code]
    world = World(policy)
    with pytest.raises(WriteRejected):
        breaking(world)
    assert code in broken(world)
    world.check()
    healthy = World(policy)
    keeping(healthy)
    assert broken(healthy) == set()
    healthy.check()


@pytest.mark.parametrize("name", SIGNAL_SCENARIOS)
def test_a_signal_has_a_scenario_that_raises_it_and_one_that_does_not(name: str) -> None:
    policy, raising, quiet = SIGNAL_SCENARIOS[name]
    world = World(policy)
    with suppress(BlackboardError):
        raising(world)
    assert name in flagged(world)
    world.check()
    healthy = World(policy)
    quiet(healthy)
    assert flagged(healthy) == set()
    healthy.check()


@pytest.mark.parametrize("name", SIGNAL_SCENARIOS)
def test_a_signal_names_numbers_and_seqs_that_are_in_the_log(name: str) -> None:
    policy, raising, _ = SIGNAL_SCENARIOS[name]
    world = World(policy)
    with suppress(BlackboardError):
        raising(world)
    (body,) = (found for found in world.bodies(kinds.SignalRaised) if found.signal == name)
    assert body.numbers
    assert all(1 <= seq <= world.head for seq in body.evidence)


@pytest.mark.parametrize("effect", ["off", "flag", "suspect"])
@pytest.mark.parametrize("name", SIGNAL_SCENARIOS)
def test_a_signals_effect_is_the_policys(name: str, effect: str) -> None:
    policy, raising, _ = SIGNAL_SCENARIOS[name]
    world = World(policy | {"signals": {name: effect}})
    with suppress(BlackboardError):
        raising(world)
    found = [body for body in world.bodies(kinds.SignalRaised) if body.signal == name]
    assert [body.effect for body in found] == ([] if effect == "off" else [effect])
    assert (world.state("a").demotion.suspected_at > 0) == (effect == "suspect")
