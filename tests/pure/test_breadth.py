"""Breadth: turns, baselines and narrow runs."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.errors import TurnOutOfOrder, WriteRejected
from blackboard.events import kinds
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, raised, write

BREADTH = "write-breadth"


def fills(agent: Agent, count: int, turn: int | None = None, *, step: int = 0) -> list[str]:
    """Write `count` new keys in one command; the signals raised."""
    writes = [write(f"{agent.name}/{turn or 0}.{step}.{n}.{agent.world.head}", 1, n) for n in range(count)]
    return raised(agent.writes_many(*writes, turn=turn))


def warmed(world: World, *breadths: int) -> Agent:
    """An agent that has completed turns of these breadths, each without a number."""
    agent = world.agent("executor")
    for breadth in breadths:
        assert fills(agent, breadth) == []
    return agent


# -- when it is raised


def test_two_consecutive_narrow_turns_are_flagged(world: World) -> None:
    agent = warmed(world, 4, 5, 6)
    assert fills(agent, 1) == []
    assert fills(agent, 1) == [BREADTH]


def test_the_signal_names_the_numbers_compared_and_the_seqs_that_prove_it(world: World) -> None:
    agent = warmed(world, 4, 5, 6)
    fills(agent, 1)
    first_narrow = world.events[-1].seq
    fills(agent, 2)
    body = world.last(kinds.SignalRaised)
    assert body.effect == "flag"
    assert body.agent == "executor"
    assert body.numbers == {"breadth": 2, "baseline": 5.0, "ratio": 0.5, "narrow_turns": 2}
    assert body.evidence[0] == first_narrow
    assert len(body.evidence) == 4


def test_the_evidence_of_a_numbered_turn_names_both_narrow_turns(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    fills(agent, 1, turn=1)
    first = world.head
    fills(agent, 1, turn=2)
    second = world.head
    agent.ends_turn(2)
    assert world.last(kinds.SignalRaised).evidence[:2] == [first, second]


def test_it_is_raised_once_per_narrow_run(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    assert [fills(agent, 1) for _ in range(4)] == [[], [BREADTH], [], []]


def test_a_wide_turn_ends_the_run_and_another_run_is_raised_again(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    assert [fills(agent, count) for count in (1, 1, 4, 1, 1)] == [[], [BREADTH], [], [], [BREADTH]]


def test_one_narrow_turn_between_wide_ones_is_nothing(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    assert [fills(agent, count) for count in (1, 4, 1, 4)] == [[], [], [], []]


def test_exactly_half_of_the_baseline_is_not_narrow(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    assert [fills(agent, 2), fills(agent, 2)] == [[], []]


def test_below_three_completed_turns_there_is_no_baseline(world: World) -> None:
    agent = warmed(world, 9, 9)
    assert [fills(agent, 1), fills(agent, 1)] == [[], []]


def test_a_collapse_cannot_lower_its_own_bar(world: World) -> None:
    agent = warmed(world, 6, 6, 6)
    for _ in range(20):
        fills(agent, 1)
    assert world.state(agent).breadth.sizes == [6, 6, 6]
    assert world.state(agent).breadth.run == 20


def test_the_baseline_is_the_median_of_the_last_eight(world: World) -> None:
    agent = warmed(world, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9)
    setting = world.board.policy.signals[BREADTH]
    assert world.state(agent).breadth.baseline(setting) == median([1, 1, 1, 9, 9, 9, 9, 9])


def test_sixty_turns_are_remembered(world: World) -> None:
    agent = warmed(world, *([3] * 61), 4)
    turns = world.state(agent).breadth
    assert turns.sizes == [3] * 59 + [4]
    assert turns.seqs == [2 + 3 * (turn + 1) - 1 for turn in range(2, 61)] + [world.head]


def test_the_policy_sets_window_minimum_ratio_and_effect(worlds: Worlds) -> None:
    setting = {"effect": "suspect", "window": 2, "minimum": 2, "ratio": 1.0}
    world = worlds({"signals": {BREADTH: setting}})
    agent = warmed(world, 1, 4, 4)
    assert [fills(agent, 3), fills(agent, 3)] == [[], [BREADTH]]
    assert agent.standing == "suspected"


def test_a_signal_that_is_off_is_not_raised(worlds: Worlds) -> None:
    world = worlds({"signals": {BREADTH: "off"}})
    agent = warmed(world, 4, 4, 4)
    assert [fills(agent, 1), fills(agent, 1)] == [[], []]


# -- what counts


def test_distinct_keys_of_a_turn_count_once(world: World) -> None:
    agent = world.agent("executor")
    agent.writes("a", 1, turn=1)
    agent.writes("a", 2, turn=1)
    agent.writes("b", 1, turn=1)
    agent.ends_turn(1)
    assert world.state(agent).breadth.sizes == [2]


def test_rejected_writes_count(world: World) -> None:
    agent, peer = world.agents("executor", "peer")
    peer.writes("taken", 1)
    with pytest.raises(WriteRejected):
        agent.writes_many(write("taken", 1), write("free", 1), turn=1)
    agent.ends_turn(1)
    assert world.state(agent).breadth.sizes == [2]


def test_replays_proposals_and_malformed_requests_do_not_count(world: World) -> None:
    agent = world.agent("executor")
    agent.writes("a", 1, turn=1)
    agent.ends_turn(1)
    agent.writes("a", 1, turn=2)
    agent.proposes(write("p", 1), turn=2)
    with pytest.raises(Exception, match="names no revision"):
        agent.writes("b", None, turn=2)
    agent.ends_turn(2)
    assert world.state(agent).breadth.sizes == [1]


def test_the_replays_of_a_mixed_batch_do_not_count(world: World) -> None:
    agent, peer = world.agents("executor", "peer")
    agent.writes("a", 1)
    peer.writes("taken", 1)
    agent.writes_many(write("a", 1), write("b", 1), write("c", 1), turn=1)
    with pytest.raises(WriteRejected):
        agent.writes_many(write("a", 1), write("taken", 1), turn=1)
    agent.ends_turn(1)
    assert world.state(agent).breadth.sizes == [1, 3]


def test_a_rejection_that_tries_nothing_new_is_no_turn(worlds: Worlds) -> None:
    world = worlds({"coordinator": "executor"})
    agent, peer = world.agents("executor", "peer")
    agent.writes("a", 1, "x")
    proposal = peer.proposes(write("a", 1, "x")).proposal
    with pytest.raises(WriteRejected, match="nothing is accepted unread"):
        agent.accepts(proposal)
    assert world.state(agent).breadth.sizes == [1]


def test_turns_without_a_write_neither_count_nor_reset(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    assert fills(agent, 1, turn=1) == []
    agent.reads("x", turn=2)
    agent.says("hello", turn=3)
    agent.ends_turn(3)
    agent.ends_turn(4)
    assert fills(agent, 1, turn=5) == []
    assert raised(agent.ends_turn(5)) == [BREADTH]


# -- when a turn is over


def test_an_open_turn_goes_on(world: World) -> None:
    agent = world.agent("executor")
    fills(agent, 2, turn=3)
    fills(agent, 2, turn=3, step=1)
    assert world.state(agent).breadth.sizes == []


def test_a_turn_completes_at_turn_ended(world: World) -> None:
    agent = world.agent("executor")
    fills(agent, 3, turn=1)
    agent.ends_turn(1)
    assert world.state(agent).breadth.sizes == [3]


def test_a_turn_completes_at_once_without_a_number(world: World) -> None:
    agent = warmed(world, 4, 4, 4)
    fills(agent, 1)
    assert raised(agent.writes("one", 1)) == [BREADTH]


def test_a_command_without_a_number_neither_closes_nor_joins_a_numbered_turn(world: World) -> None:
    agent = world.agent("executor")
    fills(agent, 2, turn=1)
    fills(agent, 5)
    fills(agent, 1, turn=1, step=1)
    agent.ends_turn(1)
    assert world.state(agent).breadth.sizes == [5, 3]


NEXT_TURN = [
    ("a write", lambda agent: agent.writes("next", 1, turn=9)),
    ("a read", lambda agent: agent.reads("x", turn=9)),
    ("a read of one entry", lambda agent: agent.reads_entry("x", turn=9)),
    ("a page", lambda agent: agent.reads_page(turn=9)),
    ("a message", lambda agent: agent.says("hello", turn=9)),
    ("a proposal", lambda agent: agent.proposes(write("p", 1), turn=9)),
    ("a compaction", lambda agent: agent.compacts(turn=9)),
    ("a read of proposals", lambda agent: agent.reads_proposals(turn=9)),
    ("an end of turn", lambda agent: agent.ends_turn(9)),
    ("an acceptance", lambda agent: agent.accepts("proposal:2", turn=9)),
    ("a refusal", lambda agent: agent.refuses("proposal:2", turn=9)),
]


@pytest.mark.parametrize(("_name", "act"), NEXT_TURN, ids=[name for name, _ in NEXT_TURN])
def test_a_turn_completes_at_the_next_number_whatever_carries_it(
    worlds: Worlds, _name: str, act: object
) -> None:
    assert callable(act)
    world = worlds({"coordinator": "executor"})
    world.agent("peer").proposes(write("proposed", 1))
    agent = warmed(world, 4, 4, 4)
    agent.reads_proposals()
    fills(agent, 1, turn=7)
    fills(agent, 1, turn=8)
    assert raised(act(agent)) == [BREADTH]
    assert world.state(agent).breadth.run == 2


def test_a_rejection_completes_the_turn_before_it(world: World) -> None:
    agent, peer = warmed(world, 4, 4, 4), world.agent("peer")
    peer.writes("taken", 1)
    fills(agent, 1, turn=7)
    fills(agent, 1, turn=8)
    with pytest.raises(WriteRejected) as caught:
        agent.writes("taken", 1, turn=9)
    assert raised(caught.value) == ["revision-break", BREADTH]


def test_an_acceptance_that_only_repeats_completes_the_turn_before_it(worlds: Worlds) -> None:
    world = worlds({"coordinator": "executor"})
    agent, peer = warmed(world, 4, 4, 4), world.agent("peer")
    agent.writes("mine", 1, "x", turn=6)
    agent.ends_turn(6)
    proposal = peer.proposes(write("mine", 1, "x")).proposal
    agent.reads_proposals()
    fills(agent, 1, turn=7)
    assert world.state(agent).breadth.run == 1
    assert raised(agent.accepts(proposal, turn=8)) == [BREADTH]


# -- turn numbers


def test_a_lower_turn_number_is_refused_and_leaves_no_trace(world: World) -> None:
    agent = world.agent("executor")
    agent.reads("x", turn=5)
    head = world.head
    with pytest.raises(TurnOutOfOrder) as caught:
        agent.writes("a", 1, turn=4)
    assert (caught.value.member, caught.value.limit) == ("/turn", 5)
    assert world.head == head


def test_a_turn_that_ended_takes_no_more_commands(world: World) -> None:
    agent = world.agent("executor")
    agent.ends_turn(5)
    for act in (lambda: agent.reads("x", turn=5), lambda: agent.ends_turn(5)):
        with pytest.raises(TurnOutOfOrder, match="has ended it") as caught:
            act()
        assert caught.value.limit == 6
    agent.reads("x", turn=6)


def test_the_turn_numbers_of_agents_are_their_own(world: World) -> None:
    one, other = world.agents("one", "other")
    one.reads("x", turn=9)
    other.reads("x", turn=1)
    one.reads("x", turn=9)


def test_turn_zero_is_a_turn(world: World) -> None:
    agent = world.agent("executor")
    fills(agent, 2, turn=0)
    agent.ends_turn(0)
    assert world.state(agent).breadth.sizes == [2]


# -- against a plain model


class Act(NamedTuple):
    what: str
    size: int
    turn: int


acts = st.lists(
    st.builds(
        Act, st.sampled_from(["loose", "turn", "next", "end", "read"]), st.integers(1, 6), st.integers(1, 2)
    ),
    max_size=30,
)


class Plain:
    """The sentences of the specification, one by one, over a list of completed turns."""

    def __init__(self) -> None:
        self.wide: list[int] = []
        self.run = 0
        self.turn = 0
        self.open = 0
        self.raised = 0

    def complete(self, breadth: int) -> None:
        if not breadth:
            return
        last = self.wide[-8:]
        if len(last) >= 3 and 2 * breadth < median(last):
            self.run += 1
            self.raised += self.run == 2
        else:
            self.run = 0
            self.wide.append(breadth)

    def close(self) -> None:
        self.complete(self.open)
        self.open = 0


@given(acts)
def test_the_signal_is_what_the_plain_count_says(found: list[Act]) -> None:
    world = World()
    agent, plain = world.agent("a"), Plain()
    for step, act in enumerate(found):
        if act.what == "loose":
            fills(agent, act.size, step=step)
            plain.complete(act.size)
            continue
        if act.what in {"next", "end", "read"}:
            plain.close()
            plain.turn += act.turn
        if act.what == "end":
            agent.ends_turn(plain.turn)
            plain.turn += 1
        elif act.what == "read":
            agent.reads("x", turn=plain.turn)
        else:
            fills(agent, act.size, turn=plain.turn, step=step)
            plain.open += act.size
    assert [signal.signal for signal in world.bodies(kinds.SignalRaised)] == [BREADTH] * plain.raised
    if found:
        turns = world.state(agent).breadth
        assert (turns.sizes, turns.run) == (plain.wide, plain.run)
    world.check()
