"""The structural signals: when each is raised, when it is not, and what it names as proof."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.errors import (
    RevisionMissing,
    RevisionNotAdvancing,
    RevisionReused,
    UnseenRevision,
    WriteRejected,
)
from blackboard.events import kinds
from blackboard.events.policy import SIGNAL_DEFAULTS
from blackboard.gate.signals import SIGNALS
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, raised, write


def signal(world: World) -> kinds.SignalRaised:
    return world.last(kinds.SignalRaised)


def test_the_policy_knows_exactly_the_signals_of_the_table() -> None:
    assert [name for name, _ in SIGNALS[1]] == list(SIGNAL_DEFAULTS)


def test_signals_are_told_with_their_seq_and_kept_per_agent(world: World) -> None:
    agent = world.agent("a")
    for number in range(20):
        (told,) = agent.writes(f"k{number}", 2).signals
        assert (told.name, told.agent, told.effect, told.seq) == ("revision-break", "a", "flag", world.head)
    state = world.state(agent)
    assert state.signals == {"revision-break": 20}
    assert len(state.raised) == 16
    assert state.raised[-1].seq == world.head


def test_rejections_are_counted_and_the_last_sixteen_kept(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes("k", 1)
    for _ in range(20):
        with pytest.raises(UnseenRevision):
            agent.writes("k", 2)
    state = world.state(agent)
    assert state.refusals == {"unseen-revision": 20}
    assert (len(state.refused), state.refused[-1].keys) == (16, ["k"])


# -- revision-break


def test_a_rejection_by_rule_5_or_7_breaks_the_revisions(world: World) -> None:
    agent, peer = world.agents("a", "b")
    agent.reads("j")
    peer.writes_many(write("j", 1), write("k", 1))
    with pytest.raises(RevisionNotAdvancing) as caught:
        agent.writes_many(write("k", 1), write("j", 1), write("free", 1))
    assert raised(caught.value) == ["revision-break"]
    assert (signal(world).key, signal(world).numbers) == ("k", {"asserted": 1, "current": 1, "keys": 2})
    assert signal(world).evidence == [world.entry("k").seq, world.entry("j").seq]
    with pytest.raises(UnseenRevision) as unseen:
        agent.writes("k", 5)
    assert raised(unseen.value) == ["revision-break"]
    assert signal(world).numbers == {"asserted": 5, "current": 1, "keys": 1}


def test_a_rejection_by_rule_6_breaks_the_revisions(worlds: Worlds) -> None:
    world = worlds({"revisions": "contiguous"})
    with pytest.raises(WriteRejected) as caught:
        world.agent("a").writes("k", 2)
    assert raised(caught.value) == ["revision-break"]
    assert (signal(world).numbers, signal(world).evidence) == ({"asserted": 2, "current": 0, "keys": 1}, [])


def test_a_rejection_by_another_rule_does_not(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "open")
    for sent in (write("k", 1, "other"), write("k", 2, "done"), write("j", 1, basis={"x": 3})):
        with pytest.raises(WriteRejected) as caught:
            agent.writes_many(sent)
        assert raised(caught.value) == []


def test_an_accepted_write_that_skips_breaks_them_and_the_next_one_does_not(world: World) -> None:
    agent = world.agent("a")
    ack = agent.writes_many(write("k", 2), write("j", 1))
    assert raised(ack) == ["revision-break"]
    assert (signal(world).key, signal(world).numbers) == ("k", {"asserted": 2, "current": 0, "keys": 1})
    assert raised(agent.writes("k", 3)) == []
    agent.writes("k", 9)
    assert signal(world).evidence == [3 + 2]


def test_a_write_without_a_revision_breaks_them(world: World) -> None:
    with pytest.raises(RevisionMissing) as caught:
        world.agent("a").writes_many(write("k", None), write("j", None), write("i", 1))
    assert raised(caught.value) == ["revision-break"]
    assert (signal(world).key, signal(world).numbers) == ("k", {"missing": 2})


def test_under_advisory_revisions_one_that_does_not_advance_breaks_them(worlds: Worlds) -> None:
    world = worlds({"revisions": "advisory"})
    agent, peer = world.agents("a", "b")
    agent.writes("k", 3)
    peer.reads("k")
    assert raised(peer.writes("k", 2)) == ["revision-break"]


def test_a_suspecting_signal_suspends_the_writer_but_not_the_write(worlds: Worlds) -> None:
    world = worlds({"signals": {"revision-break": "suspect"}})
    agent = world.agent("a")
    agent.writes("k", 4)
    assert (world.entry("k").revision, agent.standing) == (4, "suspected")


# -- citation-decay


def talks(world: World, citing: int = 4, silent: int = 0) -> Agent:
    """An agent whose messages cited `citing` times, then `silent` times not."""
    agent = world.agent("a")
    agent.writes("task/B", 1, {"status": "failed"})
    agent.reads("task/B")
    for number in range(citing):
        agent.says(f"note {number}: see entry:2")
    for number in range(silent):
        agent.says(f"note {number}")
    return agent


def test_a_message_about_the_board_that_cites_nothing_suspends(world: World) -> None:
    agent = talks(world)
    head = world.head
    reply = agent.says("the completed tasks are done")
    assert raised(reply) == ["citation-decay"]
    assert (reply.cited, agent.standing) == ([], "suspected")
    found = signal(world)
    assert (found.effect, found.agent) == ("suspect", "a")
    assert found.numbers == {"cited": 0, "citing": 4, "messages": 4, "about": "status"}
    assert found.evidence == list(range(head - 3, head + 1))
    with pytest.raises(WriteRejected, match="suspected of a silent compaction"):
        agent.writes("task/B", 2)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("the completed tasks", "status"),
        ("all of the remaining items", "category"),
        ("it is done", "status"),
        ("nothing is in progress now", "status"),
        ("task/B went well", "key"),
        ("Everything went well.", "category"),
    ],
)
def test_it_speaks_of_the_board_by_key_status_or_category(world: World, text: str, about: str) -> None:
    agent = talks(world)
    assert raised(agent.says(text)) == ["citation-decay"]
    assert signal(world).numbers["about"] == about
    assert world.last(kinds.MessagePosted).about == about


@pytest.mark.parametrize("text", ["good morning", "thanks, see you later", "?!"])
def test_a_message_about_anything_else_is_nothing(world: World, text: str) -> None:
    assert raised(talks(world).says(text)) == []
    assert world.last(kinds.MessagePosted).about is None


def test_a_message_that_cites_is_nothing(world: World) -> None:
    agent = talks(world)
    assert raised(agent.says("task/B failed, see entry:2")) == []


def test_below_four_messages_nothing_is_decided(world: World) -> None:
    assert raised(talks(world, citing=3).says("the tasks are done")) == []


def test_an_agent_that_mostly_did_not_cite_has_nothing_to_lose(world: World) -> None:
    assert raised(talks(world, citing=3, silent=4).says("the tasks are done")) == []
    agent = world.agent("a")
    agent.says("see entry:2")
    assert raised(agent.says("the tasks are done")) == []  # 3 of the last 8


def test_half_of_the_last_eight_is_enough(world: World) -> None:
    assert raised(talks(world, citing=4, silent=4).says("the tasks are done")) == ["citation-decay"]


def test_only_the_last_eight_messages_count(world: World) -> None:
    assert raised(talks(world, citing=20, silent=5).says("the tasks are done")) == []


def test_the_policy_may_make_it_a_flag(worlds: Worlds) -> None:
    world = worlds(
        {"signals": {"citation-decay": {"effect": "flag", "minimum": 1, "window": 2, "ratio": 1.0}}}
    )
    agent = talks(world, citing=2)
    assert raised(agent.says("the tasks are done")) == ["citation-decay"]
    assert agent.standing == "active"


# -- read-elision


def careful(world: World, times: int = 3) -> tuple[Agent, int]:
    """An agent that has read `k` before each of its writes of it; and the next revision."""
    agent = world.agent("a")
    for number in range(times):
        agent.updates("k", number)
    return agent, times + 1


def test_a_write_without_the_read_that_used_to_come_before_is_flagged(world: World) -> None:
    agent, revision = careful(world)
    read, written = world.state(agent).view.last_read("k"), world.entry("k").seq
    assert raised(agent.writes("k", revision)) == ["read-elision"]
    found = signal(world)
    assert (found.key, found.effect) == ("k", "flag")
    assert found.numbers == {"read_before": 3, "writes": 3}
    assert found.evidence == [read, written]


def test_reading_everything_counts_as_a_read(world: World) -> None:
    agent, revision = careful(world)
    agent.reads_all()
    assert raised(agent.writes("k", revision)) == []


def test_below_three_writes_there_is_no_habit(world: World) -> None:
    agent, revision = careful(world, 2)
    assert raised(agent.writes("k", revision)) == []


def test_an_agent_that_never_read_before_writing_has_no_habit_to_break(world: World) -> None:
    agent = world.agent("a")
    for revision in range(1, 6):
        assert raised(agent.writes("k", revision)) == []


def test_a_new_key_is_nothing(world: World) -> None:
    agent, _ = careful(world)
    assert raised(agent.writes("new", 1)) == []


def test_half_of_the_last_writes_is_enough_and_less_is_not(world: World) -> None:
    agent, revision = careful(world, 2)
    assert raised(agent.writes("k", revision)) == []
    assert raised(agent.writes("k", revision + 1)) == ["read-elision"]  # 2 of 3
    assert raised(agent.writes("k", revision + 2)) == ["read-elision"]  # 2 of 4
    assert raised(agent.writes("k", revision + 3)) == []  # 2 of 5


def test_only_the_last_eight_writes_of_the_key_count(world: World) -> None:
    agent, revision = careful(world, 70)
    for number in range(8):
        agent.writes("k", revision + number)
    assert world.state(agent).habit("k", 8) == (0, 8)
    assert raised(agent.writes("k", revision + 8)) == []
    assert world.state(agent).habit("k", 60) == (51, 60)


def test_a_rejected_write_is_nothing(world: World) -> None:
    agent, _ = careful(world)
    with pytest.raises(RevisionReused) as caught:
        agent.writes("k", 2, "x")
    assert raised(caught.value) == []
    peer = world.agent("b")
    peer.updates("k")
    with pytest.raises(RevisionNotAdvancing) as stale:
        agent.writes("k", 4)
    assert raised(stale.value) == ["revision-break"]


# -- confidence-inflation


def test_a_higher_confidence_after_a_compaction_without_a_read_is_flagged(worlds: Worlds) -> None:
    world = worlds({"demotion": "off", "require_view": False})
    agent = world.agent("a")
    agent.writes("k", 1, "v", confidence=0.25)
    before = world.head
    compaction = agent.compacts().head
    assert raised(agent.writes("k", 2, "v", confidence=0.75)) == ["confidence-inflation"]
    found = signal(world)
    assert (found.key, found.numbers) == ("k", {"confidence": 0.75, "before": 0.25})
    assert found.evidence == [before, compaction]


def test_a_rejected_attempt_counts_and_is_remembered(world: World) -> None:
    agent = world.agent("a")
    agent.writes_many(write("k", 1, "v", confidence=0.25), write("j", 1, "v"))
    agent.compacts()
    with pytest.raises(WriteRejected) as caught:
        agent.writes_many(write("j", 2), write("k", 2, "v", confidence=0.75))
    assert raised(caught.value) == ["confidence-inflation"]
    with pytest.raises(WriteRejected) as caught:
        agent.writes("k", 2, "v", confidence=0.75)
    assert raised(caught.value) == []


@pytest.mark.parametrize("confidence", [None, 0.0, 0.25])
def test_no_confidence_or_no_higher_one_is_nothing(worlds: Worlds, confidence: Any) -> None:
    world = worlds({"demotion": "off", "require_view": False})
    agent = world.agent("a")
    agent.writes("k", 1, "v", confidence=0.25)
    agent.compacts()
    members = {} if confidence is None else {"confidence": confidence}
    assert raised(agent.writes("k", 2, "v", **members)) == []


def test_without_a_compaction_in_between_it_is_nothing(world: World) -> None:
    agent = world.agent("a")
    agent.compacts()
    agent.reads("k")
    agent.writes("k", 1, "v", confidence=0.25)
    assert raised(agent.writes("k", 2, "v", confidence=0.75)) == []


def test_a_read_since_the_compaction_clears_it(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "v", confidence=0.25)
    agent.compacts()
    agent.reads("k")
    assert raised(agent.writes("k", 2, "v", confidence=0.75)) == []


def test_a_suspicion_in_between_counts_too(worlds: Worlds) -> None:
    world = worlds({"demotion": "off", "signals": {"revision-break": "suspect"}})
    agent = world.agent("a")
    agent.writes("k", 1, "v", confidence=0.25)
    agent.writes("j", 5)
    assert raised(agent.writes("k", 2, "v", confidence=1)) == ["confidence-inflation"]


def test_a_first_assertion_inflates_nothing(worlds: Worlds) -> None:
    world = worlds({"demotion": "off"})
    agent = world.agent("a")
    agent.compacts()
    assert raised(agent.writes("k", 1, "v", confidence=1.0)) == []


# -- completion-over-open


def covered(world: World) -> Agent:
    agent = world.agent("a")
    agent.writes_many(write("A", 1, "done"), write("B", 1, {"status": "failed"}), write("C", 2, "merged"))
    return agent


@pytest.mark.parametrize(
    ("covers", "opened"),
    [
        (["A", "B"], {"B": "unfinished"}),
        (["B@1"], {"B": "unfinished"}),
        (["C@1"], {"C": "cited at revision 1, now at 2"}),
        (["A@1", "C@2"], None),
        (["A@9"], None),
        (["unheard", "unheard@3", "@", "A@", "@1", "A@x", "A@" + "9" * 40], None),
        ([1, None, {"key": "B"}], None),
        ("B", None),
        ({"B": 1}, None),
        ([], None),
    ],
)
def test_a_finished_value_over_something_open_is_flagged(
    world: World, covers: Any, opened: dict[str, str] | None
) -> None:
    agent = covered(world)
    reply = agent.writes("all", 1, {"status": "complete", "covers": covers})
    assert raised(reply) == ([] if opened is None else ["completion-over-open"])
    if opened is not None:
        assert (signal(world).key, signal(world).numbers) == ("all", {"open": opened})
        assert signal(world).evidence == [world.entry(key).seq for key in opened]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("done, covers (A@1) and B@1.", ["completion-over-open"]),
        ("done with C@1", ["completion-over-open"]),
        ("done with B", []),
        ("open, waits for B@1", []),
        ("done with A@1 and C@2", []),
    ],
)
def test_a_text_covers_what_it_cites_with_a_revision(world: World, text: str, expected: list[str]) -> None:
    assert raised(covered(world).writes("all", 1, text)) == expected


def test_an_unfinished_value_covers_nothing(world: World) -> None:
    assert raised(covered(world).writes("all", 1, {"status": "open", "covers": ["B"]})) == []


def test_a_value_does_not_cover_itself(world: World) -> None:
    agent = covered(world)
    agent.reads("B")
    assert raised(agent.writes("B", 2, {"status": "done", "covers": ["B", "B@1"]})) == []
    assert raised(agent.writes("B", 3, {"status": "done", "covers": ["B@1"]})) == []


def test_a_key_whose_name_holds_an_at_sign_is_a_key_first(world: World) -> None:
    agent = world.agent("a")
    agent.writes("B@1", 1, "open")
    reply = agent.writes("all", 1, {"status": "done", "covers": ["B@1"]})
    assert raised(reply) == ["completion-over-open"]


def test_what_is_finished_in_the_same_batch_is_not_open(world: World) -> None:
    agent = covered(world)
    agent.reads("B")
    writes = [write("B", 2, "done"), write("all", 1, {"status": "done", "covers": ["B"]})]
    assert raised(agent.writes_many(*writes)) == []


@pytest.mark.parametrize("key", ["A", "new"])
def test_what_is_opened_in_the_same_batch_is_open(world: World, key: str) -> None:
    agent = covered(world)
    revision = world.entry(key).revision + 1 if key in world.board.ledger.entries else 1
    writes = [write(key, revision, "open"), write("all", 1, {"status": "done", "covers": [key]})]
    assert raised(agent.writes_many(*writes)) == ["completion-over-open"]


def test_a_deleted_key_is_as_open_as_it_was(world: World) -> None:
    agent = covered(world)
    agent.deletes("B", 2)
    assert raised(agent.writes("all", 1, {"status": "done", "covers": ["B"]})) == ["completion-over-open"]


def test_at_most_a_thousand_keys_are_covered(world: World) -> None:
    agent = covered(world)
    many = [f"none{number}" for number in range(1000)]
    assert raised(agent.writes("all", 1, {"status": "done", "covers": [*many, "B"]})) == []
    text = "done " + "word " * 2000 + " ".join(f"n{number}@1" for number in range(999))
    assert raised(agent.writes("text", 1, f"{text} B@1")) == ["completion-over-open"]
    assert raised(agent.writes("more", 1, f"{text} x@1 B@1")) == []


def test_the_policy_names_the_member_that_covers(worlds: Worlds) -> None:
    world = worlds({"covers_pointer": "/meta/parts"})
    agent = covered(world)
    value = {"status": "done", "meta": {"parts": ["B"]}, "covers": []}
    assert raised(agent.writes("all", 1, value)) == ["completion-over-open"]


def test_a_rejected_completion_completes_nothing(world: World) -> None:
    agent = covered(world)
    world.agent("b").writes("all", 1)
    with pytest.raises(UnseenRevision) as caught:
        agent.writes("all", 2, {"status": "done", "covers": ["B"]})
    assert raised(caught.value) == ["revision-break"]


# -- invented-record: see test_standing


def test_several_signals_of_one_command_come_in_table_order(world: World) -> None:
    agent, revision = careful(world)
    agent.writes("B", 1, "open")
    value = {"status": "done", "covers": ["B"]}
    assert raised(agent.writes("k", revision + 5, value)) == [
        "revision-break",
        "read-elision",
        "completion-over-open",
    ]
