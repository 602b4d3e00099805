"""A message may answer another one of its board, and nothing else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from blackboard.errors import FormatTooLow, Malformed
from blackboard.events import kinds
from blackboard.gate.case import Need
from blackboard.gate.decide import decide, needs
from blackboard.messages import commands as ask
from blackboard.messages.prepare import prepare
from tests.pure.conftest import Worlds
from tests.pure.driver import NAME, World


def test_a_message_answers_another_by_its_seq(world: World) -> None:
    ann, bob = world.agents("ann", "bob")
    asked = ann.says("who has B?")
    bob.says("I do", reply_to=asked.seq)
    assert world.last(kinds.MessagePosted) == kinds.MessagePosted(
        text="I do", about=None, reply_to=asked.seq, recipients=[]
    )
    assert bob.says("and C", reply_to=world.head).cited == []


def test_a_message_that_answers_nothing_has_no_such_member(world: World) -> None:
    world.agent("ann").says("hello")
    assert world.rows[-1].body == '{"text":"hello"}'


@pytest.mark.parametrize(
    ("seq", "said"), [(0, "has events 1 to 2, and none at 0"), (3, "has events 1 to 2, and none at 3")]
)
def test_a_reply_to_an_event_that_is_not_there_is_refused_naming_the_seq(
    world: World, seq: int, said: str
) -> None:
    ann = world.agent("ann")
    ann.says("hello")
    with pytest.raises(Malformed, match=f"reply_to {seq}: this board {said}") as caught:
        ann.says("what?", reply_to=seq)
    assert (caught.value.member, caught.value.members["value"], world.head) == ("/reply_to", seq, 2)


def test_a_reply_to_what_is_no_message_is_refused_naming_its_kind(world: World) -> None:
    ann = world.agent("ann")
    with pytest.raises(Malformed, match=r"event 1 is no message: its kind is board\.opened"):
        ann.says("what?", reply_to=1)


def test_a_redacted_message_can_be_answered(world: World) -> None:
    ann = world.agent("ann")
    ann.says("a secret")
    world.events[-1] = replace(world.events[-1], body=kinds.Opaque(kind="message.posted", version=2))
    ann.says("gone, is it?", reply_to=2)
    assert world.last(kinds.MessagePosted).reply_to == 2


def test_only_the_row_that_is_answered_is_fetched_and_none_that_cannot_be(world: World) -> None:
    ann = world.agent("ann")
    ann.says("hello")
    wanted = {}
    for seq in (None, 0, 1, 2, 3):
        prepared = prepare(ask.Say(text="x", reply_to=seq), agent="ann")
        wanted[seq] = needs(world.board, ann.principal, prepared)
    assert wanted == {None: [], 0: [], 1: [Need(seq=1)], 2: [Need(seq=2)], 3: []}


def test_a_row_that_was_not_found_is_no_message(world: World) -> None:
    ann = world.agent("ann")
    prepared = prepare(ask.Say(text="x", reply_to=1), agent="ann")
    with pytest.raises(Malformed, match="none at 1"):
        decide(world.board, NAME, ann.principal, prepared, {Need(seq=1): None})


@pytest.mark.parametrize("board_format", [1, 2])
def test_what_format_3_added_is_refused_below_it_and_leaves_no_trace(
    worlds: Worlds, board_format: int
) -> None:
    world = worlds(at_format=board_format)
    ann = world.agent("ann")
    ann.says("hello")
    for act in (lambda: ann.says("you?", reply_to=2), lambda: ann.compacts(context_window=200_000)):
        with pytest.raises(FormatTooLow) as caught:
            act()
        assert caught.value.members == {"format": board_format, "limit": 3}
        for words in ("raise_format(3)", "blackboard board format 3", f"has format {board_format}"):
            assert words in caught.value.detail
    assert world.head == 2
    world.operator.raises_format(3)
    ann.says("you?", reply_to=2)
    ann.compacts(tokens_before=9, context_window=200_000)
    assert world.last(kinds.AgentCompacted).tokens == kinds.Tokens(before=9, window=200_000)
    assert [row.version for row in world.rows] == [1, 1, 1, 2, 2]


def test_a_compaction_without_sizes_has_no_tokens(world: World) -> None:
    world.agent("ann").compacts()
    assert world.last(kinds.AgentCompacted).tokens is None
