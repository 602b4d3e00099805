"""Every client: what is refused is refused with the same class, member and limit, and leaves no trace."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import blackboard
from blackboard import Write
from blackboard.client import Board
from tests.client.drive import Place

Call = Callable[[Any], Awaitable[Any]]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


MALFORMED: dict[str, tuple[Call, str]] = {
    "no write at all": (lambda b: b.write_many([]), "/writes"),
    "a key twice": (lambda b: b.write_many([Write("k", 1, 1), Write("k", 2, 2)]), "/writes/1/key"),
    "revision 0": (lambda b: b.write("k", 1, revision=0), "/writes/0/revision"),
    "a negative revision": (lambda b: b.write("k", 1, revision=-1), "/writes/0/revision"),
    "a revision beyond integers": (lambda b: b.write("k", 1, revision=2**53), "/writes/0/revision"),
    "a revision with a fraction": (lambda b: b.write("k", 1, revision=1.5), "/writes/0/revision"),
    "a revision in quotes": (lambda b: b.write("k", 1, revision="1"), "/writes/0/revision"),
    "a revision of None": (lambda b: b.write("k", 1, revision=None), "/writes/0/revision"),
    "an empty key": (lambda b: b.write("", 1, revision=1), "/writes/0/key"),
    "a control character": (lambda b: b.write("a\nb", 1, revision=1), "/writes/0/key"),
    "a key that is no text": (lambda b: b.write(5, 1, revision=1), "/writes/0/key"),
    "a key of 257 bytes": (lambda b: b.write("k" * 257, 1, revision=1), "/writes/0/key"),
    "NaN": (lambda b: b.write("k", {"n": float("nan")}, revision=1), "/writes/0/value/n"),
    "a set": (lambda b: b.write("k", [{1}], revision=1), "/writes/0/value/0"),
    "bytes": (lambda b: b.write("k", b"x", revision=1), "/writes/0/value"),
    "a lone surrogate": (lambda b: b.write("k", "\ud800", revision=1), "/writes/0/value"),
    "an integer beyond 2^53": (lambda b: b.write("k", 2**53, revision=1), "/writes/0/value"),
    "confidence 2": (lambda b: b.write("k", 1, revision=1, confidence=2), "/writes/0/confidence"),
    "confidence as text": (lambda b: b.write("k", 1, revision=1, confidence="high"), "/writes/0/confidence"),
    "a basis of text": (lambda b: b.write("k", 1, revision=1, basis={"a": "x"}), "/writes/0/basis"),
    "a negative basis": (lambda b: b.write("k", 1, revision=1, basis={"a": -1}), "/writes/0/basis/a"),
    "an unknown member": (
        lambda b: b.write_many([{"key": "k", "revision": 1, "value": 1, "compacted": True}]),
        "/writes/0/compacted",
    ),
    "a caller's own hash of what it saw": (
        lambda b: b.write_many([{"key": "k", "revision": 1, "value": 1, "seen_hash": "ab"}]),
        "/writes/0/seen_hash",
    ),
    "writes that are no writes": (lambda b: b.write_many(["k"]), "/writes/0"),
    "a tombstone with a value": (
        lambda b: b.write_many([{"key": "k", "revision": 1, "value": 1, "deleted": True}]),
        "/writes/0/value",
    ),
    "a negative turn": (lambda b: b.write("k", 1, revision=1, turn=-1), "/turn"),
    "an empty message": (lambda b: b.say(""), "/text"),
    "recipients as text": (lambda b: b.say("x", recipients="all"), "/recipients"),
    "no keys": (lambda b: b.read_many([]), "/keys"),
    "keys as text": (lambda b: b.read_many("abc"), "/keys"),
    "a key that is a number": (lambda b: b.read(7), "/keys/0"),
    "no list of keys": (lambda b: b.read_many(5), "/keys"),
    "no list of writes": (lambda b: b.write_many(None), "/writes"),
    "no basis": (lambda b: b.write("k", 1, revision=1, basis=5), "/writes/0/basis"),
    "an unknown cause": (lambda b: b.compacted(cause="boredom"), "/cause"),
    "a base beyond the head": (lambda b: b.compacted(base_seq=99_999), "/base_seq"),
    "an unknown way to notify": (lambda b: b.compacted(notify="pigeon"), "/notify"),
}


async def opened(place: Place) -> Board:
    board = await place.agent()
    await board.write("there", 1, revision=1)
    return board


@pytest.mark.parametrize("case", MALFORMED)
async def test_malformed_names_the_member_and_stores_nothing(place: Place, case: str) -> None:
    call, member = MALFORMED[case]
    board = await opened(place)
    head = board.head
    with pytest.raises(blackboard.Malformed) as caught:
        await call(board)
    error = caught.value
    assert not isinstance(error, blackboard.WriteRejected)
    assert (error.member or "").startswith(member), error.member
    assert error.detail
    assert (await board.events()).head == head


@pytest.mark.parametrize("after", [-1, 2**53, 1.5, True, None, "1"])
async def test_a_feed_starts_after_a_seq(place: Place, after: Any) -> None:
    board = await opened(place)
    with pytest.raises(blackboard.Malformed) as caught:
        await anext(board.follow(after=after))
    assert caught.value.member == "/after"


@pytest.mark.parametrize("depth", [30, 33, 36, 100])
async def test_a_value_may_be_nested_to_a_depth_and_no_deeper(place: Place, depth: int) -> None:
    board = await opened(place)
    await board.write("deep", nested(29), revision=1)  # the command around it is 3 deep
    assert (await board.read("deep")).value == nested(29)
    with pytest.raises(blackboard.Malformed) as caught:
        await board.write("deeper", nested(depth), revision=1)
    assert (caught.value.member or "").startswith("/writes/0/value")


TOO_LARGE: dict[str, Call] = {
    "a value above 64 KiB": lambda b: b.write("k", "x" * 65_536, revision=1),
    "a command above 128 KiB": lambda b: b.write_many([Write(f"k{n}", 1, "x" * 60_000) for n in range(3)]),
    "1001 writes": lambda b: b.write_many([Write(f"k{n}", 1, n) for n in range(1001)]),
    "a message above 16 KiB": lambda b: b.say("x" * 20_000),
    "1001 keys": lambda b: b.read_many([f"k{n}" for n in range(1001)]),
}


@pytest.mark.parametrize("case", TOO_LARGE)
async def test_what_is_too_large_is_refused_with_its_limit(place: Place, case: str) -> None:
    board = await opened(place)
    with pytest.raises(blackboard.TooLarge) as caught:
        await TOO_LARGE[case](board)
    assert isinstance(caught.value.limit, int)
    assert caught.value.member
    assert (await board.events()).head == 2


@pytest.mark.parametrize("proposal", ["proposal:999", "a/b", "..", "ü", "%2F", " "])
async def test_a_proposal_that_is_not_there_is_unknown(place: Place, proposal: str) -> None:
    board = await opened(place)
    with pytest.raises(blackboard.UnknownProposal):
        await board.accept(proposal)
    with pytest.raises(blackboard.UnknownProposal):
        await board.refuse(proposal)


async def test_names_in_paths_are_names(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board()
    calls: list[Call] = [
        lambda _: operator.join("", "x/"),
        lambda _: operator.join(5, "x/"),  # type: ignore[arg-type]  # what is refused
        lambda _: operator.join("a\nb", "x/"),
        lambda _: operator.join("\ud800", "x/"),
        lambda _: operator.join("a" * 129, "x/"),
    ]
    for call in calls:
        with pytest.raises(blackboard.Malformed) as caught:
            await call(None)
        assert caught.value.member == "/agent"
    assert (await operator.get_board()).head == 1


async def test_a_board_that_is_not_there_is_unknown(place: Place) -> None:
    board = await place.auditor()
    for call in (board.get_board, board.agents, board.events, board.ledger):
        with pytest.raises(blackboard.UnknownBoard) as caught:
            await call()
        assert place.name in caught.value.detail
    with pytest.raises(blackboard.UnknownBoard):
        async for _ in board.follow():
            pass


async def test_roles_keep_to_their_own(place: Place) -> None:
    agent = await opened(place)
    operator, auditor = await place.operator(), await place.auditor()
    refused: list[Call] = [
        lambda _: operator.write("k", 1, revision=1),
        lambda _: operator.read("k"),
        lambda _: operator.say("hello"),
        lambda _: auditor.write("k", 1, revision=1),
        lambda _: auditor.compacted(),
        lambda _: auditor.set_policy({}),
        lambda _: auditor.open_board(),
        lambda _: agent.set_mode("open"),
        lambda _: agent.set_policy({}),
        lambda _: agent.join("b"),
        lambda _: agent.raise_format(1),
        lambda _: agent.ledger(),
        lambda _: agent.show_agent("somebody-else"),
        lambda _: agent.compacted(agents=["somebody-else"]),
    ]
    for call in refused:
        with pytest.raises(blackboard.NotAllowed):
            await call(None)
    assert (await auditor.events()).head == 2


async def test_grants_bound_what_an_agent_writes_and_reports(place: Place) -> None:
    board = await place.agent("a", writes=["mine/*"], report_peers=True, prefix="mine/")
    await board.write("mine/1", 1, revision=1)
    with pytest.raises(blackboard.NotAllowed):
        await board.write("theirs/1", 1, revision=1)
    await board.compacted(agents=["b"])
    assert (await board.show_agent("a")).summary.prefix == "mine/"
