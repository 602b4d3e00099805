"""Checks on a board: what the log has against what the agent's view still holds."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import msgspec
import pytest

from blackboard import canonical
from blackboard.errors import Malformed, NotAllowed, TooLarge, UnknownBoard
from blackboard.events import kinds
from blackboard.gate import sight
from blackboard.gate.actions.compiling import compile_tool
from blackboard.messages import commands as ask
from blackboard.messages.limits import Limits
from blackboard.messages.prepare import prepare
from blackboard.messages.verdicts import CheckReply
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, raised, refold
from tests.pure.records import Record, amount_over, approval, chatter, fact, policy


def codes(reply: CheckReply) -> list[str]:
    return [reason.code for reason in reply.reasons]


def notes(reply: CheckReply) -> list[str]:
    return [note.code for note in reply.notes if note.code != "dropped as chatter"]


def thread(world: World) -> Agent:
    """An agent that has read one rule."""
    world.operator.adds(policy("p", amount_over(5000)))
    agent = world.agent("a")
    agent.reads_records()
    return agent


# -- verdicts


def test_a_rule_that_was_dropped_and_binds_blocks(world: World) -> None:
    agent = thread(world)
    agent.compacts()
    reply = agent.checks("t", {"amount": 8400})
    assert (reply.verdict, codes(reply), reply.policy.answer) == (
        "BLOCK",
        ["dropped-binding-constraint"],
        "deny",
    )
    assert (reply.reasons[0].reread, reply.records, reply.tool) == (["p"], ["p"], "t")
    assert agent.checks("t", {"amount": 120}).verdict == "PASS"
    agent.reads_records("p")
    held = agent.checks("t", {"amount": 8400})
    assert (held.verdict, notes(held), held.policy.answer) == (
        "PASS",
        ["binds, and the agent holds it"],
        "deny",
    )


def test_a_rule_that_was_kept_binds_and_passes(world: World) -> None:
    agent = thread(world)
    agent.compacts(kept=["p"])
    assert agent.checks("t", {"amount": 8400}).verdict == "PASS"


def test_a_rule_that_was_never_delivered_blocks_or_is_noted(world: World) -> None:
    agent = thread(world)
    world.operator.adds(policy("q", amount_over(10)))
    reply = agent.checks("t", {"amount": 20})
    assert (reply.verdict, codes(reply)) == ("BLOCK", ["unseen-binding-constraint"])
    world.operator.sets_policy(unseen="note")
    reply = agent.checks("t", {"amount": 20})
    assert (reply.verdict, notes(reply)) == ("PASS", ["unseen-binding-constraint"])
    assert reply.policy.answer == "deny"


def test_a_stale_fact_under_a_held_rule_blocks(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    world.operator.adds(fact("f", "amount", 1))
    agent = world.agent("a")
    agent.reads_records()
    world.operator.adds(fact("g", "amount", 9, supersedes="f"))
    reply = agent.checks("t")
    assert (codes(reply), reply.reasons[0].inputs[0].missing.id) == (["unseen-superseder-stale-kept"], "g")  # type: ignore[union-attr] # it is there
    agent.reads_records("g")
    assert agent.checks("t").verdict == "PASS"


def test_a_second_compaction_does_not_launder_the_first(world: World) -> None:
    agent = thread(world)
    agent.compacts()
    agent.compacts(kept=["p"])
    assert codes(agent.checks("t", {"amount": 8400})) == ["dropped-binding-constraint"]


def test_an_unevaluable_record_that_was_dropped_blocks_until_it_is_read_or_waived(world: World) -> None:
    world.operator.adds({"id": "s", "kind": "summary", "text": "the story so far"})
    agent = world.agent("a")
    assert notes(agent.checks("t")) == ["unseen-unevaluable-record"]
    agent.reads_records()
    agent.compacts()
    assert codes(agent.checks("t")) == ["dropped-unevaluable-record"]
    waived = agent.checks("t", allow_unevaluable=True)
    assert (waived.verdict, notes(waived)) == ("PASS", ["dropped-unevaluable-record"])
    assert world.last(kinds.ActionChecked).allow_unevaluable
    agent.reads_records("s")
    assert agent.checks("t").verdict == "PASS"


def test_chatter_is_believed_and_counted(world: World) -> None:
    world.operator.adds(chatter("x"))
    agent = world.agent("a")
    agent.reads_records()
    agent.compacts()
    reply = agent.checks("t")
    assert (reply.verdict, [note.detail for note in reply.notes]) == ("PASS", ["1"])


def test_a_record_expires_by_seq(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5), expires_seq=5))
    agent = world.agent("a")
    assert agent.checks("t", {"amount": 9}).verdict == "BLOCK"
    agent.reads("k")
    assert world.head == 4
    assert agent.checks("t", {"amount": 9}).verdict == "BLOCK"
    assert world.head == 5
    assert agent.checks("t", {"amount": 9}).verdict == "PASS"


# -- approvals


def test_an_approval_is_for_one_action_and_never_of_the_acting_agent(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5), "require_approval"))
    agent = world.agent("a", records=["approval"])
    agent.reads_records()
    asked = agent.checks("t", {"amount": 9})
    assert (asked.verdict, asked.policy.answer) == ("PASS", "needs-approval")
    agent.adds(approval("p", params={"amount": 9}))
    assert agent.checks("t", {"amount": 9}).policy.answer == "needs-approval"
    world.operator.adds(approval("p", params={"amount": 9.0}))
    assert agent.checks("t", {"amount": 9}).policy.answer == "default"
    assert agent.checks("t", {"amount": 10}).policy.answer == "needs-approval"
    peer = world.agent("b")
    assert peer.checks("t", {"amount": 9}).policy.answer == "default"


def test_an_approval_revoked_out_of_sight_is_a_stale_permit(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5), "require_approval"))
    world.operator.adds(approval("p", "yes", params={"amount": 9}))
    agent = world.agent("a")
    agent.reads_records()
    world.operator.adds(approval("p", "no", params={"amount": 9}, granted=False, supersedes="yes"))
    reply = agent.checks("t", {"amount": 9})
    assert (codes(reply), reply.policy.answer) == (["unseen-superseder-stale-permit"], "needs-approval")


# -- the basis


def test_a_basis_that_moved_blocks_and_says_what_to_read(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    agent.reads("k")
    assert agent.checks("t", basis={"k": 1}).verdict == "PASS"
    peer.writes("k", 2)
    reply = agent.checks("t", basis={"k": 1})
    assert (codes(reply), reply.reasons[0].id, reply.reasons[0].keys) == (["basis-moved"], "k", ["k"])
    assert (reply.records, world.last(kinds.ActionChecked).basis) == ([], {"k": 1})
    assert "it is at 2 and the agent does not hold that" in reply.reasons[0].detail
    agent.reads("k")
    assert agent.checks("t", basis={"k": 2}).verdict == "PASS"
    assert "it is at 2: read" in agent.checks("t", basis={"k": 1}).reasons[0].detail


def test_a_basis_that_a_compaction_took_blocks(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts()
    assert codes(agent.checks("t", basis={"k": 1})) == ["basis-moved"]


def test_a_demoted_agent_may_check_and_is_told_the_keys_that_matter(world: World) -> None:
    agent = world.agent("a")
    agent.writes_many({"key": "k", "revision": 1, "value": 1}, {"key": "j", "revision": 1, "value": 1})
    agent.compacts()
    reply = agent.checks("t", basis={"k": 1})
    assert reply.standing is not None
    assert (reply.standing.state, reply.standing.keys) == ("compacted", ["k"])


# -- what is recorded


def test_the_verdict_is_recorded_with_all_that_it_takes_to_judge_again(world: World) -> None:
    agent = thread(world)
    agent.compacts()
    reply = agent.checks("t", {"amount": 8400.5}, turn=3, basis={})
    body = world.last(kinds.ActionChecked)
    assert (body.tool, bytes(body.params), body.verdict, body.head) == (
        "t",
        b'{"amount":8400.5}',
        "BLOCK",
        world.head - 1,
    )
    assert (body.reasons, body.notes, body.policy) == (reply.reasons, reply.notes, reply.policy)
    assert (reply.id, reply.seq, reply.judged_at) == (f"check:{world.head}", world.head, body.head)
    whole = canonical.encode(msgspec.structs.replace(body, digest=""))
    assert body.digest == reply.digest == canonical.digest(b"blackboard/verdict/1\0", whole).hex()
    assert world.state(agent).verdicts == {"BLOCK": 1}
    (checked,) = world.state(agent).checked
    assert (checked.seq, checked.tool, checked.codes) == (world.head, "t", ["dropped-binding-constraint"])


def test_a_check_is_never_replayed(world: World) -> None:
    agent = thread(world)
    agent.compacts()
    first = agent.checks("t", {"amount": 8400})
    agent.reads_records("p")
    assert (first.verdict, agent.checks("t", {"amount": 8400}).verdict) == ("BLOCK", "PASS")


def test_a_check_counts_as_a_command_and_closes_a_turn(world: World) -> None:
    agent = world.agent("a")
    for turn in range(3):
        agent.writes_many(*({"key": f"k{n}", "revision": turn + 1, "value": n} for n in range(4)), turn=turn)
    agent.reads_all(turn=3)
    agent.writes("k0", 4, 1, turn=3)
    agent.reads("k1", turn=4)
    agent.writes("k1", 4, 1, turn=4)
    assert raised(agent.checks("t", turn=5)) == ["write-breadth"]
    assert len(world.state(agent).recent) == 8


def test_only_agents_check_and_for_themselves(world: World) -> None:
    with pytest.raises(NotAllowed, match="check is for agent"):
        world.operator.sends(ask.Check(tool="t"))


def test_a_check_of_a_board_that_does_not_exist_never_passes(worlds: Worlds) -> None:
    world = worlds(opened=False, auto_open=True)
    with pytest.raises(UnknownBoard):
        world.agent("a").checks("t")
    assert world.kinds == []


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"tool": ""}, "/tool"),
        ({"tool": "refunds.*"}, "/tool"),
        ({"tool": "t", "params": {"": 1}}, "/params/"),
        ({"tool": "t", "params": {"a": [1, {"b": float("nan")}]}}, "/params/a/1/b"),
        ({"tool": "t", "basis": {"k": -1}}, "/basis/k"),
        ({"tool": "t", "basis": {"": 1}}, "/basis"),
    ],
)
def test_a_malformed_check_is_refused_with_its_place(members: dict[str, Any], member: str) -> None:
    with pytest.raises(Malformed) as caught:
        prepare(ask.Check(**members), agent="a")
    assert caught.value.member == member


def test_a_basis_of_too_many_keys_is_refused() -> None:
    with pytest.raises(TooLarge) as caught:
        prepare(ask.Check(tool="t", basis={"a": 1, "b": 1}), agent="a", limits=Limits(reads_per_command=1))
    assert (caught.value.member, caught.value.limit) == ("/basis", 1)


# -- what is remembered


def compiled_again(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that are compiled from here on."""
    found: list[str] = []

    def counting(judged: Any, tool: str) -> Any:
        found.append(tool)
        return compile_tool(judged, tool)

    monkeypatch.setattr(sight, "compile_tool", counting)
    return found


