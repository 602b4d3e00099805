"""What the client does with a server's answers, with none, and with those of something in between."""

import asyncio
import socket
import time
from typing import Any

import pytest

import blackboard
from blackboard.client.retry import RetryPolicy
from blackboard.events.kinds import Remedy, Violation
from blackboard.messages.replies import Standing
from tests.client.support import CONTEXT, QUICK, Answer, ack, fake_board, fake_server, problem, until

CUT = Answer(cut=True)


async def test_a_write_is_a_post_of_canonical_json_with_token_key_and_seen() -> None:
    async with fake_board() as (server, board):
        server.answer(ack(head=9))
        await board.write("task/B", {"b": 1, "a": 1.0}, revision=1, basis={"x": 2}, confidence=0.5, turn=3)
        await board.write("task/B", None, revision=2, idempotency_key="mine")
    first, second = server.asked
    assert (first.method, first.path) == ("POST", "/v1/boards/b/writes")
    assert first.body == (
        b'{"turn":3,"writes":[{"basis":{"x":2},"confidence":0.5,"key":"task/B","revision":1,"value":{"a":1,"b":1}}]}'
    )
    assert first.headers["Authorization"] == "Bearer secret"
    assert first.headers["Content-Type"] == "application/json"
    assert first.headers["Blackboard-Seen"] == "0"
    assert len(first.headers["Idempotency-Key"]) > 20
    assert second.headers["Blackboard-Seen"] == "9"
    assert second.headers["Idempotency-Key"] == "mine"


async def test_keys_that_the_client_makes_sort_by_time_and_never_repeat() -> None:
    async with fake_board() as (server, board):
        server.answer(ack())
        for revision in range(1, 4):
            await board.write("k", revision, revision=revision)
            await asyncio.sleep(0.002)
    keys = [asked.headers["Idempotency-Key"] for asked in server.asked]
    assert keys == sorted(set(keys))


async def test_reads_and_queries_carry_no_idempotency_key() -> None:
    async with fake_board() as (server, board):
        server.answer(CONTEXT | {"entries": [], "cursor": None}, {"at": 7, "head": 7, "agents": []})
        await board.read_all()
        await board.agents(at=7)
    read, agents = server.asked
    assert (read.method, read.path, read.json) == ("POST", "/v1/boards/b/reads", {"all": True})
    assert (agents.method, agents.path, agents.query) == ("GET", "/v1/boards/b/agents", {"at": "7"})
    assert "Idempotency-Key" not in read.headers | agents.headers


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("proposal:7", "proposal%3A7"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        ("ä b", "%C3%A4%20b"),
        ("100%", "100%25"),
    ],
)
async def test_names_in_paths_are_one_segment_whatever_they_hold(name: str, path: str) -> None:
    async with fake_board() as (server, board):
        server.answer(ack())
        await board.accept(name, restate=True)
    assert server.asked[0].path == f"/v1/boards/b/proposals/{path}/accept"
    assert server.asked[0].json == {"restate": True}


async def test_a_base_path_stays_in_front() -> None:
    async with fake_server() as server:
        server.answer({"boards": []})
        async with blackboard.connect(f"{server.url}/behind/", token="t") as board:
            await board.list_boards()
    assert server.asked[0].path == "/behind/v1/boards"


async def test_a_lost_answer_is_asked_for_again_with_the_same_key() -> None:
    async with fake_board() as (server, board):
        server.answer(CUT, CUT, ack())
        assert (await board.write("k", 1, revision=1)).seq == 7
    assert len(server.asked) == 3
    assert len({asked.headers["Idempotency-Key"] for asked in server.asked}) == 1
    assert len({asked.body for asked in server.asked}) == 1


async def test_after_the_last_attempt_an_append_is_unknown_and_carries_its_key() -> None:
    async with fake_board() as (server, board):
        server.answer(CUT)
        with pytest.raises(blackboard.OutcomeUnknown) as caught:
            await board.write("k", 1, revision=1)
    assert len(server.asked) == QUICK.attempts
    assert caught.value.members["idempotency_key"] == server.asked[0].headers["Idempotency-Key"]
    assert server.asked[0].headers["Idempotency-Key"] in caught.value.detail


async def test_after_the_last_attempt_a_read_is_unavailable() -> None:
    async with fake_board() as (server, board):
        server.answer(CUT)
        with pytest.raises(blackboard.Unavailable) as caught:
            await board.read("k")
    assert not isinstance(caught.value, blackboard.OutcomeUnknown)
    assert len(server.asked) == QUICK.attempts


async def test_what_never_reached_a_server_is_not_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    async with blackboard.connect(f"http://127.0.0.1:{port}", board="b", token="t", retry=QUICK) as board:
        with pytest.raises(blackboard.Unavailable, match="nothing was acknowledged") as caught:
            await board.write("k", 1, revision=1)
    assert not isinstance(caught.value, blackboard.OutcomeUnknown)


