"""What a compaction has to keep, asked of a board: with it kept and read again, nothing is in danger."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.errors import Malformed, NotAllowed, TooLarge, UnknownAgent
from blackboard.events import kinds
from blackboard.gate import keeping
from blackboard.gate.keeping import keep
from blackboard.messages import commands as ask
from blackboard.messages.limits import Limits
from blackboard.messages.principal import Principal
from tests.pure.driver import NAME, Actor, Agent, World
from tests.pure.records import amount_over, chatter, fact, policy


def thread(world: World) -> Agent:
    operator = world.operator
    operator.adds(policy("p", {"all": [amount_over(5), {"field": "tier", "op": "eq", "value": "gold"}]}))
    operator.adds(policy("other", amount_over(5), scope="u"))
    operator.adds(fact("f", "tier", "silver"))
    operator.adds(chatter("hello"))
    operator.adds(fact("g", "tier", "gold"))
    agent = world.agent("a")
    agent.reads_records()
    return agent


def test_the_least_to_keep_is_enough(world: World) -> None:
    agent = thread(world)
    found = agent.keeps("t")
    assert (found.records, found.held, found.read, found.reread) == (["p", "g"], ["p", "g"], [], [])
    assert (found.agent, found.head, found.smallest) == ("a", world.head, True)
    agent.compacts(kept=found.held)
    for params in ({"amount": 9}, {"amount": 9, "tier": "silver"}, {}):
        assert agent.checks("t", params).verdict == "PASS"


def test_nothing_is_recorded(world: World) -> None:
    agent, head = thread(world), world.head
    agent.keeps("t", kept=[])
    assert world.head == head


def test_a_repair_closes_what_is_kept_anyway(world: World) -> None:
    agent = thread(world)
    found = agent.keeps("t", kept=["f"])
    assert found.records == ["p", "f", "g"]
    agent.compacts(kept=found.held)
    assert agent.checks("t", {"amount": 9}).verdict == "PASS"


def test_what_is_not_held_is_to_be_read(world: World) -> None:
    agent = thread(world)
    agent.compacts(kept=["g"])
    found = agent.keeps("t")
    assert (found.records, found.held, found.read) == (["p", "g"], ["g"], ["p"])


def test_the_keys_that_rules_read_are_to_be_read_again(world: World) -> None:
    agent = thread(world)
    world.operator.adds(policy("l", {"field": "k", "op": "eq", "value": 1, "source": "ledger"}))
    agent.reads_records("l")
    assert agent.keeps("t").reread == ["k"]


def test_a_catalog_narrows_what_must_be_kept(world: World) -> None:
    agent = thread(world)
    schema = {
        "type": "object",
        "properties": {"amount": {"type": "number", "maximum": 5}},
        "required": ["amount"],
    }
    assert agent.keeps({"name": "t", "description": "small refunds", "input_schema": schema}).records == []


def test_operators_and_auditors_ask_for_an_agent(world: World) -> None:
    thread(world)
    kim = Actor(world, Principal(role="auditor", name="kim"))
    for actor in (world.operator, kim):
        assert actor.keeps("t", agent="a").records == ["p", "g"]
        with pytest.raises(Malformed, match="name the agent"):
            actor.keeps("t")
        with pytest.raises(UnknownAgent):
            actor.keeps("t", agent="nobody")


def test_an_agent_asks_for_itself(world: World) -> None:
    agent = thread(world)
    assert agent.keeps("t", agent="a").agent == "a"
    with pytest.raises(NotAllowed, match="its own view"):
        agent.keeps("t", agent="b")
    assert world.agent("new").keeps("t").read == ["p", "g"]


@pytest.mark.parametrize(
    ("tools", "kept", "member"),
    [
        ([], None, "/tools"),
        ([""], None, "/tools/0"),
        (["t.*"], None, "/tools/0"),
        ([{"input_schema": {}}], None, "/tools/0/name"),
        ([{"name": "t", "input_schema": {"type": "object", "minProperties": -1.5}}, {"name": "t"}], None, ""),
        (["t"], ["p", "invented"], "/kept/1"),
    ],
)
def test_a_malformed_question_is_refused_with_its_place(
    world: World, tools: list[Any], kept: list[str] | None, member: str
) -> None:
    agent = thread(world)
    with pytest.raises(Malformed) as caught:
        agent.keeps(*tools, kept=kept)
    assert (caught.value.member or "").startswith(member)


def test_too_many_tools_or_records_are_refused_and_the_limit_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = thread(world)
    monkeypatch.setattr(keeping, "DEFAULT_LIMITS", Limits(tools_per_keep=1, kept_records=1))
    for tools, kept, member in ((["t", "u"], None, "/tools"), (["t"], ["p", "f"], "/kept")):
        with pytest.raises(TooLarge) as caught:
            agent.keeps(*tools, kept=kept)
        assert (caught.value.member, caught.value.limit) == (member, 1)


def test_records_that_nobody_can_evaluate_must_be_kept(world: World) -> None:
    world.operator.adds({"id": "s", "kind": "summary"})
    agent = world.agent("a")
    agent.reads_records()
    assert agent.keeps("t").records == ["s"]
    assert world.last(kinds.BoardRead).records == ["s"]


def test_the_answer_speaks_of_the_log_as_far_as_it_reaches(world: World) -> None:
    agent = thread(world)
    found = keep(world.board, agent.principal, ask.Keep(tools=["t"]), head=99)
    assert (found.head, NAME) == (99, world.board.name)
