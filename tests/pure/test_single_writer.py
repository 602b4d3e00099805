"""Single-writer mode: others propose, one coordinator decides, and nothing is accepted unread."""

from __future__ import annotations

from typing import Any

import pytest

from blackboard.errors import (
    CompletionUnverified,
    Malformed,
    NotAllowed,
    ProposalClosed,
    RevalidationRequired,
    RevisionMissing,
    RevisionReused,
    SingleWriter,
    UnknownProposal,
    UnseenRevision,
)
from blackboard.events import kinds
from blackboard.messages import commands as ask
from blackboard.messages.principal import Principal
from tests.pure.conftest import Worlds
from tests.pure.driver import Agent, World, codes, raised, write


@pytest.fixture
def single(worlds: Worlds) -> World:
    """`planner` holds the pen and has written `k`."""
    world = worlds()
    world.operator.sets_mode("single-writer", "planner")
    world.agent("planner").writes("k", 1, "first")
    return world


def pair(world: World) -> tuple[Agent, Agent]:
    """The coordinator, and a helper."""
    return world.agent("planner"), world.agent("helper")


def proposed(helper: Agent, *writes: Any, **options: Any) -> str:
    return helper.proposes(*writes, **options).proposal


# -- the mode


def test_entering_and_leaving_the_mode_are_events(world: World) -> None:
    world.operator.sets_mode("single-writer", "planner", why="a quiet night")
    world.operator.sets_mode("single-writer", "other")
    world.operator.sets_mode("open")
    modes = world.bodies(kinds.BoardModeChanged)
    assert [(body.mode, body.coordinator) for body in modes] == [
        ("single-writer", "planner"),
        ("single-writer", "other"),
        ("open", None),
    ]
    assert modes[0].why == "a quiet night"
    world.agent("a").writes("k", 1)


def test_a_mode_that_is_there_already_appends_nothing(world: World) -> None:
    assert world.operator.sets_mode("open").seq is None
    world.operator.sets_mode("single-writer", "planner")
    assert world.operator.sets_mode("single-writer", "planner").seq is None


def test_the_mode_needs_a_coordinator(worlds: Worlds) -> None:
    with pytest.raises(Malformed) as caught:
        worlds().operator.sets_mode("single-writer")
    assert caught.value.member == "/coordinator"
    world = worlds({"coordinator": "planner"})
    world.operator.sets_mode("single-writer")
    assert world.board.coordinator == "planner"


def test_open_mode_takes_no_coordinator(world: World) -> None:
    with pytest.raises(Malformed) as caught:
        world.operator.sets_mode("open", "planner")
    assert caught.value.member == "/coordinator"


def test_an_unnotifiable_compaction_falls_back_to_the_mode_where_the_policy_names_a_coordinator(
    worlds: Worlds,
) -> None:
    world = worlds({"coordinator": "planner"})
    planner, helper = pair(world)
    reply = helper.compacts(notify="impossible")
    assert reply.mode == "single-writer"
    assert world.kinds[-2:] == ["agent.compacted", "board.mode-changed"]
    assert "helper compacted and peers cannot be notified" in world.last(kinds.BoardModeChanged).why
    planner.writes("k", 1)
    helper.reads_all()
    with pytest.raises(SingleWriter):
        helper.writes("j", 1)


@pytest.mark.parametrize(
    ("policy", "notify"),
    [
        ({"coordinator": "planner"}, "in-band"),
        ({}, "impossible"),
        ({"coordinator": "planner", "on_unnotifiable": "none"}, "impossible"),
    ],
)
def test_otherwise_the_board_stays_open(worlds: Worlds, policy: dict[str, Any], notify: str) -> None:
    world = worlds(policy)
    assert world.agent("helper").compacts(notify=notify).mode is None
    assert world.board.mode == "open"