async def test_a_server_that_says_nothing_is_given_up_after_the_timeout() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    retry = RetryPolicy(attempts=2, first=0.001)
    url = f"http://127.0.0.1:{port}"
    async with server, blackboard.connect(url, board="b", token="t", timeout=0.1, retry=retry) as board:
        began = time.monotonic()
        with pytest.raises(blackboard.OutcomeUnknown):
            await board.write("k", 1, revision=1)
    assert 0.15 < time.monotonic() - began < 5


async def test_busy_is_waited_out() -> None:
    async with fake_board() as (server, board):
        busy = Answer(problem("store-busy", 503), 503, {"Retry-After": "0"})
        server.answer(busy, busy, ack())
        await board.write("k", 1, revision=1)
    assert len({asked.headers["Idempotency-Key"] for asked in server.asked}) == 1


async def test_retry_after_is_honoured_within_bounds() -> None:
    async with fake_board(retry=RetryPolicy(attempts=3, first=0.001, patience=5)) as (server, board):
        server.answer(Answer(problem("unavailable", 503), 503, {"Retry-After": "1"}), ack())
        began = time.monotonic()
        await board.write("k", 1, revision=1)
        assert time.monotonic() - began >= 1
        server.answers.clear()
        server.answer(Answer(problem("unavailable", 503), 503, {"Retry-After": "600"}))
        with pytest.raises(blackboard.Unavailable, match="it is unavailable"):
            await board.write("k", 1, revision=1)
    assert len(server.asked) == 3


@pytest.mark.parametrize("code", ["board-too-new", "schema-mismatch", "integrity-failure"])
async def test_what_does_not_pass_by_itself_is_not_tried_again(code: str) -> None:
    async with fake_board() as (server, board):
        server.answer(Answer(problem(code, 503), 503, {"Retry-After": "60"}))
        with pytest.raises(blackboard.BlackboardError) as caught:
            await board.write("k", 1, revision=1)
    assert caught.value.code == code
    assert len(server.asked) == 1


async def test_an_outcome_that_the_server_does_not_know_is_asked_for_again() -> None:
    async with fake_board() as (server, board):
        unknown = Answer(problem("outcome-unknown", 503), 503)
        server.answer(unknown, ack(replayed=True))
        assert (await board.write("k", 1, revision=1)).replayed
        server.answers.clear()
        server.answer(unknown)
        with pytest.raises(blackboard.OutcomeUnknown) as caught:
            await board.write("k", 2, revision=2, idempotency_key="mine")
    assert caught.value.members["idempotency_key"] == "mine"


async def test_a_rate_limit_is_the_callers_to_deal_with() -> None:
    async with fake_board() as (server, board):
        server.answer(Answer(problem("rate-limited", 429), 429, {"Retry-After": "1"}))
        with pytest.raises(blackboard.RateLimited):
            await board.write("k", 1, revision=1)
    assert len(server.asked) == 1


async def test_a_rejection_comes_back_with_its_members_as_structs() -> None:
    violation = {"code": "unseen-revision", "key": "k", "detail": "not seen", "evidence": {"current": 4}}
    refused = problem(
        "unseen-revision",
        409,
        rules=[violation],
        evidence={"current": 4},
        remedy={"detail": "read it", "keys": ["k"]},
        **(CONTEXT | {"head": 12, "standing": {"state": "compacted", "since": 3, "owed": 2}}),
    )
    async with fake_board() as (server, board):
        server.answer(Answer(refused, 409))
        with pytest.raises(blackboard.UnseenRevision) as caught:
            await board.write("k", 1, revision=1)
        error = caught.value
        assert error.rules == (
            Violation(code="unseen-revision", key="k", detail="not seen", evidence={"current": 4}),
        )
        assert error.evidence == {"current": 4}
        assert error.remedy == Remedy(detail="read it", keys=["k"])
        assert error.standing == Standing(state="compacted", since=3, owed=2) == board.standing
        assert (error.seq, error.head, board.head) == (7, 12, 12)


async def test_malformed_and_too_large_name_member_and_limit() -> None:
    async with fake_board() as (server, board):
        server.answer(Answer(problem("too-large", 413, member="body", limit=131072), 413))
        with pytest.raises(blackboard.TooLarge) as caught:
            await board.write("k", 1, revision=1)
    assert (caught.value.member, caught.value.limit) == ("body", 131072)
    assert not isinstance(caught.value, blackboard.WriteRejected)


async def test_an_answer_of_something_in_between_is_a_lost_answer() -> None:
    async with fake_board() as (server, board):
        server.answer(Answer(b"<html>Bad gateway</html>", 502), Answer(b"<html>", 504), ack())
        await board.write("k", 1, revision=1)
    assert len(server.asked) == 3


