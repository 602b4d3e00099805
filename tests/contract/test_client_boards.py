"""Every client: boards, policies, agents, the ledger and the log."""

import asyncio
import contextlib

import pytest

import blackboard
from blackboard import Entry, Write
from blackboard.client import Board
from blackboard.events.kinds import FORMAT
from blackboard.events.policy import Policy, PolicyPatch
from tests.client.drive import Place


async def test_an_operator_opens_a_board_with_a_policy(place: Place) -> None:
    operator = await place.operator()
    reply = await operator.open_board({"completion_window": 3, "signals": {"write-breadth": "off"}})
    assert (reply.created, reply.name, reply.format, reply.mode) == (True, place.name, FORMAT, "open")
    assert reply.policy.completion_window == 3
    assert reply.policy.signals["write-breadth"].effect == "off"
    assert (reply.seq, reply.head, reply.agents, reply.live_entries) == (1, 1, 0, 0)
    again = await operator.open_board()
    assert (again.created, again.seq, again.opened_at) == (False, None, reply.opened_at)
    await operator.open_board(PolicyPatch(completion_window=3, signals={"write-breadth": "off"}))
    with pytest.raises(blackboard.PolicyDiffers):
        await operator.open_board({"completion_window": 4})
    listed = {board.name: board for board in (await operator.list_boards()).boards}
    assert (listed[place.name].head, listed[place.name].opened_at) == (1, reply.opened_at)


async def test_a_policy_is_shown_and_changed_member_by_member(place: Place) -> None:
    operator, agent = await place.operator(), await place.agent()
    await operator.open_board()
    done = await operator.set_policy({"demotion": "read-only"})
    assert (done.seq, done.head) == (2, 2)
    for shown in (await operator.get_policy(), await agent.get_board()):
        assert shown.policy == Policy(demotion="read-only")
        assert shown.head == 2
    assert agent.standing is not None
    for policy in (
        {"demotion": "perhaps"},
        {"unknown": 1},
        {"signals": {"nothing": "off"}},
        {"completion_window": 0},
    ):
        with pytest.raises(blackboard.Malformed) as caught:
            await operator.set_policy(policy)
        assert caught.value.member


