"""Snapshots are the fold, in bytes: discardable, and a pure function of the log."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blackboard import canonical
from blackboard.errors import IntegrityFailure
from blackboard.events.envelope import unseal
from blackboard.projections import snapshot
from blackboard.projections.board import MOVES_REMEMBERED, Board
from blackboard.projections.evolve import evolve
from tests.pure.driver import World, frozen, refold, write
from tests.pure.golden import held
from tests.pure.plays import Step, played, plays


@given(plays, st.integers(0, 40))
def test_a_snapshot_and_the_tail_are_the_fold_of_the_whole_log(
    play: tuple[dict[str, Any], list[Step]], cut: int
) -> None:
    policy, found = play
    world = played(policy, found[:cut]).world
    data = frozen(world.board)
    assert frozen(snapshot.decode(data)) == data
    taken_at = world.head
    whole = played(policy, found).world
    board = snapshot.decode(data)
    for row in whole.rows[taken_at:]:
        evolve(board, unseal(row))
    assert frozen(board) == frozen(whole.board) == frozen(refold(whole.rows))
    whole.check()


@given(plays)
def test_taking_a_snapshot_changes_nothing_that_follows(play: tuple[dict[str, Any], list[Step]]) -> None:
    policy, found = play
    board = Board()
    whole = played(policy, found).world
    for row in whole.rows:
        event = unseal(row)
        if event.first:
            snapshot.capture(board)
        evolve(board, event)
    assert frozen(board) == frozen(whole.board)


def test_what_is_captured_stays_while_the_board_moves_on(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes_many(*(write(f"k{number}", 1, number, confidence=0.5) for number in range(10)))
    world.operator.adds({"id": "f", "kind": "fact", "field": "x", "value": 1})
    agent.proposes(write("k0", 2, {"x": [1]}))
    peer.reads_proposals()
    agent.compacts()
    expected = frozen(world.board)
    captured = snapshot.capture(world.board)
    slices = snapshot.encode(captured)
    begun = next(slices)
    agent.reads_all()
    agent.reads_records()
    agent.checks("t")
    world.operator.adds({"id": "g", "kind": "fact", "field": "x", "value": 2, "supersedes": "f"})
    peer.reads("k1")
    agent.writes("k1", 2, "later", turn=4)
    agent.deletes("k2", 2, turn=4)
    agent.says("see entry:2")
    world.operator.sets_mode("single-writer", "a")
    agent.refuses("proposal:13")
    assert begun + b"".join(slices) == expected


def test_large_boards_are_encoded_in_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_SLICE", 3)
    agent = world.agent("a", records=["chatter"])
    agent.writes_many(*(write(f"k{number}", 1, number) for number in range(10)))
    monkeypatch.setattr(snapshot, "_RECORDS", 2)
    for number in range(3):
        agent.adds({"kind": "chatter", "text": str(number)})
    for number in range(4):
        agent.certifies(f"tool-{number}")
    slices = list(snapshot.encode(snapshot.capture(world.board)))
    assert len(slices) == 1 + 2 + (1 + 2) + 1 + 4
    assert frozen(snapshot.decode(b"".join(slices))) == b"".join(slices)


def test_what_grows_with_history_is_captured_as_bytes_and_lies_beside_the_header(world: World) -> None:
    agent = world.agent("a")
    for number in range(40):
        world.operator.adds({"id": f"f{number}", "kind": "fact", "field": "x", "value": number})
    agent.reads_records()
    agent.certifies("t")
    once = snapshot.capture(world.board)
    for _ in range(40):
        agent.certifies("t")
    captured = snapshot.capture(world.board)
    assert [len(saved.delivered) for saved in captured.agents] == [8 * 40]
    columns = (captured.certificates.seqs, captured.certificates.subjects, captured.certificates.as_of)
    assert [len(column) for column in columns] == [8 * 41] * 3
    assert (len(once.bases), len(captured.bases)) == (1, 1)
    assert abs(len(next(snapshot.encode(captured))) - len(next(snapshot.encode(once)))) < 8


def test_an_unopened_board_has_a_snapshot_too() -> None:
    board = snapshot.decode(frozen(Board()))
    assert (board.head, board.agents, board.ledger.entries) == (0, {}, {})


def test_the_ring_of_moves_is_bounded(world: World) -> None:
    agent = world.agent("a")
    for number in range(3):
        agent.writes_many(*(write(f"k{number}.{n}", 1) for n in range(500)))
    assert len(world.board.moves) == MOVES_REMEMBERED
    assert len(snapshot.decode(frozen(world.board)).moves) == MOVES_REMEMBERED


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:2],
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: b"\x00\x00\x00\x01\xc1" + data,
        lambda data: b"\xff" * 40,
        lambda data: data.replace(b"release-42", b"release-\xff\xff"),
    ],
    ids=["empty", "cut length", "cut end", "cut half", "foreign frame", "noise", "not UTF-8"],
)
def test_bytes_that_are_no_snapshot_are_an_integrity_failure(world: World, damage: Any) -> None:
    agent = world.agent("a")
    agent.writes_many(*(write(f"k{number}", 1, number) for number in range(10)))
    with pytest.raises(IntegrityFailure, match="discarded and the log replayed"):
        snapshot.decode(damage(frozen(world.board)))


def test_a_snapshot_that_misses_an_entry_its_writer_has_is_an_integrity_failure(world: World) -> None:
    world.agent("executor").writes_many(write("a", 1))
    captured = snapshot.capture(world.board)
    captured.entries.clear()
    with pytest.raises(IntegrityFailure, match="discarded and the log replayed"):
        snapshot.decode(b"".join(snapshot.encode(captured)))


def test_a_snapshot_of_another_shape_has_another_fingerprint() -> None:
    """A changed digest with the fingerprint of before: raise `snapshot.FINGERPRINT`, then UPDATE_GOLDEN=1."""
    world = World({"coordinator": "planner", "signals": {"read-elision": "suspect"}})
    planner, executor = world.agents("planner", "executor")
    executor.reads("task/A")
    executor.writes_many(
        write("task/A", 1, {"status": "running"}, confidence=0.5), write("task/B", 1, 2), turn=1
    )
    executor.says("task/A@1 is running")
    planner.reads_all()
    executor.proposes(write("task/B", 2, 3))
    planner.reads_proposals()
    planner.deletes("task/B", 2)
    limit = {"field": "amount", "op": "gt", "value": 19.99}
    world.operator.adds({"id": "p-1", "kind": "policy", "scope": "t", "predicate": limit, "effect": "deny"})
    world.operator.adds({"kind": "fact", "field": "amount", "value": 1e300})
    executor.reads_records()
    executor.compacts(kept=["r-1", "p-1"])
    executor.checks("t", {"amount": 20})
    executor.certifies("t")
    digest = canonical.digest(frozen(world.board)).hex()
    held("snapshot.txt", f"{snapshot.FINGERPRINT} {digest}\n")
