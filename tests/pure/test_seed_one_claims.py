"""Seed 1, claim by claim: one test named for each, in the order of the document.

The pipeline is the one that was observed: planner, executor and verifier share the tasks A, B and C.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from blackboard import canonical
from blackboard.errors import (
    AgentReadOnly,
    CompletionUnverified,
    Malformed,
    RevalidationRequired,
    RevisionMissing,
    RevisionNotAdvancing,
    RevisionReused,
    SingleWriter,
    UnseenRevision,
    WriteRejected,
)
from blackboard.events import kinds
from blackboard.gate.query import agents, state_digest, view_digest
from blackboard.messages import commands as ask
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, codes, raised, write

COMPLETE = {"status": "complete"}


def pipeline(world: World) -> tuple[Agent, Agent, Agent]:
    """The ledger as it was: A complete, B failed with retry pending, C pending; everyone has read it."""
    planner, executor, verifier = world.agents("planner", "executor", "verifier")
    planner.writes_many(*(write(f"task/{task}", 1, {"status": "pending"}) for task in "ABC"))
    executor.reads_all()
    executor.writes("task/A", 2, COMPLETE)
    executor.writes("task/B", 2, {"status": "failed", "note": "retry pending"})
    planner.reads_all()
    verifier.reads_all()
    return planner, executor, verifier


def summarised(executor: Agent) -> None:
    """Compaction: "tasks A and B complete, C pending"."""
    executor.compacts(cause="summary", kept=None)


GATE_OFF: dict[str, Any] = {
    "revisions": "advisory",
    "require_view": False,
    "demotion": "off",
    "completion": "off",
    "broadcast": False,
}

# -- core distinction


def test_compaction_does_not_happen_without_notifying_peers(world: World) -> None:
    planner, executor, verifier = pipeline(world)
    seen = world.head
    summarised(executor)
    for peer in (planner, verifier):
        (notice,) = peer.says("hello", seen=seen).notices
        assert (notice.about, notice.what) == ("agent:executor", "compacted")


def test_checksums_over_the_summary_pass_and_checksums_over_the_state_do_not() -> None:
    healthy, compacted = World(), World()
    for world in (healthy, compacted):
        pipeline(world)
    summary = "tasks A and B complete, C pending"
    for world in (healthy, compacted):
        world.agent("executor").says(summary)
    summarised(compacted.agent("executor"))
    first, second = (world.bodies(kinds.MessagePosted)[-1].text for world in (healthy, compacted))
    assert canonical.digest(first.encode()) == canonical.digest(second.encode())
    assert view_digest(healthy.board, healthy.state("executor")) != view_digest(
        compacted.board, compacted.state("executor")
    )


def test_value_level_and_provenance_level_consistency_are_told_apart(worlds: Worlds) -> None:
    one, other = worlds(), worlds()
    for world in (one, other):
        world.agent("planner").writes("task/B", 1, {"status": "failed"})
    other.agent("verifier").says("a mutation lies between")
    for world in (one, other):
        world.agent("planner").writes("task/B", 2, {"status": "retrying"})
    assert state_digest(one.board) == state_digest(other.board)
    assert view_digest(one.board, one.state("planner")) != view_digest(other.board, other.state("planner"))


def test_a_plausible_value_without_provenance_is_refused(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    # The value is the very one in the ledger; what is gone is what it rests on.
    with pytest.raises(RevalidationRequired):
        executor.writes("task/A", 3, COMPLETE)


# -- what was observed


def test_the_write_asserting_b_complete_is_rejected_with_the_way_back(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    with pytest.raises(RevalidationRequired) as caught:
        executor.writes("task/B", 3, COMPLETE)
    assert codes(caught.value) == ["revalidation-required", "unseen-revision", "completion-unverified"]
    assert caught.value.remedy.keys == ["task/B"]
    assert caught.value.standing.clear.startswith("read everything once")
    assert world.value("task/B")["status"] == "failed"


def test_after_a_full_reread_the_executor_sees_that_b_failed_and_goes_on(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    served = {entry.key: bytes(entry.value) for entry in executor.reads_all().entries}
    assert b'"status":"failed"' in served["task/B"]
    executor.writes("task/B", 3, {"status": "running"})
    assert executor.standing == "active"


def test_a_verifier_that_does_not_reread_learns_it_all_the_same(world: World) -> None:
    _, executor, verifier = pipeline(world)
    seen = world.head
    summarised(executor)
    executor.says("tasks A and B are complete")
    reply = verifier.says("thanks", seen=seen)
    assert [notice.what for notice in reply.notices] == ["compacted"]


def test_a_verifier_that_builds_on_the_reported_state_is_refused(world: World) -> None:
    _, executor, verifier = pipeline(world)
    executor.updates("task/B", {"status": "running"})
    executor.says("task/B is complete")
    with pytest.raises(WriteRejected, match="basis"):
        verifier.writes("release", 1, "go", basis={"task/A": 2, "task/B": 2})


# -- the five signals, in order of detectability


@pytest.mark.parametrize("revision", [None, 2, 1, 9], ids=["omitted", "stale", "staler", "fabricated"])
def test_signal_1_a_write_whose_revision_was_not_read_breaks_monotonicity(
    worlds: Worlds, revision: int | None
) -> None:
    world = worlds({"demotion": "off"})
    planner, executor, _ = pipeline(world)
    executor.compacts()
    planner.writes("task/C", 2, {"status": "blocked"})
    with pytest.raises((RevisionMissing, RevisionNotAdvancing, UnseenRevision)) as caught:
        executor.writes("task/C", revision, {"status": "running"})
    assert raised(caught.value)[0] == "revision-break"


def test_signal_1_was_recorded_and_not_rejected_because_revisions_were_advisory(worlds: Worlds) -> None:
    world = worlds(GATE_OFF)
    planner, executor, _ = pipeline(world)
    executor.compacts()
    planner.updates("task/B", {"status": "failed", "note": "second retry"})
    ack = executor.writes("task/B", 3, COMPLETE)
    assert raised(ack) == ["revision-break"]
    assert world.value("task/B") == COMPLETE
    assert world.last(kinds.EntryWritten).asserted == 3


def test_signal_2_write_breadth_falls_from_four_to_six_keys_a_turn_to_one(world: World) -> None:
    executor = world.agent("executor")
    for turn, breadth in enumerate((4, 6, 5, 4, 6), 1):
        executor.writes_many(*(write(f"t{turn}/{n}", 1) for n in range(breadth)), turn=turn)
    executor.writes("x", 1, turn=6)
    executor.writes("y", 1, turn=7)
    assert raised(executor.ends_turn(7)) == ["write-breadth"]
    numbers = world.last(kinds.SignalRaised).numbers
    assert (numbers["breadth"], numbers["baseline"]) == (1, 5.0)


def test_signal_3_citations_become_categorical(world: World) -> None:
    _, executor, _ = pipeline(world)
    failed = world.entry("task/B").id
    for number in range(4):
        executor.says(f"note {number}: B failed, see {failed}")
    reply = executor.says("the completed tasks are done, the rest is pending")
    assert raised(reply) == ["citation-decay"]


def test_signal_4_a_healthy_agent_that_stops_reading_before_it_writes_is_noticed(world: World) -> None:
    _, executor, _ = pipeline(world)
    for number in range(3):
        executor.updates("task/C", {"status": "running", "step": number})
    revision = world.entry("task/C").revision + 1
    assert raised(executor.writes("task/C", revision, {"status": "blocked"})) == ["read-elision"]


def test_signal_5_confidence_rises_on_what_was_only_summarised(world: World) -> None:
    _, executor, _ = pipeline(world)
    executor.writes("estimate", 1, "two days", confidence=0.4)
    summarised(executor)
    with pytest.raises(RevalidationRequired) as caught:
        executor.writes("estimate", 2, "two days", confidence=0.9)
    assert raised(caught.value) == ["confidence-inflation"]


# -- condition of validity: all three legs, and what is lost without each


def test_validity_a_every_mutation_carries_a_revision_and_non_monotonic_ones_are_rejected(
    world: World,
) -> None:
    _, executor, _ = pipeline(world)
    for revision in (None, 1, 2):
        with pytest.raises((RevisionMissing, RevisionNotAdvancing, RevisionReused)):
            executor.writes("task/A", revision, {"status": "open"})


def test_validity_a_absent_revision_drift_passes_and_the_board_says_so(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    planner, executor, _ = pipeline(world)
    planner.updates("task/A", {"status": "open"})
    ack = executor.writes("task/A", 3, {"status": "blocked"})
    assert ack.guarantee is not None
    assert ack.guarantee.off == ["revisions: advisory", "require_view: false"]
    assert world.value("task/A") == {"status": "blocked"}


def test_validity_b_compactions_are_first_class_events(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    body = world.last(kinds.AgentCompacted)
    assert (body.agents, body.cause, body.declared_by) == (["executor"], "summary", "self")


def test_validity_b_absent_peers_cannot_tell_a_compacted_agent_from_a_healthy_one(worlds: Worlds) -> None:
    world = worlds({"broadcast": False})
    _, executor, verifier = pipeline(world)
    summarised(executor)
    reply = verifier.reads("task/B")
    assert reply.notices == []
    assert reply.guarantee is not None
    assert reply.guarantee.off == ["broadcast: false"]


def test_validity_c_a_compacted_agent_is_read_only_until_its_full_reread(worlds: Worlds) -> None:
    world = worlds({"demotion": "read-only"})
    _, executor, _ = pipeline(world)
    summarised(executor)
    executor.reads("task/B")
    with pytest.raises(AgentReadOnly):
        executor.writes("task/B", 3, {"status": "running"})
    executor.reads_all()
    executor.writes("task/B", 3, {"status": "running"})


def test_validity_c_or_it_revalidates_before_each_write(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    executor.reads("task/B")
    executor.writes("task/B", 3, {"status": "running"})
    with pytest.raises(RevalidationRequired):
        executor.writes("task/C", 2, {"status": "running"})


def test_validity_c_absent_the_summary_is_treated_as_ground_truth(worlds: Worlds) -> None:
    world = worlds({"demotion": "off", "require_view": False, "completion": "off"})
    _, executor, _ = pipeline(world)
    summarised(executor)
    executor.writes("task/B", 3, COMPLETE)
    assert world.value("task/B") == COMPLETE


@pytest.mark.parametrize("base", [0, 3, None])
def test_the_invariant_a_summary_is_never_a_substitute_for_a_read_at_write_time(
    world: World, base: int | None
) -> None:
    _, executor, _ = pipeline(world)
    executor.compacts(base, kept=["task/B", "entry:8"], summary_digest="s1")
    executor.says("my summary says: task/B is complete at revision 2, see entry:8")
    with pytest.raises(RevalidationRequired):
        executor.writes("task/B", 3, COMPLETE)


def test_compaction_may_compress_history_but_not_the_precondition_of_a_mutation(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    assert world.state("executor").counts.writes == 2
    assert [executor.holds(f"task/{task}") for task in "ABC"] == [False, False, False]


# -- decision boundary


def test_boundary_1_no_write_of_a_possibly_compacted_agent_before_its_full_reread(world: World) -> None:
    _, executor, _ = pipeline(world)
    for number in range(4):
        executor.says(f"note {number}: see entry:5 and task/B@2")
    executor.says("the remaining tasks are in progress")
    executor.reads("task/C")
    with pytest.raises(RevalidationRequired, match="suspected of a silent compaction"):
        executor.writes("task/C", 2, {"status": "running"})
    executor.reads_all()
    executor.writes("task/C", 2, {"status": "running"})


def test_boundary_2_a_non_advancing_revision_is_rejected_not_merged_not_fixed_up(world: World) -> None:
    planner, executor, _ = pipeline(world)
    planner.updates("task/C", {"status": "blocked"})
    before = world.entry("task/C")
    with pytest.raises(RevisionNotAdvancing, match="you wrote revision 2"):
        executor.writes("task/C", 2, {"status": "running"})
    assert world.entry("task/C") == before


def test_boundary_3_half_the_baseline_for_two_consecutive_turns_is_flagged_and_nothing_refused(
    world: World,
) -> None:
    executor = world.agent("executor")
    for turn in range(3):
        executor.writes_many(*(write(f"t{turn}/{n}", 1) for n in range(5)))
    assert raised(executor.writes("x", 1)) == []
    assert raised(executor.writes("y", 1)) == ["write-breadth"]
    assert executor.standing == "active"


def test_boundary_4_completion_of_something_failed_or_pending_needs_an_explicit_reread(world: World) -> None:
    _, executor, _ = pipeline(world)
    for task, revision in (("task/B", 3), ("task/C", 2)):
        for number in range(8):
            executor.says(f"cited, not read: {task}@1 {number}")
        with pytest.raises(CompletionUnverified):
            executor.writes(task, revision, COMPLETE)
        executor.reads(task)
        executor.writes(task, revision, COMPLETE)


def test_boundary_5_if_peers_cannot_be_notified_only_the_uncompacted_coordinator_mutates(
    worlds: Worlds,
) -> None:
    world = worlds({"coordinator": "planner"})
    planner, executor, verifier = pipeline(world)
    executor.compacts(cause="summary", notify="impossible")
    for agent in (executor, verifier):
        with pytest.raises(SingleWriter):
            agent.writes("task/C", 2, {"status": "running"})
    executor.reads("task/C")
    proposal = executor.proposes(write("task/C", 2, {"status": "running"})).proposal
    planner.reads_proposals()
    planner.accepts(proposal)
    assert world.entry("task/C").writer == "planner"
    planner.compacts()
    with pytest.raises(SingleWriter):
        planner.writes("task/C", 3, {"status": "blocked"})


def test_retries_of_the_same_write_with_the_same_revision_are_safe(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    head = world.head
    assert executor.writes("task/A", 2, COMPLETE).replayed
    assert world.head == head


def test_retries_are_told_apart_by_payload_hash_equality(world: World) -> None:
    _, executor, _ = pipeline(world)
    with pytest.raises(RevisionReused):
        executor.writes("task/A", 2, COMPLETE | {"note": "almost the same"})


# -- operational effect


def test_silent_corruption_becomes_an_explicit_recoverable_rejection(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    with pytest.raises(RevalidationRequired) as caught:
        executor.writes("task/B", 3, COMPLETE)
    executor.reads(*caught.value.remedy.keys)
    executor.writes("task/B", 3, {"status": "running"})
    assert world.kinds.count("write.rejected") == 1


def test_state_divergence_is_gone_with_revisions_and_broadcasts_on(worlds: Worlds) -> None:
    corrupted = []
    for policy in ({}, GATE_OFF):
        world = worlds(policy)
        _, executor, _ = pipeline(world)
        summarised(executor)
        with suppress(WriteRejected):
            executor.writes("task/B", 3, COMPLETE)
        corrupted.append(world.value("task/B") == COMPLETE)
    assert corrupted == [False, True]


def test_the_cost_in_rereads_is_a_figure_that_anyone_can_see(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    executor.reads_all()
    (found,) = (one for one in agents(world.board, head=1).agents if one.agent == "executor")
    assert (found.reads, found.rereads) == (6, 3)


def test_a_compacted_agent_is_told_because_it_cannot_introspect_the_loss(world: World) -> None:
    _, executor, _ = pipeline(world)
    world.operator.reports_compaction("executor")
    standing = executor.says("I go on as before").standing
    assert standing is not None
    assert (standing.state, standing.owed) == ("compacted", 3)
    assert "declared by an operator" in (standing.why or "")


def test_the_knowledge_is_carried_outside_the_context_window_that_compaction_erases(world: World) -> None:
    _, executor, _ = pipeline(world)
    summarised(executor)
    # A new process with the same credential, which remembers nothing at all.
    again = world.agent("executor")
    with pytest.raises(RevalidationRequired):
        again.writes("task/B", 3, COMPLETE)


# -- the reference code is wrong to trust its caller


@pytest.mark.parametrize("member", ["compacted", "baseline_breadth", "baseline", "seen_hash", "payload"])
def test_the_reference_code_takes_the_agents_word_for_its_state_and_the_board_refuses_it(
    member: str,
) -> None:
    for members in (
        {"writes": [{"key": "k", "revision": 1, "value": 1, member: False}]},
        {"writes": [{"key": "k", "revision": 1, "value": 1}], member: False},
    ):
        with pytest.raises(Malformed, match="is not a member here"):
            canonical.decode(canonical.encode(members), ask.WriteBatch, max_bytes=1000)


def test_with_caller_supplied_hashes_a_new_write_would_be_lost_so_the_server_computes_them(
    world: World,
) -> None:
    executor = world.agent("executor")
    executor.writes("k", 1, "old")
    old = world.last(kinds.EntryWritten).payload_hash
    with pytest.raises(Malformed, match="hashes to"):
        executor.writes("k", 2, "new", payload_hash=old)
    executor.writes("k", 2, "new")
    assert world.value("k") == "new"


def test_the_reference_code_applies_half_a_batch_and_the_board_all_or_nothing(world: World) -> None:
    planner, executor, _ = pipeline(world)
    planner.updates("task/C", {"status": "blocked"})
    with pytest.raises(RevisionNotAdvancing):
        executor.writes_many(write("new", 1), write("task/C", 2, COMPLETE))
    assert "new" not in world.board.ledger.entries


def test_the_reference_code_accepts_a_guess_above_the_current_revision_and_the_board_does_not(
    world: World,
) -> None:
    _, _, verifier = pipeline(world)
    stranger = world.agent("stranger")
    with pytest.raises(UnseenRevision):
        stranger.writes("task/B", 99, COMPLETE)
    verifier.writes("task/B", 3, {"status": "retrying"})


def test_the_reference_code_rejects_one_narrow_batch_and_the_board_only_flags_a_run(world: World) -> None:
    executor = world.agent("executor")
    for turn in range(3):
        executor.writes_many(*(write(f"t{turn}/{n}", 1) for n in range(5)))
    for number in range(3):
        executor.writes(f"x{number}", 1)
    assert world.kinds.count("write.rejected") == 0