async def test_a_format_is_raised_to_what_is_known_and_never_falls(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board(format=1)
    assert (await operator.raise_format(1)).seq is None
    with pytest.raises(blackboard.BlackboardError):
        await operator.raise_format(999)


async def test_an_agents_full_read_is_bounded_by_the_prefix_that_others_gave_it(place: Place) -> None:
    operator = await place.operator()
    await operator.open_board()
    await operator.join("a", "mine/")
    other = await place.agent("b")
    await other.write_many([Write("mine/1", 1, 1), Write("theirs/1", 1, 1)])
    board = await place.agent("a")
    await board.compacted()
    assert board.standing is not None
    assert board.standing.owed == 1
    reply = await board.read_all()
    assert [entry.key for entry in reply.entries] == ["mine/1"]
    assert board.standing.state == "active"


async def test_agents_and_their_views_are_shown_now_and_as_of_any_seq(place: Place) -> None:
    a, b, auditor = await place.agent("a"), await place.agent("b"), await place.auditor()
    first = await a.write("k", 1, revision=1)
    await b.read("k")
    await b.compacted()
    agents = {one.agent: one for one in (await auditor.agents()).agents}
    assert (agents["a"].writes, agents["b"].reads, agents["b"].compactions) == (1, 1, 1)
    assert (agents["a"].state, agents["b"].state, agents["b"].owed) == ("active", "compacted", 1)
    then = await auditor.agents(at=first.seq)
    assert [one.agent for one in then.agents] == ["a"]
    assert (then.at, then.head) == (first.seq, 4)
    shown = await b.show_agent("b")
    assert (shown.standing.state, shown.base, shown.summary.agent) == ("compacted", 3, "b")
    held = await auditor.show_agent("a")
    assert [(one.key, one.revision, one.current) for one in held.view] == [("k", 1, True)]
    before = await auditor.show_agent("b", at=3)
    assert (before.standing.state, before.view[0].key) == ("active", "k")
    assert before.view_digest == held.view_digest
    with pytest.raises(blackboard.UnknownAgent):
        await auditor.show_agent("nobody")
    with pytest.raises(blackboard.BeyondHead):
        await auditor.agents(at=99)


async def test_the_ledger_is_read_unrecorded_page_by_page_at_any_seq(place: Place) -> None:
    board, auditor = await place.agent(), await place.auditor()
    await board.write_many([Write(key, 1, {"k": key}) for key in "abc"])
    at = board.head
    await board.write("a", "later", revision=2)
    page = await auditor.ledger(limit=2)
    assert [entry.key for entry in page.entries] == ["a", "b"]
    assert (page.next, page.at, page.head) == ("b", board.head, board.head)
    rest = await auditor.ledger(after=page.next)
    assert rest.entries == [
        Entry(key="c", value={"k": "c"}, revision=1, id="entry:4", writer="a", written_seq=4)
    ]
    assert rest.next is None
    then = await auditor.ledger(at=at)
    assert then.entries[0].value == {"k": "a"}
    assert then.state_digest != page.state_digest
    assert (await auditor.get_board()).head == board.head


async def test_the_log_is_read_in_pages_and_filtered(place: Place) -> None:
    a, b = await place.agent("a"), await place.agent("b")
    await a.write_many([Write("x", 1, 1), Write("y", 1, 1)], turn=1, idempotency_key="first")
    await b.read("x")
    await b.say("hello")
    page = await a.events(limit=2)
    assert ([event.seq for event in page.events], page.next, page.head) == ([1, 2], 2, 5)
    rest = await a.events(after=2)
    assert ([event.seq for event in rest.events], rest.next) == ([3, 4, 5], None)
    written = page.events[1]
    assert (written.kind, written.version, written.actor) == ("entry.written", 1, "agent:a")
    assert (written.key, written.revision, written.turn, written.command_id) == ("x", 1, 1, "first")
    assert (written.board, len(written.hash), len(written.body_digest)) == (place.name, 64, 64)
    assert written.body["value"] == 1
    assert written.recorded_at > 1_500_000_000_000_000
    assert [event.seq async for event in a.log(key="y")] == [3]
    assert [event.seq async for event in a.log(agent="b")] == [4, 5]
    assert [event.seq async for event in a.log(after=3, kind="message.posted")] == [5]
    assert [event.seq async for event in a.log(after=5)] == []
    with pytest.raises(blackboard.Malformed):
        await a.events(limit=0)


async def collect(board: Board, count: int, after: int = 0) -> list[int]:
    seqs: list[int] = []
    async with contextlib.aclosing(board.follow(after)) as events:
        async for event in events:
            seqs.append(event.seq)
            if len(seqs) == count:
                break
    return seqs


async def test_a_feed_catches_up_and_then_is_live(place: Place) -> None:
    board, follower = await place.agent("a"), await place.agent("b")
    await board.write("k", 0, revision=1)
    following = asyncio.create_task(collect(follower, 22))
    for revision in range(2, 22):
        await board.write("k", revision, revision=revision)
    assert await asyncio.wait_for(following, 20) == list(range(1, 23))
    assert await collect(follower, 3, after=19) == [20, 21, 22]


async def test_a_feed_puts_nothing_into_a_view(place: Place) -> None:
    board, follower = await place.agent("a"), await place.agent("b")
    await board.write("k", 1, revision=1)
    await collect(follower, 2)
    with pytest.raises(blackboard.UnseenRevision):
        await follower.write("k", 2, revision=2)


async def test_following_from_beyond_the_head_is_refused(place: Place) -> None:
    board = await place.agent("a")
    await board.write("k", 1, revision=1)
    with pytest.raises(blackboard.BeyondHead):
        await collect(board, 1, after=100)


async def test_closing_ends_what_follows_and_is_prompt_and_repeatable(place: Place) -> None:
    board = await place.agent("a")
    await board.write("k", 1, revision=1)
    seen: list[int] = []

    async def follow() -> None:
        async for event in board.follow():
            seen.append(event.seq)  # noqa: PERF401 - looked at while it grows

    following = asyncio.create_task(follow())
    while len(seen) < 2:  # noqa: ASYNC110 - the sync client fills it from a thread
        await asyncio.sleep(0.01)
    await asyncio.wait_for(board.close(), 5)
    await board.close()
    await asyncio.wait_for(following, 5)
    with pytest.raises(RuntimeError, match="closed"):
        await board.read("k")


async def test_events_are_the_same_whether_followed_or_listed(place: Place) -> None:
    board = await place.agent("a")
    await board.write("k", {"n": 1}, revision=1)
    await board.compacted(cause="summary")
    listed = [event async for event in board.log()]
    followed = []
    async with contextlib.aclosing(board.follow()) as events:
        async for event in events:
            followed.append(event)
            if event.seq == board.head:
                break
    assert followed == listed


async def test_many_calls_at_once_each_get_their_own_answer(place: Place) -> None:
    board = await place.agent("a")
    acks = await asyncio.gather(*(board.write(f"k{n}", n, revision=1) for n in range(40)))
    assert [ack.entries[0].key for ack in acks] == [f"k{n}" for n in range(40)]
    assert len({ack.entries[0].seq for ack in acks}) == 40
    assert board.head == 41
