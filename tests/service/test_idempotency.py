"""One key, one command: the same outcome for ever, and never its events twice."""

import pytest

from blackboard.errors import IdempotencyKeyReused, Malformed, RevisionMissing, UnseenRevision
from blackboard.events.envelope import Row
from blackboard.messages import commands as ask
from blackboard.messages.commands import Write
from blackboard.service.keys import GENERATION, RecentKeys
from tests.service.support import (
    BOARD,
    OPERATOR,
    agent,
    check_log,
    codes,
    do,
    folded,
    key,
    live_bytes,
    opened,
    read,
    service_over,
    settled,
    write,
)

A, B = agent("a"), agent("b")


async def test_the_same_key_and_command_give_the_original_outcome() -> None:
    service, store = await opened()
    first = await do(service, A, write("k", 1), key("one"))
    await do(service, B, write("l", 1))
    again = await do(service, A, write("k", 1), key("one"))
    assert (again.seq, again.head) == (first.seq, 3)
    assert again.replayed
    assert len(store.logs[BOARD]) == 3
    assert service.metrics.replays == 1


async def test_a_retry_of_a_recent_key_costs_no_reload() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1), key("one"))
    loads = list(store.loads)
    await do(service, A, write("k", 1), key("one"))
    assert store.loads == loads
    assert service.metrics.conflicts == 0


async def test_the_same_key_with_another_command_is_refused() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1), key("one"))
    with pytest.raises(IdempotencyKeyReused, match="event 2") as caught:
        await do(service, A, write("k", 1, "other"), key("one"))
    assert caught.value.member == "Idempotency-Key"
    assert len(store.logs[BOARD]) == 2


async def test_a_rejection_is_given_again_too_even_when_the_write_would_pass_by_now() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1))
    with pytest.raises(UnseenRevision) as first:
        await do(service, B, write("k", 2), key("one"))
    await do(service, B, read("k"))
    with pytest.raises(UnseenRevision) as again:
        await do(service, B, write("k", 2), key("one"))
    assert again.value.seq == first.value.seq
    assert again.value.rules == first.value.rules
    assert again.value.head == len(store.logs[BOARD])
    assert (await do(service, B, write("k", 2), key("two"))).entries[0].revision == 2


async def test_an_attempt_without_a_revision_is_given_again() -> None:
    service, _ = await opened()
    command = ask.WriteBatch(writes=[Write("k", value=1)])
    outcomes = [
        (await settled(do(service, A, command, key("one"))))[0],
        (await settled(do(service, A, command, key("one"))))[0],
    ]
    assert [type(outcome) for outcome in outcomes] == [RevisionMissing, RevisionMissing]
    assert outcomes[0].seq == outcomes[1].seq


async def test_keys_are_scoped_to_the_actor_and_the_board() -> None:
    service, _ = await opened()
    outcomes = await settled(
        do(service, A, write("k", 1), key("one")),
        do(service, B, write("l", 1), key("one")),
        do(service, A, write("k", 1, "else"), key("one"), board="other"),
    )
    assert codes(outcomes) == ["ok"] * 3
    assert not any(reply.replayed for reply in outcomes)


async def test_duplicates_that_arrive_at_once_take_effect_once() -> None:
    service, store = await opened()
    outcomes = await settled(
        *(do(service, A, write("k", 1), key("one")) for _ in range(5)),
        do(service, A, write("k", 1, "other"), key("one")),
    )
    assert codes(outcomes) == ["ok"] * 5 + ["idempotency-key-reused"]
    assert [reply.replayed for reply in outcomes[:5]] == [False, True, True, True, True]
    assert {reply.seq for reply in outcomes[:5]} == {2}
    check_log(store.logs[BOARD])


async def test_keys_hold_after_a_restart() -> None:
    service, store = await opened()
    first = await do(service, A, write("k", 1), key("one"))
    await service.close()
    service = service_over(store)
    outcomes = await settled(
        do(service, A, write("x", 1), key("new")),
        do(service, A, write("k", 1), key("one")),
        do(service, B, write("y", 1), key("one")),
    )
    assert codes(outcomes) == ["ok"] * 3
    assert outcomes[1].seq == first.seq
    assert outcomes[1].replayed
    assert [row.key for row in store.logs[BOARD]] == [None, "k", "x", "y"]
    with pytest.raises(IdempotencyKeyReused):
        await do(service, A, write("k", 2), key("one"))
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_one_found_key_makes_the_service_look_up_the_next_ones() -> None:
    service, store = await opened()
    for number in range(10):
        await do(service, A, ask.Say(text="hello"), key(f"key {number}"))
    service = service_over(store)
    store.loads.clear()
    for number in range(10):
        reply = await do(service, A, ask.Say(text="hello"), key(f"key {number}"))
        assert reply.seq == number + 2
    assert len(store.loads) == 2
    assert service.metrics.conflicts == 1