def test_a_tool_is_compiled_once_for_what_the_agent_holds(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = thread(world)
    compiled = compiled_again(world, monkeypatch)
    for _ in range(3):
        agent.checks("t", {"amount": 8400})
        agent.reads("elsewhere")
        agent.writes("k", world.head, 1)
        world.operator.adds(policy(None, amount_over(1), scope="other"))
        world.operator.adds(fact(None, "unread", 1))
    assert compiled == ["t"]


def test_whatever_bears_on_the_tool_has_it_compiled_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = thread(world)
    compiled = compiled_again(world, monkeypatch)
    agent.checks("t")
    acts = (
        lambda: world.operator.adds(policy("q", amount_over(9), expires_seq=world.head + 6)),
        lambda: world.operator.adds(fact("f", "amount", 1)),
        lambda: world.operator.adds(approval("p")),
        lambda: world.operator.adds({"id": "s", "kind": "oath"}),
        lambda: agent.reads_records("f"),
        agent.compacts,
    )
    for count, act in enumerate(acts, 2):
        act()
        agent.checks("t")
        assert len(compiled) == count
    agent.checks("t")
    assert len(compiled) == len(acts) + 1


def test_an_expiry_has_a_tool_compiled_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.operator.adds(policy("p", amount_over(5), expires_seq=5))
    agent = world.agent("a")
    agent.reads_records()
    compiled = compiled_again(world, monkeypatch)
    agent.checks("t")
    assert world.head == 4
    agent.reads("k")
    agent.checks("t")
    assert compiled == ["t", "t"]


def test_as_many_tools_are_remembered_as_fit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "_MOST_REMEMBERED", 2)
    agent = thread(world)
    for tool in ("t", "u", "v"):
        agent.checks(tool)
    assert list(world.board.remembered) == [("a", "u"), ("a", "v")]
    agent.reads_records()
    agent.checks("u")
    assert list(world.board.remembered) == [("a", "v"), ("a", "u")]


def test_what_is_remembered_is_no_part_of_the_state(world: World) -> None:
    agent = thread(world)
    agent.checks("t")
    assert world.board.remembered
    world.check()


def test_what_is_remembered_keeps_no_board_that_nobody_has_any_more(world: World) -> None:
    keeper = world.agent("keeper", writes=["k"])
    keeper.writes("k", 1, 1)
    entry: Record = {"field": "k", "op": "eq", "value": 1, "source": "ledger"}
    world.operator.adds(policy("asks", {"all": [entry, amount_over(5)]}, "require_approval"))
    world.operator.adds(approval("asks", params={"amount": 9}))
    world.agent("a").reads_records()
    board = refold(world.rows)
    agent = board.agent("a")
    assert sight.compiled_for(board, agent, "t", {}).rows
    held = weakref.ref(agent.holding.survivors)
    gc.disable()
    try:
        del board, agent
        assert held() is None
    finally:
        gc.enable()
