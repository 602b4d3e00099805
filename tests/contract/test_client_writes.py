"""Every client, embedded and over HTTP, async and sync: reading and writing."""

from typing import Any

import msgspec
import pytest

import blackboard
from blackboard import Ack, AckEntry, Entry, Guarantee, Standing, Write
from tests.client.drive import Place

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**53 - 1,
    0.5,
    1e-7,
    1.7976931348623157e308,
    "",
    'ünïcödé \U0001f600 \u2028 " \\ \x7f',
    [],
    {},
    [1, [2, {"a": None}], "three"],
    {"status": "open", "nested": {"ключ": [1.25, False]}, "": 0},
]


async def test_an_accepted_write_is_acknowledged_with_every_member(place: Place) -> None:
    board = await place.agent()
    ack = await board.write("task/B", {"status": "open"}, revision=1)
    entry = AckEntry(key="task/B", revision=1, id="entry:2", seq=2)
    active, intact = Standing(state="active"), Guarantee(intact=True)
    assert type(ack) is Ack
    assert ack == Ack(entries=[entry], seq=2, head=2, standing=active, guarantee=intact)
    assert (ack.replayed, ack.superseded_by, ack.notices, ack.moved, ack.signals) == (False, None, [], [], [])
    assert (board.head, board.standing, board.guarantee) == (2, active, intact)
    assert (board.notices, board.moved) == ((), ())
    assert board.name == place.name


encoded = msgspec.json.Encoder(order="sorted").encode


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_a_value_comes_back_as_json_holds_it(place: Place, value: object) -> None:
    board = await place.agent()
    await board.write("k", value, revision=1)
    entry = await board.read("k")
    assert encoded(entry.value) == encoded(value)
    assert entry == Entry(key="k", value=value, revision=1, id="entry:2", writer="a", written_seq=2)


async def test_a_number_has_one_form_whoever_serves_it(place: Place) -> None:
    board = await place.agent()
    await board.write("k", {"whole": 1.0, "negative": -0.0}, revision=1)
    value = (await board.read("k")).value
    assert {name: type(number) for name, number in value.items()} == {"whole": int, "negative": int}


async def test_reading_what_is_absent_or_deleted_is_an_answer_and_no_error(place: Place) -> None:
    board = await place.agent()
    assert await board.read("nothing") == Entry(key="nothing", value=None, revision=0)
    await board.write("k", "v", revision=1, confidence=0.25)
    assert (await board.read("k")).confidence == 0.25
    await board.delete("k", revision=2)
    tombstone = await board.read("k")
    assert (tombstone.value, tombstone.revision, tombstone.deleted) == (None, 2, True)
    ack = await board.write("k", "again", revision=3)
    assert (ack.entries[0].revision, ack.signals) == (3, [])


async def test_several_keys_are_read_at_once_in_the_order_asked_for(place: Place) -> None:
    board = await place.agent()
    await board.write_many([Write("a", 1, 1), Write("b", 1, 2)])
    reply = await board.read_many(["b", "nothing", "a"])
    assert [(entry.key, entry.value) for entry in reply.entries] == [("b", 2), ("nothing", None), ("a", 1)]
    assert (reply.cursor, reply.seq, reply.head) == (None, board.head, board.head)


async def test_a_full_read_pages_on_its_own(place: Place) -> None:
    board = await place.agent()
    for start in (0, 1000, 2000):
        keys = [f"key/{number:05}" for number in range(start, min(start + 1000, 2005))]
        await board.write_many([Write(key, 1, {"n": key}) for key in keys])
    reply = await board.read_all()
    assert [entry.key for entry in reply.entries] == [f"key/{number:05}" for number in range(2005)]
    assert reply.cursor is None
    pages = [event async for event in board.log(kind="board.read")]
    assert [event.body["page"] for event in pages] == [1, 2, 3]


async def test_nothing_that_a_caller_holds_is_held_by_the_board(place: Place) -> None:
    board = await place.agent()
    value = {"list": [1, 2]}
    await board.write("k", value, revision=1)
    value["list"].append(3)
    first = await board.read("k")
    first.value["list"].append(4)
    assert (await board.read("k")).value == {"list": [1, 2]}


async def test_the_same_write_again_is_a_receipt(place: Place) -> None:
    board, peer = await place.agent("a"), await place.agent("b")
    first = await board.write("k", {"n": 1}, revision=1)
    again = await board.write("k", {"n": 1.0}, revision=1)
    assert (again.replayed, again.seq, again.superseded_by) == (True, first.seq, None)
    assert again.entries == [msgspec.structs.replace(first.entries[0], replayed=True)]
    await peer.read("k")
    newer = await peer.write("k", {"n": 2}, revision=2)
    late = await board.write("k", {"n": 1}, revision=1)
    assert (late.replayed, late.superseded_by, late.entries[0].superseded_by) == (True, newer.seq, newer.seq)
    assert late.head == board.head


async def test_an_idempotency_key_gives_the_first_answer_for_ever(place: Place) -> None:
    board = await place.agent()
    said = await board.say("hello", idempotency_key="one")
    again = await board.say("hello", idempotency_key="one")
    assert (again.seq, again.cited) == (said.seq, said.cited)
    assert [event.seq async for event in board.log(kind="message.posted")] == [said.seq]
    await board.write("k", 1, revision=1)
    refused = []
    for _ in range(2):
        with pytest.raises(blackboard.RevisionReused) as caught:
            await board.write("k", 2, revision=1, idempotency_key="two")
        refused.append(caught.value.seq)
    rejected = [event.seq async for event in board.log(kind="write.rejected")]
    assert refused == rejected * 2
    with pytest.raises(blackboard.IdempotencyKeyReused):
        await board.write("k", 3, revision=2, idempotency_key="two")


