"""The same command under the same idempotency key has the same outcome for ever."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.errors import BlackboardError, RevisionMissing, UnseenRevision
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, attempt, frozen, write

CONTEXT = {"head", "standing", "notices", "moved", "guarantee"}
"""What is always current."""


def outcome_of(answer: say.Reply | BlackboardError) -> dict[str, Any]:
    """The answer without what is always current, and without the mark of a replay."""
    if isinstance(answer, BlackboardError):
        members = {name: value for name, value in answer.members.items() if name != "replayed"}
        return {"error": type(answer), "detail": answer.detail, "members": members, "seq": answer.seq}
    found = {
        name: getattr(answer, name)
        for name in answer.__struct_fields__
        if name not in CONTEXT and name != "replayed"
    }
    if isinstance(answer, say.Ack):
        found["entries"] = [
            msgspec.structs.replace(entry, replayed=False, superseded_by=None) for entry in answer.entries
        ]
        del found["superseded_by"]
    if isinstance(answer, say.BoardReply):
        for name in ("agents", "live_entries", "policy", "mode", "coordinator"):
            del found[name]
    return {"reply": type(answer)} | found


def said_so(answer: say.Reply | BlackboardError) -> bool:
    """Whether the answer says that it is a replay."""
    if isinstance(answer, BlackboardError):
        return answer.members.get("replayed") is True
    return isinstance(answer, say.Outcome) and answer.replayed


def scene(worlds: Worlds) -> tuple[World, Agent, Agent]:
    """A board with a coordinator `planner` and an agent `a`; `taken` is the peer's, `mine` is a's own."""
    world = worlds({"coordinator": "planner"})
    agent, planner = world.agents("a", "planner")
    planner.writes("taken", 1, "x")
    agent.writes("mine", 1, "x")
    agent.writes("mine", 2, "y")
    agent.proposes(write("new", 1, "n"), write("taken", 1, "x"))
    agent.proposes(write("taken", 1, "x"))
    agent.proposes(write("taken", 2, "stale"))
    planner.reads_proposals()
    return world, agent, planner


Act = Callable[[World, Agent, Agent, str], Any]

COMMANDS: dict[str, Act] = {
    "open": lambda w, _a, _p, key: w.operator.opens(None, once=key),
    "write": lambda _w, a, _p, key: a.writes("k", 1, "v", once=key),
    "write that skips": lambda _w, a, _p, key: a.writes("k", 5, "v", once=key),
    "batch": lambda _w, a, _p, key: a.writes_many(write("k", 1), write("j", 1), once=key),
    "batch with replays": lambda _w, a, _p, key: a.writes_many(
        write("mine", 1, "x"), write("k", 1), write("mine2", 1), once=key
    ),
    "batch with a replay of the latest": lambda _w, a, _p, key: a.writes_many(
        write("k", 1), write("mine", 2, "y"), once=key
    ),
    "rejected": lambda _w, a, _p, key: a.writes_many(write("taken", 2), write("mine", 1, "x"), once=key),
    "without a revision": lambda _w, a, _p, key: a.writes_many(write("k", None), write("j", None), once=key),
    "compaction": lambda _w, a, _p, key: a.compacts(kept=["r1"], once=key),
    "unnotifiable compaction": lambda _w, a, _p, key: a.compacts(notify="impossible", once=key),
    "message": lambda _w, a, _p, key: a.says("see entry:2", once=key),
    "end of turn": lambda _w, a, _p, key: a.ends_turn(7, once=key),
    "proposal": lambda _w, a, _p, key: a.proposes(write("k", 1), once=key),
    "acceptance": lambda _w, _a, p, key: p.accepts("proposal:5", restate=True, once=key),
    "acceptance that only repeats": lambda _w, _a, p, key: p.accepts("proposal:6", once=key),
    "failed acceptance": lambda _w, _a, p, key: p.accepts("proposal:7", once=key),
    "refusal": lambda _w, _a, p, key: p.refuses("proposal:6", "no", once=key),
    "mode": lambda w, _a, _p, key: w.operator.sends(
        ask.SetMode(mode="single-writer", coordinator="planner"), once=key
    ),
    "join": lambda w, _a, _p, key: w.operator.sends(ask.JoinAgent(agent="a", prefix="t/"), once=key),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_repeated_has_its_first_outcome(worlds: Worlds, name: str) -> None:
    if name == "open":
        world = worlds(opened=False)
        agent, planner = world.agents("a", "planner")
    else:
        world, agent, planner = scene(worlds)
    act = COMMANDS[name]
    first = attempt(lambda: act(world, agent, planner, "once"))
    assert said_so(first) == (name == "acceptance that only repeats")
    before, head = frozen(world.board), world.head
    again = attempt(lambda: act(world, agent, planner, "once"))
    assert said_so(again)
    assert outcome_of(again) == outcome_of(first)
    assert (world.head, frozen(world.board)) == (head, before)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_outcome_stays_whatever_happened_since(worlds: Worlds, name: str) -> None:
    if name == "open":
        world = worlds(opened=False)
        agent, planner = world.agents("a", "planner")
    else:
        world, agent, planner = scene(worlds)
    act = COMMANDS[name]
    first = attempt(lambda: act(world, agent, planner, "once"))
    world.operator.sets_mode("open")
    late = world.agent("late")
    for key in ("k", "j", "taken", "mine", "new"):
        late.updates(key, "later")
    late.deletes("k", world.entry("k").revision + 1)
    world.operator.sets_policy(completion="off", revisions="contiguous")
    head = world.head
    again = attempt(lambda: act(world, agent, planner, "once"))
    assert outcome_of(again) == outcome_of(first)
    assert (again.head, world.head) == (head, head)


def test_standing_notices_and_head_are_current(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, once="once")
    peer.compacts()
    agent.compacts()
    again = agent.writes("k", 1, once="once")
    assert again.standing is not None
    assert (again.standing.state, again.standing.keys) == ("compacted", ["k"])
    assert [notice.about for notice in again.notices] == ["agent:b"]
    assert (again.seq, again.head) == (2, world.head)


def test_a_repeated_write_names_what_superseded_it(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes_many(write("k", 1), write("j", 1), once="once")
    later = peer.updates("j", "later")
    again = agent.writes_many(write("k", 1), write("j", 1), once="once")
    assert [entry.superseded_by for entry in again.entries] == [None, later.seq]
    assert (again.replayed, again.superseded_by) == (True, later.seq)


def test_a_repeated_rejection_is_raised_again(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    with pytest.raises(UnseenRevision) as first:
        agent.writes("k", 2, once="once")
    agent.reads("k")
    with pytest.raises(UnseenRevision) as again:
        agent.writes("k", 2, once="once")
    assert again.value.seq == first.value.seq
    assert [signal.name for signal in again.value.signals] == ["revision-break"]
    agent.writes("k", 2, once="another")
    with pytest.raises(UnseenRevision):
        agent.writes("k", 2, once="once")


def test_a_repeated_write_without_a_revision_is_raised_again(world: World) -> None:
    agent = world.agent("a")
    for _ in range(2):
        with pytest.raises(RevisionMissing) as caught:
            agent.writes("k", None, once="once")
        assert caught.value.members["keys"] == ["k"]
    assert world.kinds.count("write.rejected") == 1


def test_reading_a_mixed_batch_again_after_its_replay_was_advisory(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1, "first")
    agent.writes("k", 1, "second")
    batch = [write("k", 1, "second"), write("j", 1)]
    first = agent.writes_many(*batch, once="once")
    again = agent.writes_many(*batch, once="once")
    assert [(entry.key, entry.revision, entry.seq) for entry in again.entries] == [
        ("k", 2, 3),
        ("j", 1, 5),
    ]
    assert outcome_of(again) == outcome_of(first)
    peer.writes("k", 3, "third")
    # The entry that it repeated is superseded, and under advisory revisions only the current one is known.
    late = agent.writes_many(*batch, once="once")
    assert [entry.key for entry in late.entries] == ["j"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(1, 3)), max_size=12))
def test_the_same_write_twice_has_one_effect(writes: list[tuple[str, str, int]]) -> None:
    world = World({"require_view": False})
    for name, key, revision in writes:
        agent = world.agent(name)
        act = partial(agent.writes, key, revision, [name, key, revision])
        first = attempt(act)
        before = frozen(world.board)
        again = attempt(act)
        if isinstance(first, say.Ack):
            assert isinstance(again, say.Ack)
            assert again.replayed
            assert [entry.seq for entry in again.entries] == [entry.seq for entry in first.entries]
            assert frozen(world.board) == before
        else:
            assert isinstance(first, BlackboardError)
            assert isinstance(again, BlackboardError)
            assert again.code == first.code
    world.check()
