"""Every client: what a compaction must keep, so that no call is blocked for what it dropped."""

from __future__ import annotations

import pytest

import blackboard
from tests.client.desk import BIG, CAP, MIXED, RED, SMALL, TOOL, desk, light, told
from tests.client.drive import Place


async def test_what_must_be_kept_keeps_every_call_safe(place: Place) -> None:
    _, board = await desk(place, *MIXED)
    await board.read_records()
    plan = await board.must_keep([TOOL])
    assert (plan.agent, plan.records, plan.held) == ("a", ["cap", "new", "p", "s"], ["cap", "new", "p", "s"])
    assert (plan.read, plan.reread, plan.smallest) == ([], [], True)
    assert plan.head == board.head
    await board.compacted(kept=plan.held)
    for params in (BIG, SMALL, {}, {"tier": "gold"}, {"amount": None}):
        assert (await board.check(TOOL, params)).verdict == "PASS"


async def test_each_of_what_must_be_kept_is_needed(place: Place) -> None:
    _, board = await desk(place, *MIXED)
    await board.read_records()
    records = (await board.must_keep([TOOL])).records
    for number, name in enumerate(records):
        agent = await place.agent(f"agent-{number}")
        await agent.read_records()
        await agent.compacted(kept=[one for one in records if one != name])
        assert (await agent.check(TOOL, BIG)).verdict == "BLOCK", name


async def test_a_repair_closes_what_is_kept_already(place: Place) -> None:
    _, board = await desk(place, *MIXED)
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
