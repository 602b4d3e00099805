"""Records on a board: who may add which, what is served of them, and what a compaction leaves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from blackboard import canonical
from blackboard.errors import FormatTooLow, IntegrityFailure, Malformed, NotAllowed, TooLarge
from blackboard.events import kinds
from blackboard.events.envelope import Event
from blackboard.gate import record as module
from blackboard.messages import commands as ask
from blackboard.messages.limits import Limits
from blackboard.messages.prepare import prepare
from blackboard.messages.principal import Grants
from blackboard.projections.evolve import evolve
from tests.pure.conftest import Worlds
from tests.pure.driver import World, raised
from tests.pure.records import amount_over, approval, chatter, fact, policy


def served(reply: Any) -> list[dict[str, Any]]:
    return [canonical.parse_exact(bytes(record)) for record in reply.records]


# -- adding


def test_a_record_becomes_an_event_and_is_held_by_its_author(world: World) -> None:
    agent = world.agent("a", records=["chatter"])
    reply = agent.adds(chatter("hello"))
    assert (reply.id, reply.seq) == ("record:2", 2)
    assert canonical.parse_exact(bytes(reply.record)) == {
        "id": "record:2",
        "seq": 2,
        "kind": "chatter",
        "text": "hello",
    }
    assert bytes(world.last(kinds.RecordAdded).record) == b'{"id":"record:2","kind":"chatter","text":"hello"}'
    assert agent.holds_record("record:2")
    assert (world.state("a").view_version, world.state("a").gate_version) == (2, 2)


def test_an_operator_adds_every_kind_and_holds_nothing(world: World) -> None:
    for record in (
        policy("p", amount_over(5)),
        fact("f", "amount", 7),
        approval("p"),
        chatter("x"),
        {"kind": "oath", "words": [1.5]},
        {"kind": "policy", "version": 3, "anything": None},
    ):
        world.operator.adds(record)
    kinds_of = [type(record).__name__ for record in world.board.records.items]
    assert kinds_of == ["PolicyRecord", "Fact", "Approval", "Chatter", "Unevaluable", "Unevaluable"]
    assert world.board.agents == {}


def test_a_callers_id_stands_and_is_unique(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    with pytest.raises(Malformed, match="taken by the record at seq 2") as caught:
        world.operator.adds(fact("p", "amount", 1))
    assert (caught.value.member, world.head) == ("/record/id", 2)


@pytest.mark.parametrize("name", ["record:9", "entry:2", "proposal:1", "certificate:3", "check:12"])
def test_an_id_that_the_board_gives_cannot_be_claimed(world: World, name: str) -> None:
    with pytest.raises(Malformed, match="one that the board gives"):
        world.operator.adds(chatter("x") | {"id": name})


@pytest.mark.parametrize(
    ("record", "member"),
    [
        ({"kind": "chatter", "seq": 3}, "/record/seq"),
        ({"kind": "chatter", "id": 3}, "/record/id"),
        ({"kind": "chatter", "id": "a\nb"}, "/record/id"),
        ({"kind": "chatter", "id": "x" * 129}, "/record/id"),
        ({"text": "no kind"}, "/record/kind"),
        ({"kind": []}, "/record/kind"),
        ({"kind": "chatter", "txt": "a typo"}, "/record/txt"),
        (policy("p", {"field": "amount", "op": "above", "value": 1}), "/record/predicate/op"),
        (approval("p") | {"approver": 7}, "/record/approver"),
        (fact("f", "x", 1) | {"supersedes": "nothing"}, "/record/supersedes"),
    ],
)
def test_a_malformed_record_is_refused_with_its_place(
    world: World, record: dict[str, Any], member: str
) -> None:
    with pytest.raises(Malformed) as caught:
        world.operator.adds(record)
    assert (caught.value.member, world.head) == (member, 1)


def test_a_record_that_is_too_large_is_refused_and_the_limit_named() -> None:
    command = ask.AddRecord(record=chatter("x" * 50))
    with pytest.raises(TooLarge) as caught:
        prepare(command, agent=None, limits=Limits(record_bytes=60))
    assert (caught.value.member, caught.value.limit) == ("/record", 60)
    prepare(command, agent=None, limits=Limits(record_bytes=100))


@pytest.mark.parametrize("value", [19.99, 1e300, 1e-300, 2**53 - 1, 0.1, -0.0, {"a": [1.5, None, "é"]}])
def test_the_numbers_of_a_record_are_those_of_its_bytes(world: World, value: Any) -> None:
    world.operator.adds(fact("f", "x", value))
    assert served(world.agent("a").reads_records("f"))[0]["value"] == canonical.exactly(value)


def test_numbers_that_no_double_holds_are_refused_not_rounded() -> None:
    body = b'{"record":{"kind":"fact","field":"x","value":0.12345678901234567890123}}'
    with pytest.raises(Malformed) as caught:
        canonical.decode(body, ask.AddRecord, max_bytes=1000)
    assert caught.value.member == "/record/value"


# -- grants


CASES: list[tuple[dict[str, Any], str]] = [
    (policy("n", amount_over(5)), "policy"),
    (approval("p"), "approval"),
    (chatter("x"), "chatter"),
    (fact("n", "refund.amount", 1), "fact:refund.*"),
    ({"kind": "oath"}, "opaque"),
    ({"kind": "policy", "version": 3}, "policy"),
    ({"kind": "approval", "version": 3}, "approval"),
]


@pytest.mark.parametrize(("record", "grant"), CASES)
def test_an_agent_adds_what_its_grants_name(world: World, record: dict[str, Any], grant: str) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    world.agent("a", records=[grant]).adds(record)
    assert world.kinds[-2:] == ["record.added", "record.added"]


@pytest.mark.parametrize(("record", "grant"), CASES)
def test_an_agent_adds_nothing_else(world: World, record: dict[str, Any], grant: str) -> None:
    others = sorted({"policy", "approval", "chatter", "fact:refund.?", "fact:x", "opaque"} - {grant})
    for grants in ([], others):
        with pytest.raises(NotAllowed, match="takes the grant") as caught:
            world.agent("a", records=grants).adds(record)
        wanted = "fact:refund.amount" if grant.startswith("fact:") else grant
        assert (caught.value.members["grant"], world.head) == (wanted, 1)


def test_by_default_an_agent_adds_no_record_at_all(world: World) -> None:
    for record, _ in CASES:
        with pytest.raises(NotAllowed):
            world.agent("a").adds(record)
    assert not Grants().records


def test_an_agent_cannot_replace_the_fact_that_binds_it(world: World) -> None:
    """The grant for what is added covers what it supersedes: of the same kind, and of the same field."""
    world.operator.adds(fact("f", "amount", 9000))
    world.operator.adds(policy("p", amount_over(5)))
    agent = world.agent("a", records=["fact:note.*", "chatter"])
    with pytest.raises(NotAllowed):
        agent.adds(fact("g", "amount", 1) | {"supersedes": "f"})
    with pytest.raises(Malformed, match="a fact of another field"):
        agent.adds(fact("g", "note.x", 1) | {"supersedes": "f"})
    with pytest.raises(NotAllowed):
        agent.adds(policy("q", amount_over(10_000)) | {"supersedes": "p"})
    assert world.head == 3


def test_a_second_superseder_is_refused_naming_the_first(world: World) -> None:
    world.operator.adds(fact("f", "amount", 1))
    world.operator.adds(fact("g", "amount", 2) | {"supersedes": "f"})
    with pytest.raises(Malformed, match="superseded already, by 'g'"):
        world.operator.adds(fact("h", "amount", 3) | {"supersedes": "f"})


def test_the_approver_comes_from_the_credential(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    world.operator.adds(approval("p"))
    world.operator.adds(approval("p") | {"approver": "ops"})
    world.agent("a", records=["approval"]).adds(approval("p") | {"approver": "agent:a"})
    approvers = [record.approver for record in world.board.records.items if hasattr(record, "approver")]
    assert approvers == ["operator:ops", "operator:ops", "agent:a"]


@pytest.mark.parametrize("claimed", ["kim", "operator:ops", "agent:b"])
def test_an_approver_that_is_not_who_adds_is_refused(world: World, claimed: str) -> None:
    with pytest.raises(NotAllowed, match="cannot approve as"):
        world.agent("a", records=["approval"]).adds(approval("p") | {"approver": claimed})
    assert world.head == 1


def test_an_unknown_version_of_an_approval_names_no_approver(world: World) -> None:
    with pytest.raises(Malformed, match="cannot name its approver") as caught:
        world.operator.adds({"kind": "approval", "version": 3, "approver": "operator:ops"})
    assert caught.value.member == "/record/approver"


def test_an_unknown_version_of_an_approval_is_answered_as_it_is_kept(world: World) -> None:
    reply = world.operator.adds({"id": "a-2", "kind": "approval", "version": 3, "says": "yes"})
    kept = msgspec.json.decode(bytes(world.last(kinds.RecordAdded).record))
    assert kept == {"id": "a-2", "kind": "approval", "version": 3, "says": "yes"}
    assert msgspec.json.decode(msgspec.json.encode(reply.record)) == kept | {"seq": 2}


# -- formats


def test_a_board_of_format_1_has_no_records_and_says_how_to_get_them(worlds: Worlds) -> None:
    world = worlds(at_format=1)
    agent = world.agent("a", records=["chatter"])
    acts = (
        lambda: agent.adds(chatter("x")),
        lambda: agent.reads_records("r"),
        agent.reads_records,
        lambda: agent.checks("t"),
        lambda: agent.keeps("t"),
    )
    for act in acts:
        with pytest.raises(FormatTooLow, match=r"raise_format\(2\)") as caught:
            act()
        assert caught.value.members == {"format": 1, "limit": 2}
    assert world.head == 1
    agent.writes("k", 1)
    world.operator.raises_format(2)
    assert agent.adds(chatter("x")).seq == 4


def test_the_rules_and_signals_of_format_1_go_on(worlds: Worlds) -> None:
    world = worlds(at_format=1)
    agent = world.agent("a")
    reply = agent.compacts(kept=["r-1"])
    assert (reply.unknown_kept, raised(reply)) == (["r-1"], ["invented-record"])


# -- reading


def test_a_served_record_enters_the_view(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    world.operator.adds(fact("f", "amount", 1))
    agent = world.agent("a")
    reply = agent.reads_records("f", "nothing", "p", "f")
    assert [record["id"] for record in served(reply)] == ["p", "f"]
    assert reply.unknown_records == ["nothing"]
    assert world.last(kinds.BoardRead) == kinds.BoardRead(records=["p", "f"])
    assert agent.holds_record("p")
    assert agent.holds_record("f")


def test_unknown_ids_alone_are_told_and_leave_no_event(world: World) -> None:
    reply = world.agent("a").reads_records("nothing")
    assert (reply.unknown_records, reply.records, reply.seq, world.head) == (["nothing"], [], None, 1)


def test_all_records_are_read_page_by_page_as_one_command(world: World) -> None:
    for number in range(5):
        world.operator.adds(fact(f"f{number}", "x", number))
    agent = world.agent("a")
    reply = agent.reads_records(limit=2)
    assert [record["id"] for record in served(reply)] == [f"f{number}" for number in range(5)]
    assert [body.page for body in world.bodies(kinds.BoardRead)] == [1, 2, 3]
    assert len(world.state("a").recent) == 1
    assert world.state("a").holding.count == 5


def test_a_page_ends_with_the_record_that_crosses_its_size(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE_BYTES", 1)
    for number in range(3):
        world.operator.adds(fact(f"f{number}", "x", number))
    agent = world.agent("a")
    assert len(agent.reads_records().records) == 3
    assert [len(body.records) for body in world.bodies(kinds.BoardRead)] == [1, 1, 1]


def test_a_board_without_records_serves_none_and_records_no_read(world: World) -> None:
    reply = world.agent("a").reads_records()
    assert (reply.records, reply.cursor, reply.seq) == ([], None, None)


def test_more_than_a_read_may_serve_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_BYTES", 10)
    world.operator.adds(fact("f", "x", 1))
    with pytest.raises(TooLarge) as caught:
        world.agent("a").reads_records("f")
    assert (caught.value.member, caught.value.limit) == ("/records", 10)


@pytest.mark.parametrize("cursor", ["2:k", "2:٣", "2:" + "9" * 13])
def test_a_cursor_of_another_read_is_refused(world: World, cursor: str) -> None:
    with pytest.raises(Malformed, match="cursor") as caught:
        world.agent("a").sends(ask.Read(records="all", cursor=cursor))
    assert caught.value.member == "/cursor"


def test_a_read_that_closes_a_turn_raises_its_signals(world: World) -> None:
    world.operator.adds(fact("f", "x", 1))
    agent = world.agent("a", records=["chatter"])
    for turn in range(3):
        agent.writes_many(*({"key": f"k{n}", "revision": turn + 1, "value": n} for n in range(4)), turn=turn)
    agent.reads_all(turn=3)
    agent.writes("k0", 4, 1, turn=3)
    agent.reads("k1", turn=4)
    agent.writes("k1", 4, 1, turn=4)
    assert raised(agent.adds(chatter("x"), turn=5)) == ["write-breadth"]


# -- compaction


def test_a_compaction_takes_what_is_not_kept(world: World) -> None:
    for name in ("p", "q", "r"):
        world.operator.adds(policy(name, amount_over(5)))
    agent = world.agent("a")
    agent.reads_records("p", "q")
    reply = agent.compacts(kept=["q", "r", "s", "q"])
    assert (reply.unknown_kept, raised(reply)) == (["r", "s"], ["invented-record"])
    assert world.last(kinds.AgentCompacted).kept == ["q"]
    assert [agent.holds_record(name) for name in ("p", "q", "r")] == [False, True, False]


def test_what_was_lost_before_cannot_be_kept_again(world: World) -> None:
    """Judging a second compaction against an already compacted context would launder the first."""
    for name in ("p", "q"):
        world.operator.adds(policy(name, amount_over(5)))
    agent = world.agent("a")
    agent.reads_records()
    agent.compacts(kept=["p"])
    reply = agent.compacts(kept=["p", "q"], once="k")
    assert (reply.unknown_kept, reply.lost_kept, raised(reply)) == ([], ["q"], [])
    assert (agent.holds_record("p"), agent.holds_record("q")) == (True, False)
    assert agent.compacts(kept=["p", "q"], once="k").lost_kept == ["q"]
    agent.reads_records("q")
    assert agent.holds_record("q")


def test_what_arrived_after_the_base_survives(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    agent = world.agent("a")
    agent.reads_records("p")
    base = world.head
    world.operator.adds(policy("q", amount_over(6)))
    agent.reads_records("q")
    agent.compacts(base)
    assert (agent.holds_record("p"), agent.holds_record("q")) == (False, True)


def test_a_report_of_a_peer_keeps_nothing(world: World) -> None:
    world.operator.adds(policy("p", amount_over(5)))
    agent = world.agent("a")
    agent.reads_records("p")
    world.operator.reports_compaction("a", kept=["p"])
    assert not agent.holds_record("p")
    assert world.last(kinds.AgentCompacted).kept is None


# -- retries, citations, the fold


def test_a_record_is_added_once_however_often_it_is_sent(world: World) -> None:
    first = world.operator.adds(fact("f", "x", 1.5), once="key")
    again = world.operator.adds(fact("f", "x", 1.5), once="key")
    assert (again.id, again.seq, again.replayed) == (first.id, first.seq, True)
    assert bytes(again.record) == bytes(first.record)
    assert world.head == 2


def test_a_record_is_cited_by_its_id(world: World) -> None:
    world.operator.adds(policy("p-limit", amount_over(5)))
    world.operator.adds(fact(None, "x", 1))
    agent = world.agent("a")
    assert agent.says("by p-limit and record:3, not record:4").cited == ["p-limit", "record:3"]


def test_a_stored_record_that_is_none_is_an_integrity_failure(world: World) -> None:
    world.operator.adds(chatter("x") | {"id": "c"})
    for seq, text in ((3, b'{"id":"d","kind":"chatter","what":1}'), (3, b'{"id":"c","kind":"chatter"}')):
        body = kinds.RecordAdded(record=msgspec.Raw(text))
        with pytest.raises(IntegrityFailure, match="the record in event 3 is none"):
            evolve(world.board, Event(seq, "operator:ops", "c9", True, body))


def test_a_reads_of_records_pay_no_debt_of_keys(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1)
    world.operator.adds(chatter("x"))
    agent.compacts()
    agent.reads_records()
    assert (agent.standing, agent.owed) == ("compacted", 1)