async def test_an_answer_that_is_no_json_leaves_an_append_unknown() -> None:
    async with fake_board() as (server, board):
        server.answer(Answer(b"<html>welcome</html>"))
        with pytest.raises(blackboard.OutcomeUnknown, match="not one that this release understands"):
            await board.write("k", 1, revision=1)
        with pytest.raises(blackboard.Unavailable, match="not one that this release understands"):
            await board.read("k")
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, blackboard.Unauthenticated),
        (403, blackboard.NotAllowed),
        (404, blackboard.NotFound),
        (413, blackboard.TooLarge),
        (400, blackboard.Malformed),
    ],
)
async def test_a_refusal_without_a_problem_document_is_typed_by_its_status(
    status: int, expected: type
) -> None:
    async with fake_board() as (server, board):
        server.answer(Answer(b"no", status))
        with pytest.raises(expected, match=f"answers {status}"):
            await board.read("k")


async def test_redirects_are_not_followed_so_the_token_goes_nowhere_else() -> None:
    async with fake_server() as other, fake_board() as (server, board):
        other.answer(ack())
        server.answer(Answer(b"", 307, {"Location": other.url + "/v1/boards/b/writes"}))
        with pytest.raises(blackboard.BlackboardError):
            await board.write("k", 1, revision=1)
    assert other.asked == []


async def test_members_that_this_release_does_not_know_are_ignored() -> None:
    async with fake_board() as (server, board):
        server.answer(ack(later="member"))
        assert (await board.write("k", 1, revision=1)).seq == 7


async def test_a_problem_that_this_release_knows_in_part_keeps_what_it_knows() -> None:
    strange = problem("unseen-revision", 409, rules=[{"code": "x", "unknown": 1}], remedy=None)
    async with fake_board() as (server, board):
        server.answer(Answer(strange, 409))
        with pytest.raises(blackboard.UnseenRevision, match="it is unseen-revision") as caught:
            await board.write("k", 1, revision=1)
    assert caught.value.members["rules"] == [{"code": "x", "unknown": 1}]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: 2}, {"a", "b"}, b"bytes", object(), 2**60, "\ud800"]
)
async def test_what_is_not_json_is_refused_before_it_is_sent(value: object) -> None:
    async with fake_board() as (server, board):
        with pytest.raises(blackboard.Malformed) as caught:
            await board.write("k", value, revision=1)
    assert server.asked == []
    assert (caught.value.member or "").startswith("/writes/0/value")


@pytest.mark.parametrize("key", ["", "a\nb", "x" * 129, " a", "a ", "\ud800", 5, b"a"])
async def test_an_idempotency_key_that_no_header_carries_is_refused(key: Any) -> None:
    async with fake_board() as (server, board):
        with pytest.raises(blackboard.Malformed) as caught:
            await board.write("k", 1, revision=1, idempotency_key=key)
    assert caught.value.member == "Idempotency-Key"
    assert server.asked == []


async def test_an_idempotency_key_may_be_any_text() -> None:
    async with fake_board() as (server, board):
        server.answer(ack())
        await board.write("k", 1, revision=1, idempotency_key="schlüssel 1")
    assert server.asked[0].headers["Idempotency-Key"] == "schlüssel 1"


async def test_many_requests_share_a_bounded_pool() -> None:
    async with fake_board(connections=4) as (server, board):
        server.answer(CONTEXT | {"entries": [], "cursor": None})
        await asyncio.gather(*(board.read_many(["k"]) for _ in range(50)))
    assert len(server.asked) == 50


async def test_a_closed_board_says_so_and_fails_what_is_in_flight() -> None:
    async with fake_board(retry=RetryPolicy(attempts=100, first=1, most=1)) as (server, board):
        server.answer(CUT)
        writing = asyncio.create_task(board.write("k", 1, revision=1))
        await until(lambda: server.asked)
        began = time.monotonic()
        await board.close()
        await board.close()
        with pytest.raises(blackboard.OutcomeUnknown):
            await writing
        with pytest.raises(RuntimeError, match="closed"):
            await board.write("k", 1, revision=1)
    assert time.monotonic() - began < 1


async def test_a_board_of_another_loop_says_so() -> None:
    async with fake_board() as (_, board):

        def elsewhere() -> None:
            asyncio.run(board.read("k"))

        with pytest.raises(RuntimeError, match="another event loop"):
            await asyncio.to_thread(elsewhere)


async def test_no_tls_where_tls_was_expected_is_said_at_once() -> None:
    async with fake_server() as server:
        url = server.url.replace("http://", "https://")
        async with blackboard.connect(url, board="b", token="t", retry=RetryPolicy(attempts=50)) as board:
            began = time.monotonic()
            with pytest.raises(blackboard.Unavailable) as caught:
                await board.write("k", 1, revision=1)
    assert not isinstance(caught.value, blackboard.OutcomeUnknown)
    assert time.monotonic() - began < 5
    assert server.asked == []
