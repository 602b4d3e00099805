"""Answers that record nothing: what a board says of itself."""

from __future__ import annotations

import pytest

from blackboard import canonical
from blackboard.errors import Malformed, UnknownAgent, UnseenRevision
from blackboard.events.kinds import KeyRange
from blackboard.gate import query
from blackboard.gate import read as reading
from blackboard.messages import commands as ask
from blackboard.messages.holdings import HeldRecords
from blackboard.messages.principal import Call, Principal
from tests.pure.driver import World, frozen, refold, write
from tests.pure.records import amount_over, chatter, policy


@pytest.fixture
def busy(world: World) -> World:
    """Two agents, one of them compacted and half way back."""
    agent, peer = world.agents("executor", "verifier")
    peer.writes_many(write("doc", 1, "x"), write("task/A", 1, "done"), write("task/B", 1, "open"))
    agent.reads_page(limit=2)
    agent.reads("nothing")
    agent.writes("own", 2, 1)
    peer.deletes("doc", 2)
    with pytest.raises(UnseenRevision):
        agent.writes("task/B", 2)
    agent.says("see entry:2", turn=4)
    agent.compacts(base_seq=5)
    agent.reads("task/B")
    return world


def test_a_board_in_full(busy: World) -> None:
    reply = query.board_reply(busy.board, Principal(role="auditor", name="kim"), Call())
    assert (reply.name, reply.head, reply.agents, reply.live_entries) == ("release-42", busy.head, 2, 3)
    assert (reply.seq, reply.standing, reply.created) == (None, None, False)
    assert [notice.about for notice in reply.notices] == ["agent:executor"]


def test_the_ledger_page_by_page(busy: World) -> None:
    first = query.ledger(busy.board, ask.GetLedger(limit=3), head=99)
    second = query.ledger(busy.board, ask.GetLedger(limit=3, after=first.next), head=99)
    assert [entry.key for entry in first.entries] == ["doc", "own", "task/A"]
    assert [entry.key for entry in second.entries] == ["task/B"]
    assert (first.next, second.next) == ("task/A", None)
    assert (first.at, first.head, first.state_digest) == (busy.head, 99, query.state_digest(busy.board))
    assert first.entries[0].deleted
    assert query.ledger(busy.board, ask.GetLedger(limit=4), head=99).next is None


