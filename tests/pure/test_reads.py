"""Reads are recorded: what was served goes into the reader's view."""

from __future__ import annotations

import msgspec
import pytest

from blackboard.errors import Malformed, TooLarge, UnknownBoard
from blackboard.events import kinds
from blackboard.gate import read as module
from blackboard.messages import commands as ask
from blackboard.messages.replies import Entry
from tests.pure.conftest import Worlds
from tests.pure.driver import World, write


def shown(entry: Entry) -> tuple[str, object, int, bool]:
    value = None if entry.value is None else msgspec.json.decode(bytes(entry.value))
    return entry.key, value, entry.revision, entry.deleted


@pytest.fixture
def filled(world: World) -> World:
    """Five keys, one of them deleted."""
    agent = world.agent("peer")
    agent.writes_many(*(write(f"k{number}", 1, {"n": number}, confidence=0.5) for number in range(5)))
    agent.deletes("k2", 2)
    return world


def test_a_read_serves_value_revision_identifier_writer_and_seq(filled: World) -> None:
    (entry,) = filled.agent("a").reads("k1").entries
    assert shown(entry) == ("k1", {"n": 1}, 1, False)
    assert (entry.id, entry.writer, entry.written_seq, entry.confidence) == ("entry:3", "peer", 3, 0.5)


def test_a_deleted_key_is_served_as_its_tombstone(filled: World) -> None:
    (entry,) = filled.agent("a").reads("k2").entries
    assert shown(entry) == ("k2", None, 2, True)
    assert entry.id == "entry:7"


def test_reading_one_entry_is_recorded_alike(filled: World) -> None:
    reply = filled.agent("a").reads_entry("k1")
    assert shown(reply.entry) == ("k1", {"n": 1}, 1, False)
    assert filled.last(kinds.BoardRead) == kinds.BoardRead(keys={"k1": 1})
    assert filled.agent("a").holds("k1")


def test_keys_are_served_in_the_order_asked_and_once(filled: World) -> None:
    reply = filled.agent("a").reads("k3", "nothing", "k1", "k3")
    assert [shown(entry) for entry in reply.entries] == [
        ("k3", {"n": 3}, 1, False),
        ("nothing", None, 0, False),
        ("k1", {"n": 1}, 1, False),
    ]
    assert filled.last(kinds.BoardRead).keys == {"k3": 1, "nothing": 0, "k1": 1}


def test_a_full_read_serves_every_key_in_order_page_by_page(filled: World) -> None:
    agent = filled.agent("a")
    head = filled.head
    first = agent.reads_page(limit=2)
    second = agent.reads_page(first.cursor, limit=2)
    last = agent.reads_page(second.cursor, limit=2)
    assert [[entry.key for entry in page.entries] for page in (first, second, last)] == [
        ["k0", "k1"],
        ["k2", "k3"],
        ["k4"],
    ]
    assert (first.cursor, second.cursor, last.cursor) == ("2:k1", "3:k3", None)
    pages = filled.bodies(kinds.BoardRead)
    assert [(page.page, page.served, page.head) for page in pages] == [
        (1, 2, head),
        (2, 2, head + 1),
        (3, 1, head + 2),
    ]
    assert [page.range for page in pages] == [
        kinds.KeyRange(through="k1"),
        kinds.KeyRange(after="k1", through="k3"),
        kinds.KeyRange(after="k3"),
    ]
    assert all(agent.holds(f"k{number}") for number in range(5))


def test_a_page_that_ends_with_the_last_key_has_no_cursor(filled: World) -> None:
    assert filled.agent("a").reads_page(limit=5).cursor is None


def test_an_empty_board_is_read_whole(world: World) -> None:
    page = world.agent("a").reads_page()
    assert (page.entries, page.cursor) == ([], None)
    assert world.last(kinds.BoardRead).range == kinds.KeyRange()


def test_a_page_ends_with_the_entry_that_crosses_its_size(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE_BYTES", 10)
    agent = world.agent("a")
    agent.writes_many(*(write(f"k{number}", 1, "x" * 6) for number in range(4)))
    page = agent.reads_page()
    assert ([entry.key for entry in page.entries], page.cursor) == (["k0", "k1"], "2:k1")


def test_more_than_can_be_served_at_once_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_BYTES", 10)
    agent = world.agent("a")
    agent.writes_many(write("x", 1, "x" * 6), write("y", 1, "y" * 6))
    head = world.head
    agent.reads("x", "nothing")
    with pytest.raises(TooLarge, match="read fewer") as caught:
        agent.reads("x", "y")
    assert (caught.value.member, caught.value.limit) == ("/keys", 10)
    assert world.head == head + 1
    assert not agent.holds("never")


@pytest.mark.parametrize("cursor", ["x", "2", "2:", ":k", "1:k", "0:k", "-2:k", "٢:k", "2222222222:k", "a:b"])
def test_a_cursor_that_is_none_is_refused(filled: World, cursor: str) -> None:
    head = filled.head
    with pytest.raises(Malformed) as caught:
        filled.agent("a").reads_page(cursor)
    assert (caught.value.member, filled.head) == ("/cursor", head)


def test_a_cursor_holds_any_key(world: World) -> None:
    agent = world.agent("a")
    agent.writes_many(write("a:b", 1), write("a:c", 1))
    page = agent.reads_page(limit=1)
    assert page.cursor == "2:a:b"
    assert [entry.key for entry in agent.reads_page(page.cursor, limit=1).entries] == ["a:c"]


def test_a_cursor_below_the_prefix_begins_at_it(world: World) -> None:
    world.agent("peer").writes_many(write("a", 1), write("task/A", 1))
    agent = world.agent("a", prefix="task/")
    assert [entry.key for entry in agent.reads_page("2:a").entries] == ["task/A"]


def test_a_cursor_beyond_the_prefix_serves_nothing_and_harms_nothing(world: World) -> None:
    world.agent("peer").writes_many(write("task/A", 1), write("zzz", 1))
    agent = world.agent("a", prefix="task/")
    assert agent.reads_page("2:zzz").entries == []
    assert not agent.holds("zzz")
    assert agent.reads_all().cursor is None
    assert agent.holds("task/A")


# -- boards that do not exist


def test_a_read_of_an_unopened_board_opens_it_where_that_is_allowed(worlds: Worlds) -> None:
    world = worlds(opened=False, auto_open=True)
    agent = world.agent("a", prefix="task/")
    agent.reads_page()
    assert world.kinds == ["board.opened", "agent.joined", "board.read"]
    assert world.last(kinds.BoardRead).head == 0


def test_elsewhere_it_is_unknown(worlds: Worlds) -> None:
    world = worlds(opened=False)
    with pytest.raises(UnknownBoard):
        world.agent("a").reads("k")
    with pytest.raises(UnknownBoard):
        world.operator.sends(ask.ReadProposals())
    assert world.head == 0