def test_a_second_unnotifiable_compaction_leaves_the_coordinator(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    world.operator.sets_mode("single-writer", "other")
    assert world.agent("helper").compacts(notify="impossible").mode is None
    assert world.board.coordinator == "other"


def test_where_the_coordinator_itself_was_compacted_nobody_writes_until_another_is_named(
    worlds: Worlds,
) -> None:
    world = worlds({"coordinator": "planner"})
    planner, helper = pair(world)
    helper.writes("k", 1)
    planner.compacts(notify="impossible")
    for agent in (planner, helper):
        with pytest.raises(SingleWriter):
            agent.writes("j", 1)
    world.operator.sets_mode("single-writer", "helper")
    helper.writes("j", 1)


# -- proposing


def test_a_proposal_is_recorded_with_what_its_proposer_held(single: World) -> None:
    planner, helper = pair(single)
    helper.reads("k", "absent")
    planner.writes("k", 2, "second")
    planner.writes("made", 1)
    helper.reads("made")
    planner.writes("made", 2)
    name = proposed(
        helper,
        write("k", 3, "mine", confidence=0.5, basis={"made": 1}),
        write("absent", 1),
        write("made", 3, deleted=True),
        write("unheard", 1),
        reason="the network is back",
    )
    body = single.last(kinds.WriteProposed)
    assert name == f"proposal:{single.head}"
    assert [(one.key, one.revision, one.held) for one in body.writes] == [
        ("k", 3, 1),
        ("absent", 1, 0),
        ("made", 3, 1),
        ("unheard", 1, None),
    ]
    assert (body.writes[0].confidence, body.writes[0].basis) == (0.5, {"made": 1})
    assert body.writes[2].deleted
    assert body.reason == "the network is back"


def test_what_a_compaction_took_out_was_not_held(single: World) -> None:
    _, helper = pair(single)
    helper.reads("k")
    helper.compacts()
    proposed(helper, write("k", 2))
    assert single.last(kinds.WriteProposed).writes[0].held is None


def test_an_absence_read_before_a_peer_made_the_key_was_held_as_zero(worlds: Worlds) -> None:
    world = worlds({"require_view": False})
    planner, helper = pair(world)
    helper.reads("k")
    planner.writes("k", 1)
    planner.writes("j", 4)
    helper.reads("j")
    planner.writes("j", 5)
    proposed(helper, write("k", 2), write("j", 6))
    assert [one.held for one in world.last(kinds.WriteProposed).writes] == [0, 4]


def test_any_standing_may_propose_and_nothing_is_judged_yet(single: World) -> None:
    _, helper = pair(single)
    helper.compacts()
    proposed(helper, write("k", 1, "stale"))
    assert single.value("k") == "first"


def test_a_proposal_without_a_revision_is_refused_and_leaves_no_trace(single: World) -> None:
    _, helper = pair(single)
    head = single.head
    with pytest.raises(RevisionMissing):
        helper.proposes(write("k", None))
    assert single.head == head


def test_proposals_are_possible_in_open_mode_too(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    planner, helper = pair(world)
    name = proposed(helper, write("k", 1, "mine"))
    planner.reads_proposals()
    planner.accepts(name)
    assert (world.value("k"), world.entry("k").writer) == ("mine", "planner")


# -- reading


def test_reading_proposals_is_a_recorded_read(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("k", 2, {"x": 1}), write("gone", 1, deleted=True), reason="why not")
    reply = planner.reads_proposals()
    assert single.last(kinds.BoardRead).proposals == [name]
    (told,) = reply.proposals
    assert (told.id, told.seq, told.proposer, told.reason) == (name, single.head - 1, "helper", "why not")
    first, second = told.writes
    assert (bytes(first.value), first.revision, first.held) == (b'{"x":1}', 2, None)
    assert (second.value, second.deleted) == (None, True)


def test_without_proposals_nothing_is_recorded(single: World) -> None:
    head = single.head
    assert single.agent("planner").reads_proposals().proposals == []
    assert single.head == head


@pytest.mark.parametrize("role", ["operator", "auditor"])
def test_others_read_proposals_unrecorded(single: World, role: Any) -> None:
    proposed(single.agent("helper"), write("k", 2))
    head = single.head
    reply = single.send(Principal(role=role, name="kim"), ask.ReadProposals())
    assert len(reply.proposals) == 1
    assert single.head == head


# -- accepting


def test_an_accepted_proposal_is_the_coordinators_own_write(single: World) -> None:
    planner, helper = pair(single)
    helper.reads("k")
    name = proposed(helper, write("k", 2, "mine", confidence=0.25), write("new", 1, "n"))
    planner.reads_proposals()
    ack = planner.accepts(name)
    assert single.kinds[-3:] == ["proposal.accepted", "entry.written", "entry.written"]
    assert [(entry.key, entry.revision, entry.seq) for entry in ack.entries] == [
        ("k", 2, single.head - 1),
        ("new", 1, single.head),
    ]
    entry = single.entry("k")
    assert (entry.writer, entry.confidence, single.value("k")) == ("planner", 0.25, "mine")
    assert single.last(kinds.ProposalAccepted) == kinds.ProposalAccepted(proposal=name)
    assert planner.writes("k", 2, "mine", confidence=0.25).replayed


def test_a_proposal_is_decided_once(single: World) -> None:
    planner, helper = pair(single)
    helper.reads("k")
    accepted, refused = proposed(helper, write("k", 2)), proposed(helper, write("j", 1))
    planner.reads_proposals()
    planner.accepts(accepted)
    planner.refuses(refused, "not now")
    for name, decision in ((accepted, "accepted"), (refused, "refused")):
        for act in (planner.accepts, planner.refuses):
            with pytest.raises(ProposalClosed, match=decision) as caught:
                act(name)
            assert caught.value.members["decision"] == decision
    assert single.board.proposals == {}


@pytest.mark.parametrize("name", ["proposal:99", "proposal:2", "nonsense", ""])
def test_an_unknown_proposal_is_not_found(single: World, name: str) -> None:
    planner = single.agent("planner")
    for act in (planner.accepts, planner.refuses):
        with pytest.raises(UnknownProposal):
            act(name)


@pytest.mark.parametrize("mode", ["open", "single-writer"])
def test_only_the_coordinator_decides(worlds: Worlds, mode: str) -> None:
    world = worlds({"coordinator": "planner"} if mode == "open" else {})
    if mode == "single-writer":
        world.operator.sets_mode("single-writer", "planner")
    _, helper = pair(world)
    name = proposed(helper, write("k", 1))
    helper.reads_proposals()
    for act in (helper.accepts, helper.refuses):
        with pytest.raises(NotAllowed, match="planner"):
            act(name)
    assert name in world.board.proposals


def test_without_any_coordinator_nobody_decides(world: World) -> None:
    helper = world.agent("helper")
    name = proposed(helper, write("k", 1))
    with pytest.raises(NotAllowed, match="none named"):
        helper.accepts(name)


def test_nothing_is_accepted_unread(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("new", 1))
    seq = single.head
    with pytest.raises(UnseenRevision) as caught:
        planner.accepts(name)
    (rule,) = caught.value.rules
    assert (rule.key, rule.evidence) == (None, {"proposal": name, "seq": seq})
    assert raised(caught.value) == ["revision-break"]
    signal = single.last(kinds.SignalRaised)
    assert (signal.key, signal.numbers, signal.evidence) == (None, {"keys": 0}, [seq])
    assert (caught.value.remedy.call, caught.value.remedy.keys) == ("proposals(), or GET proposals", [])
    body = single.last(kinds.WriteRejected)
    assert (body.proposal, body.restate, name in single.board.proposals) == (name, False, True)
    planner.reads_proposals()
    planner.accepts(name)


def test_restating_does_not_spare_the_reading(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("new", 1))
    with pytest.raises(UnseenRevision):
        planner.accepts(name, restate=True)
    assert single.last(kinds.WriteRejected).restate


def test_refusing_needs_no_reading(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("new", 1))
    planner.refuses(name, "nobody has answered yet")
    assert single.last(kinds.ProposalRefused).reason == "nobody has answered yet"


def test_a_compaction_takes_proposals_out_of_the_view(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    planner, helper = pair(world)
    name = proposed(helper, write("new", 1))
    planner.reads_proposals()
    planner.compacts()
    planner.reads_all()
    planner.reads("new")
    with pytest.raises(UnseenRevision, match="do not hold proposal"):
        planner.accepts(name)
    planner.reads_proposals()
    planner.accepts(name)


def test_proposals_that_arrived_beside_the_compaction_survive(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner", "demotion": "off"})
    planner, helper = pair(world)
    name = proposed(helper, write("new", 1))
    base = world.head
    planner.reads_proposals()
    planner.compacts(base_seq=base)
    planner.accepts(name)


def test_a_proposer_must_not_overwrite_what_it_never_saw(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("k", 2, "mine"))
    planner.reads_proposals()
    with pytest.raises(UnseenRevision) as caught:
        planner.accepts(name)
    (rule,) = caught.value.rules
    assert rule.evidence == {"current": 1, "writer": "planner", "seq": 3, "held": None, "proposer": "helper"}
    assert "never read it" in rule.detail
    assert caught.value.remedy.call == "refuse, or accept with restate: true"
    assert single.value("k") == "first"


def test_a_proposal_overtaken_by_another_write_is_stale(single: World) -> None:
    planner, helper = pair(single)
    helper.reads("k")
    name = proposed(helper, write("k", 3, "mine"))
    planner.writes("k", 2, "second")
    planner.reads_proposals()
    with pytest.raises(UnseenRevision) as caught:
        planner.accepts(name)
    assert "held revision 1" in caught.value.rules[0].detail
    planner.accepts(name, restate=True)
    assert (single.value("k"), single.last(kinds.ProposalAccepted).restate) == ("mine", True)


def test_a_stale_and_unread_proposal_lists_both(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("k", 2))
    with pytest.raises(UnseenRevision) as caught:
        planner.accepts(name)
    assert [rule.key for rule in caught.value.rules] == [None, "k"]
    assert caught.value.remedy.call == "proposals(), or GET proposals"


def test_every_rule_judges_the_acceptance_as_the_coordinators_write(single: World) -> None:
    planner, helper = pair(single)
    helper.reads("k")
    planner.writes("k", 2, {"status": "open"})
    helper.reads("k")
    stale = proposed(helper, write("k", 2, "late"))
    finish = proposed(helper, write("k", 3, {"status": "done"}))
    planner.reads_proposals()
    with pytest.raises(RevisionReused) as caught:
        planner.accepts(stale)
    assert codes(caught.value) == ["revision-reused", "revision-not-advancing"]
    with pytest.raises(CompletionUnverified) as finished:
        planner.accepts(finish)
    assert codes(finished.value) == ["completion-unverified"]
    planner.reads("k")
    planner.accepts(finish)


def test_the_coordinator_itself_must_hold_what_it_replaces(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    planner, helper = pair(world)
    helper.writes("k", 1)
    name = proposed(helper, write("k", 2))
    planner.reads_proposals()
    with pytest.raises(UnseenRevision) as caught:
        planner.accepts(name)
    assert caught.value.remedy.call == 'read_many, or POST reads {"keys": [...]}'
    planner.reads("k")
    planner.accepts(name)


def test_a_compacted_coordinator_accepts_nothing_before_its_full_reread(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("new", 1))
    planner.compacts()
    planner.reads_proposals()
    planner.reads("new")
    with pytest.raises(SingleWriter) as caught:
        planner.accepts(name)
    assert "read_all" in caught.value.remedy.call
    planner.reads_all()
    planner.accepts(name)


def test_a_compacted_coordinator_in_open_mode_reads_again_first(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    planner, helper = pair(world)
    name = proposed(helper, write("new", 1))
    planner.compacts()
    planner.reads_proposals()
    with pytest.raises(RevalidationRequired):
        planner.accepts(name)


def test_a_failed_acceptance_counts_as_the_coordinators_attempt(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("k", 2), write("j", 1))
    planner.reads_proposals()
    with pytest.raises(UnseenRevision):
        planner.accepts(name, turn=1)
    planner.ends_turn(1)
    assert single.state(planner).breadth.sizes == [1, 2]
    assert single.state(planner).refusals == {"unseen-revision": 1}


def test_accepting_what_the_coordinator_wrote_itself_is_a_receipt(single: World) -> None:
    planner, helper = pair(single)
    name = proposed(helper, write("k", 1, "first"), write("new", 1, "n"))
    planner.reads_proposals()
    ack = planner.accepts(name)
    assert [(entry.key, entry.replayed) for entry in ack.entries] == [("new", False), ("k", True)]
    assert single.last(kinds.ProposalAccepted).repeats == {"k": 1}
    again = proposed(helper, write("new", 1, "n"))
    planner.reads_proposals()
    ack = planner.accepts(again)
    assert (ack.replayed, single.kinds[-1], again in single.board.proposals) == (
        True,
        "proposal.accepted",
        False,
    )


def test_the_coordinators_write_grant_bounds_what_it_accepts(single: World) -> None:
    helper = single.agent("helper")
    name = proposed(helper, write("doc/x", 1))
    planner = single.agent("planner", writes=["task/*"])
    planner.reads_proposals()
    with pytest.raises(NotAllowed, match="doc/x"):
        planner.accepts(name)
    assert name in single.board.proposals


def test_a_superseded_write_of_the_coordinator_is_found_in_the_log(single: World) -> None:
    planner, helper = pair(single)
    planner.writes("k", 2, "second")
    name = proposed(helper, write("k", 1, "first"))
    planner.reads_proposals()
    ack = planner.accepts(name)
    assert (ack.replayed, ack.superseded_by) == (True, single.entry("k").seq)