def test_a_page_of_the_ledger_ends_when_it_is_large_enough(
    busy: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE_BYTES", 1)
    keys: list[str] = []
    after, pages = None, 0
    while pages == 0 or after is not None:
        page = query.ledger(busy.board, ask.GetLedger(after=after), head=99)
        keys, after, pages = keys + [entry.key for entry in page.entries], page.next, pages + 1
    assert keys == ["doc", "own", "task/A", "task/B"]
    assert pages > 2


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_of_the_ledger_has_a_limit(busy: World, limit: int) -> None:
    with pytest.raises(Malformed) as caught:
        query.ledger(busy.board, ask.GetLedger(limit=limit), head=1)
    assert (caught.value.member, caught.value.limit) == ("limit", 1000)


def test_every_agent_with_what_its_protection_costs(busy: World) -> None:
    executor, verifier = query.agents(busy.board, head=99).agents
    assert (executor.agent, verifier.agent) == ("executor", "verifier")
    assert (executor.state, executor.since, executor.owed) == ("compacted", busy.head - 1, 2)
    assert (executor.commands, executor.reads, executor.rereads, executor.writes) == (7, 4, 1, 1)
    assert (executor.compactions, executor.turn) == (1, 4)
    assert executor.rejections == {"unseen-revision": 1}
    assert executor.signals == {"revision-break": 2}
    assert (verifier.state, verifier.since, verifier.owed, verifier.writes) == ("active", None, 0, 4)


def test_one_agent_in_full(busy: World) -> None:
    reply = query.agent(busy.board, "executor", head=99)
    assert (reply.at, reply.head, reply.base, reply.more) == (busy.head, 99, 5, 0)
    assert reply.summary == query.agents(busy.board, head=99).agents[0]
    assert reply.standing.state == "compacted"
    assert [(held.key, held.current, held.revision, held.current_revision) for held in reply.view] == [
        ("nothing", True, 0, 0),
        ("own", True, 2, 2),
        ("task/B", True, 1, 1),
    ]
    assert [(seen.range, seen.seen_at) for seen in reply.ranges] == [(KeyRange(through="task/A"), 5)]
    assert (reply.baselines.breadth, reply.baselines.breadth_median) == ([1, 1], None)
    assert (reply.baselines.citations, reply.baselines.narrow_run) == ([1], 0)
    assert [(refused.code, refused.keys) for refused in reply.last_rejections] == [
        ("unseen-revision", ["task/B"])
    ]
    assert [raised.signal for raised in reply.last_signals] == ["revision-break"] * 2


def test_what_was_taken_or_overtaken_is_not_current(busy: World) -> None:
    agent = busy.agent("executor")
    agent.reads("task/A")
    busy.agent("verifier").writes("task/A", 2, "open")
    held = {one.key: one for one in query.agent(busy.board, "executor", head=9).view}
    assert (held["task/A"].current, held["task/A"].revision, held["task/A"].current_revision) == (
        False,
        None,
        2,
    )


def test_an_agent_that_no_event_concerns_is_unknown(busy: World) -> None:
    with pytest.raises(UnknownAgent) as caught:
        query.agent(busy.board, "stranger", head=1)
    assert caught.value.members == {"agent": "stranger"}


def test_a_refused_command_makes_no_agent_known(world: World) -> None:
    with pytest.raises(Malformed):
        world.agent("ghost").reads_page("nonsense")
    assert query.agents(world.board, head=1).agents == []


def test_a_report_is_the_same_whether_or_not_something_was_decided_since(busy: World) -> None:
    busy.agent("executor").reads("x", turn=9)
    busy.agent("verifier").writes("loose", 1)
    again = refold(busy.rows)
    before = query.agent(again, "verifier", head=1)
    busy.operator.sets_mode("open")
    assert query.agent(busy.board, "verifier", head=1) == before


def test_a_long_view_is_cut_and_the_rest_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "LISTED", 2)
    world.agent("a").reads("x", "y", "z")
    reply = query.agent(world.board, "a", head=1)
    assert ([held.key for held in reply.view], reply.more) == (["x", "y"], 1)


@pytest.mark.parametrize(
    ("prefix", "cursor", "limit", "ranges"),
    [
        ("", None, None, [KeyRange()]),
        ("", None, 1, [KeyRange(through="a/1")]),
        ("", "2:a/1", None, [KeyRange(after="a/1")]),
        ("a/", None, None, [KeyRange(prefix="a/")]),
        ("a/", None, 1, [KeyRange(after="a/", through="a/1")]),
        ("a/", "2:a/1", None, [KeyRange(after="a/1", prefix="a/")]),
    ],
)
def test_the_ranges_that_were_read_are_shown(
    world: World, prefix: str, cursor: str | None, limit: int | None, ranges: list[KeyRange]
) -> None:
    world.agent("peer").writes_many(write("a/1", 1), write("a/2", 1), write("b", 1))
    agent = world.agent("a", prefix=prefix)
    agent.reads_page(cursor, limit=limit)
    assert [seen.range for seen in query.agent(world.board, "a", head=1).ranges] == ranges


def test_a_range_read_inside_another_cuts_it(world: World) -> None:
    world.agent("peer").writes_many(write("a/1", 1), write("b", 1))
    agent = world.agent("a")
    agent.reads_all()
    world.operator.joins("a", "a/")
    agent.reads_all()
    shown = query.agent(world.board, "a", head=1).ranges
    assert [seen.range for seen in shown[:2]] == [KeyRange(through="a/"), KeyRange(prefix="a/")]
    assert len(shown) == 3


# -- digests


def test_value_level_agreement_is_one_digest(world: World) -> None:
    world.agent("a").writes("k", 1, {"b": 1, "a": 2})
    line = canonical.encode(["k", 1, False]) + b'{"a":2,"b":1}\n'
    assert query.state_digest(world.board) == canonical.digest(b"blackboard/state/1\0", line).hex()


