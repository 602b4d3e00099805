"""The rules of the write gate, one by one: what each rejects, what it does not, what it shows as evidence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from blackboard.errors import (
    AgentReadOnly,
    BasisMoved,
    CompletionUnverified,
    Malformed,
    PayloadMismatch,
    RevalidationRequired,
    RevisionMissing,
    RevisionNotAdvancing,
    RevisionReused,
    RevisionSkipped,
    SingleWriter,
    UnseenRevision,
    WriteRejected,
)
from blackboard.events import kinds
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, codes, raised, write


def evidence(error: WriteRejected, code: str) -> dict[str, Any]:
    return next(violation.evidence for violation in error.rules if violation.code == code)


# -- rule 0: a replay is a receipt


def test_the_same_write_again_is_answered_with_the_original_seq(world: World) -> None:
    agent = world.agent("a")
    first = agent.writes("k", 1, {"v": 1}, confidence=0.5)
    head = world.head
    again = agent.writes("k", 1, {"v": 1}, confidence=0.5)
    assert (again.replayed, again.superseded_by, world.head) == (True, None, head)
    assert again.entries[0] == msgspec.structs.replace(first.entries[0], replayed=True)


def test_a_replay_of_a_superseded_write_names_what_superseded_it(world: World) -> None:
    agent, peer = world.agents("a", "b")
    first = agent.writes("k", 1, "one")
    agent.writes("k", 2, "two")
    last = peer.updates("k", "three")
    again = agent.writes("k", 1, "one")
    assert (again.replayed, again.entries[0].seq, again.entries[0].revision) == (True, first.seq, 1)
    assert again.superseded_by == again.entries[0].superseded_by == last.seq


@pytest.mark.parametrize("distance", [1, 5, 40])
def test_a_replay_is_known_however_long_ago(world: World, distance: int) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "one")
    for revision in range(2, distance + 2):
        agent.writes("k", revision, revision)
    assert agent.writes("k", 1, "one").replayed


def test_a_delete_is_replayed_too(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.deletes("k", 2)
    assert agent.deletes("k", 2).replayed
    agent.writes("k", 3)
    assert agent.deletes("k", 2).superseded_by == world.entry("k").seq


def test_a_demoted_agent_still_gets_its_receipt(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts()
    assert agent.writes("k", 1).replayed
    assert agent.standing == "compacted"


def test_a_replay_puts_nothing_in_the_view(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.compacts()
    agent.writes("k", 1)
    assert not agent.holds("k")


def test_a_replay_is_a_receipt_whatever_turn_it_names(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, turn=1)
    agent.ends_turn(1)
    agent.reads("k", turn=5)
    assert agent.writes("k", 1, turn=1).replayed


def test_a_replay_in_single_writer_mode_is_a_receipt(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    world.operator.sets_mode("single-writer", "planner")
    assert agent.writes("k", 1).replayed


def test_the_basis_is_no_part_of_the_payload(world: World) -> None:
    agent = world.agent("a")
    agent.reads("other")
    agent.writes("k", 1, "v", basis={"other": 0})
    assert agent.writes("k", 1, "v").replayed


def test_the_same_payload_from_another_agent_is_no_retry(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, "v")
    with pytest.raises(RevisionNotAdvancing) as caught:
        peer.writes("k", 1, "v")
    assert codes(caught.value) == ["revision-not-advancing", "unseen-revision"]


def test_a_retry_of_a_rejected_write_is_judged_afresh(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    with pytest.raises(UnseenRevision):
        agent.writes("k", 2, "v")
    agent.reads("k")
    assert not agent.writes("k", 2, "v").replayed


def test_a_payload_hash_sent_along_must_agree(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "v")
    good = world.last(kinds.EntryWritten).payload_hash
    assert agent.writes("k", 1, "v", payload_hash=good.upper()).replayed
    with pytest.raises(PayloadMismatch) as caught:
        agent.writes("k", 2, "v", payload_hash=good)
    assert caught.value.member == "/writes/0/payload_hash"
    assert world.head == 2


# -- rule 1: one agent writes one revision once


@pytest.mark.parametrize(
    "other",
    [{"value": "other"}, {"confidence": 0.9}, {"deleted": True}],
    ids=["value", "confidence", "deletion"],
)
def test_another_payload_at_a_revision_already_written_is_rejected(
    world: World, other: dict[str, Any]
) -> None:
    agent = world.agent("a")
    accepted = agent.writes("k", 1, "v", confidence=0.5)
    sent = {"value": "v", "confidence": 0.5} | other
    if "deleted" in sent:
        del sent["value"]
    with pytest.raises(RevisionReused) as caught:
        agent.writes("k", 1, **sent)
    assert codes(caught.value) == ["revision-reused", "revision-not-advancing"]
    assert evidence(caught.value, "revision-reused")["seq"] == accepted.seq
    assert "the next revision is 2" in caught.value.detail
    assert caught.value.remedy.call == ""


def test_a_superseded_revision_is_reused_too(world: World) -> None:
    agent = world.agent("a")
    first = agent.writes("k", 1, "one")
    agent.writes("k", 2, "two")
    with pytest.raises(RevisionReused) as caught:
        agent.writes("k", 1, "uno")
    found = evidence(caught.value, "revision-reused")
    assert (found["seq"], found["revision"], found["current"]) == (first.seq, 1, 2)


def test_a_superseded_revision_of_another_agent_is_not_reused(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1, "one")
    agent.updates("k", "two")
    with pytest.raises(RevisionNotAdvancing) as caught:
        agent.writes("k", 1, "uno")
    assert codes(caught.value) == ["revision-not-advancing"]


def test_a_revision_that_nobody_wrote_is_not_reused(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 5, "five")
    with pytest.raises(RevisionNotAdvancing) as caught:
        agent.writes("k", 3, "three")
    assert codes(caught.value) == ["revision-not-advancing"]


def test_a_write_whose_body_is_gone_is_neither_repeated_nor_reused(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "one")
    agent.writes("k", 2, "two")
    world.events[1] = msgspec.structs.replace(
        world.events[1], body=kinds.Opaque(kind="entry.written", version=1)
    )
    for value in ("one", "uno"):
        with pytest.raises(RevisionNotAdvancing) as caught:
            agent.writes("k", 1, value)
        assert codes(caught.value) == ["revision-not-advancing"]


# -- rule 2: single-writer mode


def test_in_single_writer_mode_only_the_coordinator_writes(world: World) -> None:
    agent, pen = world.agents("a", "planner")
    world.operator.sets_mode("single-writer", "planner")
    with pytest.raises(SingleWriter) as caught:
        agent.writes("k", 1)
    assert codes(caught.value) == ["single-writer"]
    assert evidence(caught.value, "single-writer") == {
        "coordinator": "planner",
        "standing": "active",
        "since": 2,
    }
    assert (caught.value.remedy.call, caught.value.remedy.keys) == ("propose", [])
    assert "planner decides" in caught.value.remedy.detail
    assert not pen.writes("k", 1).replayed


def test_a_coordinator_that_is_not_active_has_lost_the_pen(world: World) -> None:
    pen = world.agent("planner")
    world.operator.sets_mode("single-writer", "planner")
    pen.writes("k", 1)
    pen.compacts()
    pen.reads("other")
    with pytest.raises(SingleWriter) as caught:
        pen.writes("k", 2)
    assert "read everything again first" in caught.value.detail
    assert "read_all" in caught.value.remedy.call
    pen.reads_all()
    pen.writes("k", 2)


def test_with_nobody_to_coordinate_nobody_writes(worlds: Worlds) -> None:
    world = worlds({"coordinator": "gone"})
    agent = world.agent("a")
    agent.compacts(notify="impossible")
    agent.reads_all()
    with pytest.raises(SingleWriter) as caught:
        agent.writes("k", 1)
    assert "gone coordinates" in caught.value.detail


def test_in_open_mode_anybody_writes(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    assert world.agent("a").writes("k", 1).seq == 2


# -- rule 3: read-only demotion


def test_under_read_only_a_demoted_agent_writes_nothing_before_its_full_reread(worlds: Worlds) -> None:
    world = worlds({"demotion": "read-only"})
    agent = world.agent("a")
    agent.writes_many(write("k", 1), write("other", 1))
    compaction = agent.compacts().head
    agent.reads("k")
    with pytest.raises(AgentReadOnly) as caught:
        agent.writes("k", 2)
    assert codes(caught.value) == ["agent-read-only"]
    assert evidence(caught.value, "agent-read-only") == {
        "since": compaction,
        "standing": "compacted",
        "owed": 1,
    }
    assert "read everything again" in caught.value.remedy.detail
    agent.reads("other")
    agent.writes("k", 2)


# -- rule 4: revalidation


def test_a_compacted_agent_writes_only_what_it_has_read_since(world: World) -> None:
    agent = world.agent("a")
    agent.writes_many(write("k", 1), write("other", 1))
    compaction = agent.compacts().head
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("k", 2)
    assert codes(caught.value) == ["revalidation-required", "unseen-revision"]
    found = evidence(caught.value, "revalidation-required")
    assert (found["since"], found["standing"], found["owed"]) == (compaction, "compacted", 2)
    assert caught.value.remedy.keys == ["k"]
    agent.reads("k")
    agent.writes("k", 2)
    with pytest.raises(RevalidationRequired):
        agent.writes("other", 2)


def test_an_absent_key_must_be_read_too(world: World) -> None:
    agent = world.agent("a")
    agent.compacts()
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("new", 1)
    assert codes(caught.value) == ["revalidation-required"]
    agent.reads("new")
    agent.writes("new", 1)


def test_the_evidence_names_an_older_read_that_no_longer_counts(world: World) -> None:
    agent = world.agent("a")
    read = agent.reads("k").head
    agent.compacts()
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("k", 1)
    assert evidence(caught.value, "revalidation-required")["last_read"] == read


def test_a_low_base_does_not_keep_an_old_read_valid(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    base = world.head
    agent.reads("k")
    agent.compacts(base_seq=base)
    assert agent.holds("k")
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("k", 2)
    assert codes(caught.value) == ["revalidation-required"]


def test_a_suspicion_blocks_whatever_was_served_until_the_full_reread(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.writes("other", 4)
    suspicion = world.head
    agent.reads("k")
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("k", 2)
    found = evidence(caught.value, "revalidation-required")
    assert (found["since"], found["standing"], found["owed"]) == (suspicion, "suspected", 1)
    assert "no write of yours is accepted before" in caught.value.remedy.detail
    agent.reads("other")
    agent.writes("k", 2)


def test_a_suspicion_beside_a_compaction_shows_compacted_and_blocks_all(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent = world.agent("a")
    agent.writes("k", 5)
    suspicion = world.head
    agent.writes("k", 5)
    agent.compacts()
    agent.reads("x")
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("x", 1)
    found = evidence(caught.value, "revalidation-required")
    assert (found["since"], found["standing"]) == (suspicion, "compacted")


def test_with_demotion_off_a_compaction_refuses_nothing_by_itself(worlds: Worlds) -> None:
    world = worlds({"demotion": "off"})
    agent = world.agent("a")
    agent.compacts()
    agent.writes("k", 1)
    agent.compacts()
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("k", 2)
    assert codes(caught.value) == ["unseen-revision"]
    assert "read_many" in caught.value.remedy.call


# -- rule 5: the revision advances


def test_a_revision_that_does_not_advance_is_rejected(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.reads("k")
    written = peer.writes("k", 3)
    agent.reads("k")
    for revision in (1, 2, 3):
        with pytest.raises(RevisionNotAdvancing) as caught:
            agent.writes("k", revision)
        assert evidence(caught.value, "revision-not-advancing") == {
            "asserted": revision,
            "current": 3,
            "writer": "b",
            "seq": written.entries[0].seq,
        }
    agent.writes("k", 4)


def test_an_absent_key_is_at_revision_zero(world: World) -> None:
    world.agent("a").writes("k", 1)
    assert world.entry("k").revision == 1


def test_the_stale_value_is_not_merged_and_the_ledger_stays(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, {"a": 1})
    peer.updates("k", {"a": 2})
    with pytest.raises(RevisionNotAdvancing):
        agent.writes("k", 2, {"b": 3})
    assert world.value("k") == {"a": 2}


# -- rule 6: no gap that nobody can explain


def test_under_contiguous_revisions_a_gap_is_rejected(worlds: Worlds) -> None:
    world = worlds({"revisions": "contiguous"})
    agent = world.agent("a")
    with pytest.raises(RevisionSkipped) as caught:
        agent.writes("k", 2)
    assert evidence(caught.value, "revision-skipped") == {"asserted": 2, "current": 0, "highest": 1}
    assert caught.value.remedy.detail == "write current + 1"
    agent.writes("k", 1)
    with pytest.raises(RevisionSkipped) as caught:
        agent.writes("k", 3)
    assert evidence(caught.value, "revision-skipped")["seq"] == world.entry("k").seq
    agent.writes("k", 2)


def test_under_advancing_revisions_a_gap_is_accepted_and_flagged(world: World) -> None:
    assert raised(world.agent("a").writes("k", 1_000_000)) == ["revision-break"]


@pytest.mark.parametrize("revisions", ["advancing", "contiguous", "advisory"])
def test_a_fabricated_revision_must_not_lock_the_key_for_everyone(worlds: Worlds, revisions: str) -> None:
    world = worlds({"revisions": revisions})
    agent = world.agent("a")
    for revision in (1_000_001, 2**53 - 1):
        with pytest.raises(RevisionSkipped) as caught:
            agent.writes("k", revision)
        assert codes(caught.value) == ["revision-skipped"]
    agent.writes("k", 1)
    with pytest.raises(RevisionSkipped) as caught:
        agent.writes("k", 1_000_002)
    assert codes(caught.value) == ["revision-skipped"]


# -- rule 7: who replaces an entry holds it


def test_a_guessed_higher_revision_over_an_entry_never_seen_is_rejected(world: World) -> None:
    agent, peer = world.agents("a", "b")
    written = peer.writes("k", 1)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("k", 2)
    assert codes(caught.value) == ["unseen-revision"]
    assert evidence(caught.value, "unseen-revision") == {"current": 1, "writer": "b", "seq": written.seq}
    assert "you never read it" in caught.value.detail
    assert caught.value.remedy.keys == ["k"]


def test_an_older_revision_seen_is_named(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 3)
    read = agent.reads("k").head
    peer.writes("k", 4)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("k", 5)
    found = evidence(caught.value, "unseen-revision")
    assert (found["held"], found["held_since"], found["current"]) == (3, read, 4)
    assert "you last saw revision 3" in caught.value.detail


def test_an_absence_seen_is_named(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.reads("k")
    peer.writes("k", 1)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("k", 2)
    assert evidence(caught.value, "unseen-revision")["held"] == 0


def test_the_compaction_that_took_it_out_is_named(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    compaction = agent.compacts().head
    agent.compacts()
    with pytest.raises(RevalidationRequired) as caught:
        agent.writes("k", 2)
    found = evidence(caught.value, "unseen-revision")
    assert (found["removed_by"], found["held"]) == (compaction, 1)


def test_being_told_the_current_revision_is_not_enough(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("k", 2)
    told = evidence(caught.value, "unseen-revision")["current"]
    for _ in range(3):
        with pytest.raises(UnseenRevision):
            agent.writes("k", told + 1)
    agent.says(f"k is at revision {told}")
    with pytest.raises(UnseenRevision):
        agent.writes("k", told + 1)


def test_an_own_accepted_write_is_held(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    agent.writes("k", 2)


def test_a_tombstone_must_be_seen_too(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    agent.reads("k")
    peer.deletes("k", 2)
    with pytest.raises(UnseenRevision):
        agent.writes("k", 3)
    agent.reads("k")
    agent.writes("k", 3)


def test_without_require_view_a_guess_passes(worlds: Worlds) -> None:
    world = worlds({"require_view": False})
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    agent.writes("k", 2)


# -- rule 8: who finishes something unfinished has just read it


def opened(world: World) -> tuple[Agent, Agent]:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1, {"status": "failed"})
    return agent, peer


def test_finishing_needs_a_read_of_the_unfinished_entry(world: World) -> None:
    agent, _ = opened(world)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("k", 2, {"status": "done"})
    assert codes(caught.value) == ["unseen-revision", "completion-unverified"]
    agent.reads("k")
    agent.writes("k", 2, {"status": "done"})


def test_an_own_write_is_no_substitute_for_a_read(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, {"status": "running"})
    with pytest.raises(CompletionUnverified) as caught:
        agent.writes("k", 2, {"status": "done"})
    assert codes(caught.value) == ["completion-unverified"]
    assert evidence(caught.value, "completion-unverified") == {
        "status": "running",
        "writer": "a",
        "seq": 2,
        "current": 1,
    }
    assert "'running'" in caught.value.detail


def test_a_read_of_an_older_revision_does_not_count(world: World) -> None:
    agent, _ = opened(world)
    agent.reads("k")
    agent.writes("k", 2, {"status": "retrying"})
    with pytest.raises(CompletionUnverified):
        agent.writes("k", 3, {"status": "done"})


def test_a_read_counts_for_the_last_eight_commands(world: World) -> None:
    agent, _ = opened(world)
    agent.reads("k")
    for number in range(7):
        agent.says(f"{number}")
    agent.writes("k", 2, {"status": "done"})


def test_a_read_nine_commands_ago_does_not_count(world: World) -> None:
    agent, _ = opened(world)
    read = agent.reads("k").head
    for number in range(8):
        agent.says(f"{number}")
    with pytest.raises(CompletionUnverified) as caught:
        agent.writes("k", 2, {"status": "done"})
    found = evidence(caught.value, "completion-unverified")
    assert (found["last_read"], found["window_start"]) == (read, read + 1)


def test_reads_rejections_and_proposals_count_as_commands_and_replays_do_not(world: World) -> None:
    agent, peer = opened(world)
    peer.writes("taken", 1)
    agent.writes("own", 1)
    agent.reads("k")
    agent.proposes(write("p", 1))
    agent.reads("x")
    with pytest.raises(UnseenRevision):
        agent.writes("taken", 2)
    with pytest.raises(RevisionMissing):
        agent.writes("own", None)
    for _ in range(9):
        agent.writes("own", 1)
    agent.ends_turn(1)
    agent.reads_entry("x")
    agent.writes("other", 1)
    agent.writes("k", 2, {"status": "done"})  # the seventh after the read


def test_the_pages_of_one_full_read_count_once(world: World) -> None:
    agent, peer = opened(world)
    peer.writes_many(*(write(f"m{number:02}", 1) for number in range(20)))
    agent.reads_all(limit=1)
    agent.writes("k", 2, {"status": "done"})
    assert len(world.state(agent).recent) == 2


def test_commands_of_peers_do_not_use_up_the_window(world: World) -> None:
    agent, peer = opened(world)
    agent.reads("k")
    for number in range(20):
        peer.says(f"{number}")
    agent.writes("k", 2, {"status": "done"})


def test_the_window_is_the_policys(worlds: Worlds) -> None:
    world = worlds({"completion_window": 1})
    agent, _ = opened(world)
    agent.reads("k")
    agent.says("x")
    with pytest.raises(CompletionUnverified):
        agent.writes("k", 2, {"status": "done"})
    agent.reads("k")
    agent.writes("k", 2, {"status": "done"})


@pytest.mark.parametrize("restored", [False, True])
def test_a_read_before_a_compaction_does_not_count(worlds: Worlds, restored: bool) -> None:
    world = worlds({"demotion": "off", "require_view": False})
    agent, _ = opened(world)
    read = agent.reads("k").head
    compaction = agent.compacts(base_seq=0).head
    if restored:
        world.agent("b").deletes("k", 2)
        world.agent("b").writes("k", 3, {"status": "open"})
        agent.reads("x")
        assert agent.standing == "active"
    revision = world.entry("k").revision + 1
    with pytest.raises(CompletionUnverified) as caught:
        agent.writes("k", revision, {"status": "done"})
    found = evidence(caught.value, "completion-unverified")
    assert (found["last_read"], found["since"]) == (read, compaction)


def test_a_read_before_a_suspicion_does_not_count(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}, "demotion": "off"})
    agent, _ = opened(world)
    agent.reads("k")
    agent.writes("other", 9)
    with pytest.raises(CompletionUnverified):
        agent.writes("k", 2, {"status": "done"})


def test_with_completion_view_an_own_write_counts_within_the_window(worlds: Worlds) -> None:
    world = worlds({"completion": "view", "completion_window": 2})
    agent = world.agent("a")
    agent.writes("k", 1, {"status": "running"})
    agent.says("x")
    agent.writes("k", 2, {"status": "done"})
    agent.writes("j", 1, {"status": "running"})
    agent.says("x")
    agent.says("x")
    with pytest.raises(CompletionUnverified):
        agent.writes("j", 2, {"status": "done"})


def test_with_completion_off_anything_is_finished_from_memory(worlds: Worlds) -> None:
    world = worlds({"completion": "off"})
    agent = world.agent("a")
    agent.writes("k", 1, "open")
    agent.writes("k", 2, "done")


@pytest.mark.parametrize(
    ("before", "after"),
    [("granted", "done"), ("open", "blocked"), ("done", "shipped"), ("done", "open"), (None, "done")],
)
def test_only_finished_over_unfinished_is_asked_about(world: World, before: Any, after: Any) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, {"status": before})
    agent.writes("k", 2, {"status": after})


def test_a_new_key_may_begin_finished(world: World) -> None:
    world.agent("a").writes("k", 1, "done")


def test_deleting_something_unfinished_is_no_completion(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "open")
    agent.deletes("k", 2)


def test_a_deleted_key_keeps_its_last_status(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, {"status": "failed"})
    agent.deletes("k", 2)
    agent.deletes("k", 3)
    with pytest.raises(CompletionUnverified) as caught:
        agent.writes("k", 4, {"status": "done"})
    assert evidence(caught.value, "completion-unverified")["status"] == "failed"
    agent.reads("k")
    agent.writes("k", 4, {"status": "done"})


def test_a_key_deleted_before_it_had_a_status_has_none(world: World) -> None:
    agent = world.agent("a")
    agent.deletes("k", 1)
    agent.writes("k", 2, {"status": "done"})


# -- rule 9: what a decision rests on still stands


def test_a_basis_that_moved_is_rejected(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes_many(write("A", 1, "done"), write("B", 1, "done"))
    agent.reads("A", "B")
    moved = peer.writes("B", 2, "failed")
    with pytest.raises(BasisMoved) as caught:
        agent.writes("release", 1, "go", basis={"A": 1, "B": 1})
    assert codes(caught.value) == ["basis-moved"]
    assert evidence(caught.value, "basis-moved") == {
        "moved": {"B": {"named": 1, "current": 2, "held": False, "writer": "b", "seq": moved.seq}}
    }
    assert caught.value.remedy.keys == ["release", "B"]
    agent.reads("B")
    agent.writes("release", 1, "go", basis={"A": 1, "B": 2})
    assert world.last(kinds.EntryWritten).basis == {"A": 1, "B": 2}


def test_a_basis_that_the_view_does_not_hold_is_rejected(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("A", 1)
    with pytest.raises(BasisMoved) as caught:
        agent.writes("release", 1, basis={"A": 1})
    assert evidence(caught.value, "basis-moved")["moved"]["A"]["held"] is False


def test_a_basis_that_a_compaction_took_out_names_the_compaction(worlds: Worlds) -> None:
    world = worlds({"demotion": "off"})
    agent, peer = world.agents("a", "b")
    peer.writes("A", 1)
    agent.reads("A")
    compaction = agent.compacts().head
    with pytest.raises(BasisMoved) as caught:
        agent.writes("release", 1, basis={"A": 1})
    assert evidence(caught.value, "basis-moved")["moved"]["A"]["removed_by"] == compaction


def test_the_absence_of_a_key_can_be_a_basis(world: World) -> None:
    agent, peer = world.agents("a", "b")
    with pytest.raises(BasisMoved) as caught:
        agent.writes("claim", 1, basis={"lock": 0})
    assert evidence(caught.value, "basis-moved")["moved"]["lock"] == {
        "named": 0,
        "current": 0,
        "held": False,
    }
    agent.reads("lock")
    agent.writes("claim", 1, basis={"lock": 0})
    peer.writes("lock", 1)
    with pytest.raises(BasisMoved):
        agent.writes("claim", 2, basis={"lock": 0})


def test_a_tombstone_as_basis_is_named_by_its_revision(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("lock", 1)
    peer.deletes("lock", 2)
    agent.reads("lock")
    with pytest.raises(BasisMoved):
        agent.writes("claim", 1, basis={"lock": 0})
    agent.writes("claim", 1, basis={"lock": 2})


# -- advisory revisions: recorded, never rejecting


def test_under_advisory_revisions_the_stored_one_still_advances(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    agent, peer = world.agents("a", "b")
    agent.writes("k", 4, "first")
    ack = peer.writes("k", 2, "second")
    assert (ack.entries[0].revision, world.entry("k").revision) == (5, 5)
    assert world.last(kinds.EntryWritten).asserted == 2
    assert raised(ack) == ["revision-break"]
    peer.writes("k", 9, "third")
    assert (world.entry("k").revision, world.last(kinds.EntryWritten).asserted) == (9, None)


def test_under_advisory_revisions_replays_are_compared_with_the_current_entry_only(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, "first")
    peer.writes("k", 1, "second")
    again = peer.writes("k", 1, "second")
    assert (again.replayed, again.entries[0].revision) == (True, 2)
    with pytest.raises(RevisionReused) as caught:
        peer.writes("k", 1, "third")
    assert codes(caught.value) == ["revision-reused"]
    late = agent.writes("k", 1, "first")
    assert (late.replayed, late.entries[0].revision) == (False, 3)


def test_a_write_accepted_under_advisory_revisions_is_replayed_after_the_policy_changed(
    worlds: Worlds,
) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, "first")
    peer.writes("k", 1, "second")
    world.operator.sets_policy(revisions="advancing")
    again = peer.writes("k", 1, "second")
    assert (again.replayed, again.entries[0].revision) == (True, 2)


def test_of_two_writes_at_one_revision_each_is_replayed_and_a_third_is_reuse(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    agent, peer = world.agents("a", "b")
    first = agent.writes("k", 1, "first")
    peer.writes("k", 1, "between")
    agent.writes("k", 1, "second")
    world.operator.sets_policy(revisions="advancing")
    assert agent.writes("k", 1, "second").entries[0].seq == world.entry("k").seq
    assert agent.writes("k", 1, "first").entries[0].seq == first.seq
    with pytest.raises(RevisionReused):
        agent.writes("k", 1, "third")
    peer.writes("k", 9, "last")
    with pytest.raises(RevisionReused) as caught:
        agent.writes("k", 1, "third")
    assert evidence(caught.value, "revision-reused")["seq"] == first.seq


def test_the_revision_stored_for_an_advisory_write_was_never_asserted(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory", "require_view": False})
    agent, peer = world.agents("a", "b")
    agent.writes("k", 1, "first")
    peer.writes("k", 1, "second")
    world.operator.sets_policy(revisions="advancing")
    agent.writes("k", 3, "third")
    with pytest.raises(RevisionNotAdvancing) as caught:
        peer.writes("k", 2, "other")
    assert codes(caught.value) == ["revision-not-advancing"]


# -- revisions that are none


def test_a_write_without_a_revision_is_refused_and_logged(world: World) -> None:
    agent = world.agent("a")
    with pytest.raises(RevisionMissing) as caught:
        agent.writes_many(write("k", None, {"status": "open"}, confidence=0.5), write("j", 1, "done"))
    assert caught.value.members["keys"] == ["k"]
    assert caught.value.seq == world.head
    assert raised(caught.value) == ["revision-break"]
    body = world.last(kinds.WriteRejected)
    assert (body.code, [rule.key for rule in body.rules], body.remedy) == ("revision-missing", ["k"], None)
    first, second = body.writes
    assert (first.key, first.revision, first.payload_hash) == ("k", None, None)
    assert (first.status, first.confidence) == ("open", 0.5)
    assert (second.revision, second.status) == (1, "done")
    assert second.payload_hash is not None
    assert world.state(agent).refusals == {"revision-missing": 1}


@pytest.mark.parametrize("revision", [0, -1, 2**53, 10**30, True])
def test_a_revision_that_is_no_revision_is_refused_and_leaves_no_trace(world: World, revision: Any) -> None:
    with pytest.raises(Malformed) as caught:
        world.agent("a").writes("k", revision)
    assert not isinstance(caught.value, WriteRejected)
    assert world.head == 1