async def test_an_idempotency_key_is_counted_in_characters(place: Place) -> None:
    board = await place.agent()
    key = "ключ" * 32
    first = await board.say("hello", idempotency_key=key)
    assert (await board.say("hello", idempotency_key=key)).seq == first.seq
    (posted,) = [event async for event in board.log(kind="message.posted")]
    assert posted.command_id == key
    for wrong in (key + "s", "~1", ""):
        with pytest.raises(blackboard.Malformed) as caught:
            await board.say("hello", idempotency_key=wrong)
        assert caught.value.member == "Idempotency-Key"


async def test_a_done_says_whether_it_was_replayed(place: Place) -> None:
    board = await place.agent()
    await board.write("k", 1, revision=1, turn=1)
    first = await board.end_turn(1, idempotency_key="end")
    second = await board.end_turn(1, idempotency_key="end")
    assert (first.replayed, second.replayed) == (False, True)
    assert first.seq == second.seq


async def test_a_batch_is_accepted_whole_or_refused_whole(place: Place) -> None:
    board = await place.agent()
    await board.write_many([{"key": "a", "revision": 1, "value": 1}, Write("b", 1, 1)])
    with pytest.raises(blackboard.RevisionReused) as caught:
        await board.write_many([Write("c", 1, 1), Write("a", 1, 2), {"key": "b", "revision": 1, "value": 3}])
    assert [(rule.code, rule.key) for rule in caught.value.rules] == [
        ("revision-reused", "a"),
        ("revision-not-advancing", "a"),
        ("revision-reused", "b"),
        ("revision-not-advancing", "b"),
    ]
    assert (await board.read("c")).revision == 0


async def test_a_rejection_says_why_with_evidence_and_what_to_do(place: Place) -> None:
    board, peer = await place.agent("a"), await place.agent("b")
    await board.write("k", "v1", revision=1)
    with pytest.raises(blackboard.WriteRejected) as caught:
        await peer.write("k", "v2", revision=2)
    error = caught.value
    assert type(error) is blackboard.UnseenRevision
    assert error.code == "unseen-revision"
    assert [rule.code for rule in error.rules] == ["unseen-revision"]
    assert error.evidence == error.rules[0].evidence
    assert (error.evidence["current"], error.evidence["seq"]) == (1, 2)
    assert error.remedy.keys == ["k"]
    assert error.remedy.records == []
    assert error.remedy.call
    assert [signal.name for signal in error.signals] == ["revision-break"]
    assert error.signals[0].seq == error.seq == error.head == peer.head
    assert error.standing == Standing(state="active")
    assert error.guarantee == Guarantee(intact=True)
    assert "k" in error.detail


async def test_a_mapping_without_revision_is_refused_and_leaves_a_trace(place: Place) -> None:
    board = await place.agent()
    with pytest.raises(blackboard.RevisionMissing) as caught:
        await board.write_many([{"key": "k", "value": 1}])
    error = caught.value
    assert not isinstance(error, blackboard.WriteRejected)
    assert [signal.name for signal in error.signals] == ["revision-break"]
    assert error.head == board.head
    (rejected,) = [event async for event in board.log(kind="write.rejected")]
    assert rejected.body["code"] == "revision-missing"
    with pytest.raises(TypeError):
        await board.write("k", 1)  # type: ignore[call-arg]  # what is refused


async def test_the_basis_of_a_decision_must_stand(place: Place) -> None:
    board, peer = await place.agent("a"), await place.agent("b")
    await board.write("a", "done", revision=1)
    await peer.read("a")
    await peer.write("release", "go", revision=1, basis={"a": 1})
    await board.write("a", "retracted", revision=2)
    with pytest.raises(blackboard.BasisMoved) as caught:
        await peer.write("release", "went", revision=2, basis={"a": 1})
    assert caught.value.remedy.keys == ["release", "a"]


async def test_turns_are_kept_in_order(place: Place) -> None:
    board = await place.agent()
    await board.write("k", 1, revision=1, turn=5)
    with pytest.raises(blackboard.TurnOutOfOrder) as caught:
        await board.say("late", turn=4)
    assert (caught.value.member, caught.value.limit) == ("/turn", 5)
    await board.end_turn(5)
    with pytest.raises(blackboard.TurnOutOfOrder):
        await board.write("k", 2, revision=2, turn=5)
    await board.read_many(["k"], turn=6)
    await board.read("k", turn=6)
    await board.read_all(turn=7)


async def test_a_message_tells_what_it_cites(place: Place) -> None:
    board = await place.agent()
    ack = await board.write("task/B", "failed", revision=1)
    said = await board.say("B failed, see entry:2 and task/B@1 and entry:9999", recipients=["b"])
    assert ack.entries[0].id == "entry:2"
    assert "entry:2" in said.cited
    assert "entry:9999" not in said.cited
    (posted,) = [event async for event in board.log(kind="message.posted")]
    assert posted.body["recipients"] == ["b"]