def test_the_state_digest_is_of_values_and_the_view_digest_of_provenance() -> None:
    one, other = World(), World()
    for world in (one, other):
        world.agent("a").writes("k", 1, "x")
        world.agent("a").writes("k", 2, "y")
    other.agent("a").says("hello")
    other.agent("a").writes("k", 3, "z")
    one.agent("a").writes("k", 3, "z")
    state = [query.state_digest(world.board) for world in (one, other)]
    view = [query.view_digest(world.board, world.board.agents["a"]) for world in (one, other)]
    assert state[0] == state[1]
    assert view[0] != view[1]


def test_the_view_digest_is_over_what_is_held_now(world: World) -> None:
    agent, peer = world.agents("a", "b")
    peer.writes_many(write("j", 1), write("k", 1))
    agent.reads("k")
    empty = canonical.digest(b"blackboard/view/1\0").hex()
    line = canonical.encode(["k", 1, 3]) + b"\n"
    held = canonical.digest(b"blackboard/view/1\0", line).hex()
    assert query.view_digest(world.board, world.board.agents["a"]) == held
    peer.writes("k", 2)
    assert query.view_digest(world.board, world.board.agents["a"]) == empty


def test_a_summary_that_says_the_same_changes_no_digest(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, "x")
    digest = query.state_digest(world.board)
    agent.says("k is x, as before")
    agent.compacts(summary_digest="s1")
    assert query.state_digest(world.board) == digest
    agent.updates("k", "y")
    assert query.state_digest(world.board) != digest


def test_queries_change_nothing(busy: World) -> None:
    before = frozen(busy.board)
    query.agents(busy.board, head=1)
    query.agent(busy.board, "executor", head=1)
    query.ledger(busy.board, ask.GetLedger(), head=1)
    query.board_reply(busy.board, Principal(role="agent", name="new"), Call(seen=1))
    assert frozen(busy.board) == before


# -- records


def test_what_an_agent_holds_of_the_records_and_what_it_was_told(world: World) -> None:
    for name in ("p", "q"):
        world.operator.adds(policy(name, amount_over(5)))
    world.operator.adds(chatter("x"))
    agent = world.agent("a")
    agent.reads_records()
    agent.compacts(kept=["q"])
    world.operator.adds(policy("r", amount_over(1)))
    agent.checks("t", {"amount": 3})
    agent.checks("u")
    reply = query.agent(world.board, "a", head=world.head)
    assert reply.records == HeldRecords(
        held=["q"], held_count=1, dropped=["p", "record:4"], dropped_count=2, chatter_dropped=1, unseen=1
    )
    assert reply.summary.checks == {"BLOCK": 1, "PASS": 1}
    assert [(checked.tool, checked.verdict, checked.codes) for checked in reply.last_checks] == [
        ("t", "BLOCK", ["unseen-binding-constraint"]),
        ("u", "PASS", []),
    ]


def test_long_lists_of_records_are_cut_and_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "LISTED", 1)
    for name in ("p", "q", "r", "s"):
        world.operator.adds(policy(name, amount_over(5)))
    agent = world.agent("a")
    agent.reads_records()
    agent.compacts(kept=["q", "r"])
    records = query.agent(world.board, "a", head=world.head).records
    assert (records.held, records.held_count, records.dropped, records.dropped_count) == (["q"], 2, ["p"], 2)


def test_the_digests_are_over_entries_and_records(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    state, view = query.state_digest(world.board), query.view_digest(world.board, world.state("a"))
    world.operator.adds(policy("p", amount_over(5)))
    after = query.state_digest(world.board)
    assert after != state
    assert query.view_digest(world.board, world.state("a")) == view
    agent.reads_records("p")
    assert query.view_digest(world.board, world.state("a")) != view
    assert query.state_digest(world.board) == after == query.state_digest(refold(world.rows))
    agent.compacts(1)
    assert query.view_digest(world.board, world.state("a")) != view
