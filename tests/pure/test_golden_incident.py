"""The observed incident in its three forms, as text: a change of behaviour shows as a diff to be read."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from blackboard.errors import WriteRejected
from tests.pure.driver import Agent, write
from tests.pure.golden import held
from tests.pure.transcript import Told

COMPLETE = {"status": "complete"}


def begun(policy: dict[str, Any] | None = None) -> tuple[Told, Agent, Agent, Agent]:
    """A complete, B failed with retry pending, C pending; everybody knows."""
    world = Told(policy)
    planner, executor, verifier = world.agents("planner", "executor", "verifier")
    world.remark("The planner lays out three tasks; the executor completes A and fails B.")
    planner.writes_many(*(write(f"task/{task}", 1, {"status": "pending"}) for task in "ABC"), turn=1)
    executor.reads_all()
    executor.writes("task/A", 2, COMPLETE, turn=1)
    executor.writes("task/B", 2, {"status": "failed", "note": "retry pending"}, turn=1)
    executor.says("A is complete (entry:6), B failed, retry pending (entry:7)", turn=1)
    verifier.reads("task/A", "task/B")
    return world, planner, executor, verifier


def finish(world: Told, name: str) -> None:
    world.check()
    held(f"incident-{name}.txt", world.text)


def test_announced() -> None:
    world, planner, executor, verifier = begun()
    seen = world.head
    world.remark('The executor is compacted: "tasks A and B complete, C pending". Its harness says so.')
    executor.compacts(cause="summary", tokens_before=180_000, tokens_after=9_000)
    with pytest.raises(WriteRejected):
        executor.writes("task/B", 3, COMPLETE, turn=2)
    world.remark("Its peers hear of it at their next call, whatever they call.")
    verifier.says("I look at B next, see entry:7", seen=seen)
    planner.reads("task/C", seen=seen)
    world.remark("The way back is open from inside: a full re-read, page by page.")
    page = executor.reads_page(limit=2)
    executor.reads_page(page.cursor, limit=2)
    executor.writes("task/B", 3, {"status": "running", "note": "second try"}, turn=2)
    verifier.says("good", seen=world.head)
    finish(world, "announced")


def test_silent() -> None:
    world, planner, executor, _ = begun()
    world.remark("The executor is compacted and nobody announces it. Meanwhile the planner moves B on.")
    planner.reads("task/B")
    planner.writes("task/B", 3, {"status": "retrying"})
    with pytest.raises(WriteRejected):
        executor.writes("task/B", 3, COMPLETE, turn=2)
    world.remark("Told the current revision, it guesses a higher one: it still holds nothing.")
    with pytest.raises(WriteRejected):
        executor.writes("task/B", 4, COMPLETE, turn=2)
    world.remark("It used to cite entries. Now it reports in categories, and is suspected.")
    for number in range(3):
        executor.says(f"step {number}: working from entry:7", turn=2)
    executor.says("the completed tasks are done", turn=2)
    executor.reads("task/C", turn=2)
    with pytest.raises(WriteRejected):
        executor.writes("task/C", 2, {"status": "running"}, turn=2)
    world.remark("Having read everything it is believed again, and sees what B really is.")
    executor.reads_all(turn=3)
    executor.writes("task/C", 2, {"status": "running"}, turn=3)
    finish(world, "silent")


def test_gate_off() -> None:
    off: dict[str, Any] = {
        "revisions": "advisory",
        "require_view": False,
        "demotion": "off",
        "completion": "off",
        "broadcast": False,
    }
    world, planner, executor, verifier = begun(off)
    world.remark("The same compaction and the same belief, on a board that guards nothing.")
    executor.compacts(cause="summary")
    planner.reads("task/B")
    planner.writes("task/B", 3, {"status": "retrying"})
    with suppress(WriteRejected):
        executor.writes("task/B", 3, COMPLETE, turn=2)
    world.remark("The corruption is in the ledger, and a verifier that asks is told nothing.")
    verifier.reads("task/B")
    assert world.value("task/B") == COMPLETE
    finish(world, "off")