async def test_a_key_holds_for_a_command_that_would_append_nothing_by_now() -> None:
    service, store = await opened()
    turn = ask.Say(text="in turn 3", turn=3)
    mode = ask.SetMode(mode="single-writer", coordinator="a")
    await do(service, OPERATOR, mode)
    proposed = await do(service, B, ask.Propose(writes=[Write("k", 1, "x")]), key("p"))
    await do(service, A, ask.ReadProposals())
    accept = ask.AcceptProposal(proposal=proposed.proposal)
    first = [await do(service, A, turn, key("t")), await do(service, A, accept, key("a"))]
    await do(service, A, ask.EndTurn(turn=3))
    service = service_over(store)
    # Judged afresh, the turn is over and the proposal closed; nothing would be appended, nothing collide.
    again = [await do(service, A, turn, key("t")), await do(service, A, accept, key("a"))]
    assert [reply.seq for reply in again] == [reply.seq for reply in first]
    with pytest.raises(IdempotencyKeyReused):
        await service_over(store).execute(BOARD, B, ask.AcceptProposal(proposal="proposal:1"), key("p"))


async def test_a_key_is_bound_by_the_first_command_that_appends() -> None:
    service, _ = await opened()
    refused = ask.WriteBatch(writes=[Write("k", 1, 1), Write("k", 2, 2)])
    with pytest.raises(Malformed, match="two writes"):
        await do(service, A, refused, key("one"))
    await do(service, A, write("k", 1), key("zero"))
    # A replay by payload appends nothing, so it leaves the key free.
    assert (await do(service, A, write("k", 1), key("one"))).replayed
    assert not (await do(service, A, write("l", 1), key("one"))).replayed


async def test_reads_ignore_keys() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1), key("one"))
    first = await do(service, A, read("k"), key("one"))
    second = await do(service, A, read("k"), key("one"))
    single = await do(service, A, ask.ReadEntry(key="k"), key("one"))
    await do(service, A, ask.ReadProposals(), key("one"))
    assert first.seq < second.seq < single.seq
    check_log(store.logs[BOARD])


async def test_the_receipt_of_a_batch_that_was_partly_a_replay_is_whole() -> None:
    service, _ = await opened()
    await do(service, A, write("k", 1, "x"))
    mixed = ask.WriteBatch(writes=[Write("k", 1, "x"), Write("l", 1, "y")])
    first = await do(service, A, mixed, key("one"))
    again = await do(service, A, mixed, key("one"))
    assert [(entry.key, entry.seq) for entry in again.entries] == [
        (entry.key, entry.seq) for entry in first.entries
    ]
    assert [entry.replayed for entry in first.entries] == [True, False]


async def test_operators_commands_have_keys_too() -> None:
    service, store = await opened()
    command = ask.SetMode(mode="single-writer", coordinator="a")
    first = await do(service, OPERATOR, command, key("one"))
    again = await do(service, OPERATOR, command, key("one"))
    assert first.seq == again.seq
    assert len(store.logs[BOARD]) == 2


async def test_once_redacted_the_id_alone_decides() -> None:
    service, store = await opened()
    await do(service, A, ask.Say(text="a secret"), key("one"))
    row = store.logs[BOARD][-1]
    store.logs[BOARD][-1] = Row(*row)._replace(body=None, salt=None)
    reply = await do(service, A, ask.Say(text="something else"), key("one"))
    assert reply.seq == row.seq


@pytest.mark.parametrize("bad", ["", "a\nb", "x" * 129, "~0192", "\ud800"])
async def test_a_key_that_cannot_be_one_is_refused(bad: str) -> None:
    service, store = await opened()
    with pytest.raises(Malformed) as caught:
        await do(service, A, write("k", 1), key(bad))
    assert caught.value.member == "Idempotency-Key"
    assert len(store.logs[BOARD]) == 1


async def test_a_key_of_128_characters_of_any_script_is_accepted() -> None:
    service, _ = await opened()
    assert (await do(service, A, write("k", 1), key("界" * 128))).seq == 2


async def test_no_key_that_a_caller_can_send_equals_an_id_of_the_server() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1))
    made = store.logs[BOARD][-1].command_id
    with pytest.raises(Malformed):
        await do(service, A, write("l", 1), key(made))


def test_the_memory_of_keys_is_bounded_and_keeps_the_last_generation() -> None:
    keys = RecentKeys()
    for number in range(3 * GENERATION):
        keys.add("agent:a", str(number))
    assert all(("agent:a", str(number)) in keys for number in range(2 * GENERATION, 3 * GENERATION))
    assert ("agent:a", "0") not in keys
    assert len(keys._new) + len(keys._old) <= 2 * GENERATION
