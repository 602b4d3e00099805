"""Every client: what format 3 added, and what a board of an older format answers to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import blackboard
from blackboard import Approval
from blackboard.client import Board
from tests.client.desk import ASK, BIG, TOOL, desk
from tests.client.drive import Place

Call = Callable[[Board], Awaitable[Any]]

NEEDS_FORMAT_3: dict[str, Call] = {
    "reply_to": lambda board: board.say("I do", reply_to=2),
    "context_window": lambda board: board.compacted(tokens_before=9, context_window=200_000),
    "the text of an approval": lambda board: board.add_record(
        Approval.for_action(ASK.id or "", TOOL, BIG, text="paid twice")
    ),
}


async def test_a_message_answers_another_and_the_log_shows_it(place: Place) -> None:
    ann, bob = await place.agent("ann"), await place.agent("bob")
    asked = await ann.say("who has B?")
    answer = await bob.say("I do", reply_to=asked.seq, idempotency_key="k")
    again = await bob.say("I do", reply_to=asked.seq, idempotency_key="k")
    assert (answer.seq, again.seq, again.replayed) == (3, 3, True)
    with pytest.raises(blackboard.IdempotencyKeyReused):
        await bob.say("I do", reply_to=3, idempotency_key="k")
    events = [event async for event in ann.log(kind="message.posted")]
    assert [(event.version, event.body.get("reply_to")) for event in events] == [(2, None), (2, 2)]


@pytest.mark.parametrize(
    ("seq", "said"), [(1, "its kind is board.opened"), (9, "none at 9"), (0, "none at 0"), (-1, "-1")]
)
async def test_a_reply_to_what_is_no_message_is_malformed_and_names_the_seq(
    place: Place, seq: int, said: str
) -> None:
    board = await place.agent("ann")
    await board.say("hello")
    with pytest.raises(blackboard.Malformed) as caught:
        await board.say("what?", reply_to=seq)
    assert (caught.value.status, caught.value.member) == (422, "/reply_to")
    assert said in caught.value.detail or seq < 0
    assert (await board.events()).head == 2


async def test_a_compaction_says_how_large_the_window_is(place: Place) -> None:
    board = await place.agent("ann")
    await board.compacted(tokens_before=9, tokens_after=2, context_window=200_000)
    await board.compacted(context_window=8)
    await board.compacted()
    events = [event async for event in board.log(kind="agent.compacted")]
    assert [event.body.get("tokens") for event in events] == [
        {"before": 9, "after": 2, "window": 200_000},
        {"window": 8},
        None,
    ]


async def test_an_approval_says_why_and_is_served_with_its_words(place: Place) -> None:
    operator, board = await desk(place, ASK)
    added = await operator.add_record(Approval.for_action(ASK.id or "", TOOL, BIG, text="paid twice"))
    assert (added.record["version"], added.record["text"]) == (2, "paid twice")
    served = (await board.read_records()).records[-1]
    assert (served["version"], served["text"]) == (2, "paid twice")
    assert (await board.check(TOOL, BIG)).policy.answer == "default"
    with pytest.raises(blackboard.Malformed) as caught:
        await operator.add_record(
            {"kind": "approval", "policy": ASK.id, "action_digest": "0f" * 32, "granted": True, "text": "x"}
        )
    assert caught.value.member == "/record/text"


@pytest.mark.parametrize("board_format", [1, 2])
async def test_what_an_older_format_cannot_say_is_refused_until_it_is_raised(
    place: Place, board_format: int
) -> None:
    operator = await place.operator()
    await operator.open_board(format=board_format)
    board = await place.agent("a", records=["approval"])
    await board.say("who has B?")
    calls = [*NEEDS_FORMAT_3.values()][: board_format + 1]  # a board of format 1 has no records at all
    for call in calls:
        with pytest.raises(blackboard.FormatTooLow) as caught:
            await call(board)
        assert (caught.value.code, caught.value.status) == ("format-too-low", 409)
        assert caught.value.members == {"format": board_format, "limit": 3}
        assert "raise_format(3)" in caught.value.detail
    await board.compacted(tokens_before=9)
    events = [event async for event in board.log()]
    assert [(event.kind, event.version) for event in events] == [
        ("board.opened", 1),
        ("message.posted", 1),
        ("agent.compacted", 1),
    ]
    assert events[-1].body["tokens_before"] == 9
    await operator.raise_format(3)
    await operator.add_record(ASK)
    for name, call in NEEDS_FORMAT_3.items():
        assert await call(board) is not None, name
