"""A batch is atomic: all writes of one command are accepted, or none and every reason is listed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard.errors import (
    BlackboardError,
    Malformed,
    RevisionNotAdvancing,
    RevisionReused,
    UnseenRevision,
    WriteRejected,
)
from blackboard.events import kinds
from blackboard.gate.writes import CODES, ORDER, RULES
from tests.pure.conftest import Worlds
from tests.pure.driver import World, frozen, write


def test_all_writes_are_accepted_together(world: World) -> None:
    ack = world.agent("a").writes_many(write("x", 1, "one"), write("y", 1, "two"))
    assert [(entry.key, entry.id, entry.seq) for entry in ack.entries] == [
        ("x", "entry:2", 2),
        ("y", "entry:3", 3),
    ]
    assert (ack.replayed, ack.superseded_by, ack.seq) == (False, None, 3)


def test_one_bad_write_refuses_them_all(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("taken", 1)
    with pytest.raises(UnseenRevision):
        agent.writes_many(write("free", 1), write("taken", 2))
    assert "free" not in world.board.ledger.entries
    assert not agent.holds("free")


def test_the_rejection_lists_every_write_and_every_rule_that_it_violates(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes("mine", 1, "x")
    peer.writes("taken", 1, {"status": "open"})
    with pytest.raises(RevisionReused) as caught:
        agent.writes_many(write("taken", 1, {"status": "done"}), write("free", 1), write("mine", 1, "y"))
    assert [(rule.key, rule.code) for rule in caught.value.rules] == [
        ("taken", "revision-not-advancing"),
        ("taken", "unseen-revision"),
        ("taken", "completion-unverified"),
        ("mine", "revision-reused"),
        ("mine", "revision-not-advancing"),
    ]
    body = world.last(kinds.WriteRejected)
    assert body.rules == list(caught.value.rules)
    assert [(attempt.key, attempt.status) for attempt in body.writes] == [
        ("taken", "done"),
        ("free", None),
        ("mine", "y"),
    ]


def test_the_first_rule_in_the_order_of_the_table_is_the_code(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes_many(write("j", 1), write("k", 1))
    with pytest.raises(RevisionNotAdvancing) as caught:
        agent.writes_many(write("j", 2), write("k", 1))
    assert caught.value.rules[0].code == "unseen-revision"
    assert caught.value.evidence["current"] == 1
    assert caught.value.evidence["asserted"] == 1
    assert "(and 2 more: see rules)" in caught.value.detail


def test_the_codes_are_in_the_order_of_the_table() -> None:
    assert CODES == (
        "revision-reused",
        "single-writer",
        "agent-read-only",
        "revalidation-required",
        "revision-not-advancing",
        "revision-skipped",
        "unseen-revision",
        "completion-unverified",
        "basis-moved",
    )
    assert [rule.__name__.replace("_", "-") for _, rule in RULES[1]] == list(CODES)
    assert sorted(ORDER, key=ORDER.__getitem__) == list(CODES)


def test_two_writes_of_one_key_are_malformed(world: World) -> None:
    with pytest.raises(Malformed, match="which one counts") as caught:
        world.agent("a").writes_many(write("k", 1), write("j", 1), write("k", 2))
    assert caught.value.member == "/writes/2/key"
    assert world.head == 1


def test_replays_are_answered_as_such_and_the_rest_is_judged(world: World) -> None:
    agent, peer = world.agents("a", "b")
    first = agent.writes("old", 1, "x")
    peer.updates("old", "y")
    ack = agent.writes_many(write("old", 1, "x"), write("new", 1, "z"))
    old, new = ack.entries
    assert (old.replayed, old.seq, old.superseded_by) == (True, first.seq, world.entry("old").seq)
    assert (new.replayed, new.superseded_by) == (False, None)
    assert (ack.replayed, ack.superseded_by) == (False, old.superseded_by)
    assert world.value("old") == "y"


def test_a_rejected_batch_marks_its_replays(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes("old", 1, "open")
    peer.writes("taken", 1)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes_many(write("old", 1, "open"), write("taken", 2))
    assert [rule.key for rule in caught.value.rules] == ["taken"]
    attempts = world.last(kinds.WriteRejected).writes
    assert [(attempt.key, attempt.replayed, attempt.status) for attempt in attempts] == [
        ("old", True, None),
        ("taken", False, None),
    ]


def test_a_batch_of_replays_alone_is_replayed(world: World) -> None:
    agent = world.agent("a")
    agent.writes("x", 1)
    agent.writes("y", 1)
    ack = agent.writes_many(write("x", 1), write("y", 1))
    assert (ack.replayed, ack.seq, world.head) == (True, 3, 3)


def test_a_batch_is_judged_on_the_board_before_it(world: World) -> None:
    # The basis names a key of the same batch: it stands as it stood before.
    agent = world.agent("a")
    agent.writes("A", 1, "open")
    agent.reads("A")
    agent.writes_many(write("A", 2, "done"), write("release", 1, "go", basis={"A": 1}))


def test_the_rejection_does_not_store_the_value(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    with pytest.raises(UnseenRevision):
        agent.writes("k", 2, {"status": "done", "secret": "hunter2"})
    assert "hunter2" not in (world.rows[2].body or "")
    attempt = world.last(kinds.WriteRejected).writes[0]
    assert (attempt.status, attempt.revision) == ("done", 2)


@given(st.data())
def test_a_refused_write_changes_nothing_but_the_log(data: st.DataObject) -> None:
    world = World({"signals": dict.fromkeys(["revision-break"], "off")})
    agent, peer = world.agents("a", "b")
    peer.writes_many(write("k", 3, "open"), write("j", 1))
    before = {key: (entry.seq, entry.value) for key, entry in world.board.ledger.entries.items()}
    view = dict(world.board.agents["a"].view.writes) if "a" in world.board.agents else {}
    moves = list(world.board.moves)
    batch = data.draw(
        st.lists(
            st.builds(
                write,
                st.sampled_from(["j", "k", "new"]),
                st.integers(1, 5),
                st.sampled_from(["open", "done"]),
            ),
            min_size=1,
            max_size=3,
            unique_by=lambda one: one["key"],
        )
    )
    try:
        agent.writes_many(*batch)
    except WriteRejected:
        entries = {key: (entry.seq, entry.value) for key, entry in world.board.ledger.entries.items()}
        assert entries == before
        assert world.board.agents["a"].view.writes == view
        assert list(world.board.moves) == moves
        assert world.kinds[-1] == "write.rejected"
    else:
        assert all(one["key"] == "new" for one in batch)


def test_what_is_malformed_changes_not_even_the_log(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    before = frozen(world.board)
    for bad in ({"key": "", "revision": 1}, {"key": "k", "revision": 0}, {"key": "k", "revision": 2, "x": 1}):
        with pytest.raises(Malformed):
            agent.writes_many(bad)
    with pytest.raises(BlackboardError):
        agent.writes_many()
    assert frozen(world.board) == before


def test_deleting_and_writing_again_continues_the_numbering(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "x")
    agent.deletes("k", 2)
    assert (world.entry("k").deleted, world.entry("k").revision) == (True, 2)
    with pytest.raises(RevisionReused):
        agent.writes("k", 1, "again")
    with pytest.raises(RevisionReused):
        agent.writes("k", 2, "again")
    agent.writes("k", 3, "again")
    assert (world.entry("k").deleted, world.value("k")) == (False, "again")


def test_deleting_takes_no_value(world: World) -> None:
    with pytest.raises(Malformed, match="takes no value"):
        world.agent("a").writes_many({"key": "k", "revision": 1, "value": 1, "deleted": True})


def test_one_commands_events_are_consecutive_and_share_its_id(worlds: Worlds) -> None:
    world = worlds()
    world.agent("a").writes_many(write("x", 2), write("y", 3), once="mine")
    assert [event.command_id for event in world.events[1:]] == ["mine"] * 3
    assert [event.first for event in world.events[1:]] == [True, False, False]
