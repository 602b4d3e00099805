"""What a reply tells as moved, however it is found: through the latest moves or through the agent's keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blackboard.gate.telling import moved
from blackboard.messages.limits import MAX_ITEMS_TOLD
from blackboard.projections.board import Board
from tests.pure.driver import World

KEYS = ["a", "b", "c", "d", "e"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["me", "peer", "other"]),
        st.sampled_from(["read", "read", "write", "write", "write", "compact", "all"]),
        st.sampled_from(KEYS),
    ),
    max_size=40,
)


def plainly(board: Board, name: str, known: int) -> list[tuple[str, int, str, int]]:
    """Every key, one by one."""
    view = board.agents[name].view
    told = [
        (entry.key, entry.revision, entry.writer, entry.seq)
        for entry in board.ledger.entries.values()
        if entry.writer != name and entry.seq > known and view.base < view.observed(entry.key) < entry.seq
    ]
    return sorted(told, key=lambda told: told[3], reverse=True)


@given(steps=STEPS, back=st.integers(0, 60))
def test_moved_are_the_keys_that_a_peer_advanced_past_what_the_agent_observed(
    steps: list[tuple[str, str, str]], back: int
) -> None:
    world = World({"demotion": "off", "require_view": False})
    me = world.agent("me")
    me.reads("a")
    for name, verb, key in steps:
        agent = world.agent(name)
        if verb == "read":
            agent.reads(key)
        elif verb == "all":
            agent.reads_all()
        elif verb == "compact":
            agent.compacts()
        else:
            entry = world.board.ledger.entries.get(key)
            agent.writes(key, 1 if entry is None else entry.revision + 1, "x")
    board = world.board
    known = max(0, board.head - back)
    found = [
        (one.key, one.revision, one.writer, one.seq) for one in moved(board, board.agents["me"], known, 0)
    ]
    assert found == plainly(board, "me", known)


def test_at_most_fifty_moved_keys_are_told_the_newest_first() -> None:
    world = World()
    me, peer = world.agents("me", "peer")
    keys = [f"k{number}" for number in range(60)]
    me.reads(*keys)
    for key in keys:
        peer.writes(key, 1, "x")
    told = moved(world.board, world.board.agents["me"], 0, 0)
    assert [one.key for one in told] == keys[:-51:-1]
    assert len(told) == MAX_ITEMS_TOLD
