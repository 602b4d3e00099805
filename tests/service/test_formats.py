"""A batch across a raise of the format: each command is written in the format that it was decided on."""

from __future__ import annotations

from blackboard.events import kinds
from blackboard.events.envelope import unseal
from blackboard.messages import commands as ask
from tests.service.support import (
    BOARD,
    OPERATOR,
    LogStore,
    agent,
    check_log,
    codes,
    do,
    folded,
    live_bytes,
    service_over,
    settled,
    write,
)

A = agent("a")


async def test_each_command_of_a_batch_is_sealed_in_the_format_it_was_decided_on() -> None:
    store = LogStore()
    service = service_over(store)
    await do(service, OPERATOR, ask.OpenBoard(format=1))
    outcomes = await settled(
        do(service, A, ask.Say(text="hello")),
        do(service, A, ask.Say(text="anybody?", reply_to=2)),
        do(service, OPERATOR, ask.RaiseFormat(format=2)),
        do(service, A, ask.Compact(tokens_before=9)),
        do(service, OPERATOR, ask.RaiseFormat(format=3)),
        do(service, A, ask.Compact(tokens_before=9, context_window=16)),
        do(service, A, ask.Say(text="I am", reply_to=2)),
        do(service, A, ask.Say(text="so am I", reply_to=7)),
    )
    assert codes(outcomes) == ["ok", "format-too-low", "ok", "ok", "ok", "ok", "ok", "ok"]
    assert store.appends == [1, 7]  # one batch, one commit
    rows = store.logs[BOARD]
    assert [(row.kind, row.version) for row in rows[1:]] == [
        ("message.posted", 1),
        ("board.format-raised", 1),
        ("agent.compacted", 1),
        ("board.format-raised", 1),
        ("agent.compacted", 2),
        ("message.posted", 2),
        ("message.posted", 2),
    ]
    check_log(rows)
    assert await live_bytes(service) == folded(rows)
    answered = [unseal(row).body for row in rows[-2:]]
    assert [body.reply_to for body in answered if isinstance(body, kinds.MessagePosted)] == [2, 7]


async def test_a_message_of_the_log_is_fetched_and_one_of_the_same_batch_is_not() -> None:
    store = LogStore()
    service = service_over(store)
    await do(service, A, ask.Say(text="hello"))
    outcomes = await settled(
        do(service, A, write("k", 1)),
        do(service, A, ask.Say(text="one", reply_to=2)),
        do(service, A, ask.Say(text="two", reply_to=4)),
        do(service, A, ask.Say(text="no message", reply_to=3)),
        do(service, A, ask.Say(text="not yet", reply_to=9)),
    )
    assert codes(outcomes) == ["ok", "ok", "ok", "malformed", "malformed"]
    assert "event 3 is no message: its kind is entry.written" in outcomes[3].detail
    check_log(store.logs[BOARD])


async def test_a_board_that_this_release_opens_has_its_newest_format() -> None:
    store = LogStore()
    reply = await do(service_over(store), OPERATOR, ask.OpenBoard())
    assert reply.format == kinds.FORMAT == 3
