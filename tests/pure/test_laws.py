"""What holds for every log, shown on random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from blackboard.errors import BlackboardError, WriteRejected
from blackboard.events import kinds
from blackboard.messages import replies as say
from blackboard.projections.board import Board
from tests.pure.driver import frozen, write
from tests.pure.plays import AGENTS, Play, Step, played, plays
from tests.pure.rejudge import everything_follows

Drawn = tuple[dict[str, Any], list[Step]]

fewer = settings(max_examples=settings().max_examples // 2)
"""Half of what the profile says: a play is many steps."""


@fewer
@given(plays)
def test_every_rejection_and_verdict_follows_from_the_log_before_it(play: Drawn) -> None:
    """G5, whatever was remembered between commands when it was first decided."""
    world = played(*play).world
    found = everything_follows(world.rows)
    for kind in ("write.rejected", "action.checked", "certificate.issued"):
        assert found[kind] == world.kinds.count(kind)
    world.check()


@fewer
@given(plays)
def test_a_refused_command_changes_nothing_but_the_log(play: Drawn) -> None:
    policy, steps = play
    running = Play(policy)
    for step in steps:
        before, head = ledger_and_views(running.world.board), running.world.head
        answer = running.play(step)
        if isinstance(answer, WriteRejected) and running.world.head > head:
            added = running.world.events[head:]
            if step.what in ("write", "repeat"):
                assert all(
                    isinstance(event.body, kinds.WriteRejected | kinds.SignalRaised) for event in added
                )
                assert ledger_and_views(running.world.board) == before


def ledger_and_views(board: Board) -> object:
    entries = {key: (entry.seq, entry.value) for key, entry in board.ledger.entries.items()}
    views = {
        name: (dict(agent.view.reads), dict(agent.view.writes), agent.view.base, list(agent.view.marks))
        for name, agent in board.agents.items()
        if agent.view.reads or agent.view.writes or agent.view.base or agent.view.marks
    }
    return entries, views, board.mode, board.coordinator, board.policy, list(board.proposals)


@fewer
@given(plays)
def test_what_leaves_no_event_leaves_the_board_as_it_was(play: Drawn) -> None:
    policy, steps = play
    running = Play(policy)
    for step in steps:
        before, head = frozen(running.world.board), running.world.head
        running.play(step)
        if running.world.head == head:
            assert frozen(running.world.board) == before


@fewer
@given(plays)
def test_an_accepted_write_is_replayed_for_ever(play: Drawn) -> None:
    policy, steps = play
    running = Play(policy | {"revisions": "advancing"})
    accepted: list[tuple[str, list[dict[str, Any]], say.Ack]] = []
    for step in steps:
        if step.what == "policy":
            continue
        count = len(running.sent)
        answer = running.play(step)
        if isinstance(answer, say.Ack) and len(running.sent) > count:
            who, batch = running.sent[-1]
            accepted.append((who, batch, answer))
    head = running.world.head
    for who, batch, first in accepted:
        again = running.world.agent(who).writes_many(*batch)
        assert again.replayed
        assert [(e.key, e.revision, e.seq) for e in again.entries] == [
            (e.key, e.revision, e.seq) for e in first.entries
        ]
    assert running.world.head == head


@fewer
@given(plays)
def test_the_live_board_is_the_folded_log_at_every_step(play: Drawn) -> None:
    policy, steps = play
    running = Play(policy)
    for step in steps:
        running.play(step)
        running.world.check()


@fewer
@given(plays)
def test_every_answer_tells_the_head_and_the_standing_as_they_are(play: Drawn) -> None:
    policy, steps = play
    running = Play(policy)
    for step in steps:
        answer = running.play(step)
        context = answer.reply if isinstance(answer, BlackboardError) else answer
        if context is None:
            continue
        world = running.world
        assert context.head == world.head
        assert context.seq is None or 1 <= context.seq <= world.head
        assert context.guarantee is not None
        assert context.guarantee.off == world.board.policy.legs_off()
        if context.standing is not None and context.standing.state != "active":
            assert context.standing.since is not None
            assert context.standing.clear


@fewer
@given(plays)
def test_the_way_back_is_always_open_from_inside(play: Drawn) -> None:
    policy, steps = play
    world = played(policy, steps).world
    for name in AGENTS:
        agent = world.agent(name)
        agent.compacts()
        agent.reads_all(limit=2)
        assert agent.standing == "active"
    if world.board.mode == "open":
        agent = world.agent(AGENTS[0])
        key = "a/1"
        served = agent.reads(key).entries[0]
        assert agent.writes_many(write(key, served.revision + 1, "done")).seq is not None
