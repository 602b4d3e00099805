"""The guard: a callable runs where the verdict is PASS and the rules permit it, and never otherwise."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

import blackboard
from blackboard import Approval, Policy
from blackboard.client import Board
from blackboard.client.guard import Guard, SyncGuard
from tests.client.desk import BIG, CAP, LARGE, SMALL, TOOL, atom, desk
from tests.client.drive import Driven, Place
from tests.client.support import Answer, fake_board, problem


class Tool:
    """A tool that remembers the calls that reached it."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, /, **params: Any) -> str:
        self.calls.append(params)
        return f"call {len(self.calls)}"


async def guarded(board: Board, fn: Callable[..., Any], /, **params: Any) -> Any:
    """`fn` under a guard of either client."""
    return await through(await guard_of(board), fn, params)


async def guard_of(board: Board, tool: str = TOOL, **options: Any) -> Guard | SyncGuard:
    found: Any = board.guard(tool, **options)
    return cast(SyncGuard, await found) if isinstance(board, Driven) else cast(Guard, found)


async def through(guard: Guard | SyncGuard, fn: Callable[..., Any], params: dict[str, Any]) -> Any:
    """What the guard answers; that of the synchronous client is called in a thread."""
    if isinstance(guard, Guard):
        return await guard(fn, **params)
    return await asyncio.to_thread(lambda: guard(fn, **params))


async def blocked(board: Board, fn: Callable[..., Any], /, **params: Any) -> blackboard.ActionBlocked:
    with pytest.raises(blackboard.ActionBlocked) as caught:
        await guarded(board, fn, **params)
    return caught.value


ALLOW = Policy(TOOL, atom("amount", 1000, op="le"), "allow", id="small")


async def test_it_runs_where_the_verdict_is_pass_and_the_rules_permit(place: Place) -> None:
    _, board = await desk(place, CAP, ALLOW)
    await board.read_records()
    tool = Tool()
    assert await guarded(board, tool, amount=120, note="x") == "call 1"  # allowed-by
    assert await guarded(board, tool, amount=4000) == "call 2"  # default
    assert tool.calls == [{"amount": 120, "note": "x"}, {"amount": 4000}]
    assert [event.body["verdict"] async for event in board.log(kind="action.checked")] == ["PASS", "PASS"]


async def test_it_raises_with_the_reasons_where_something_was_lost(place: Place) -> None:
    _, board = await desk(place, CAP)
    await board.read_records()
    await board.compacted(kept=[])
    tool = Tool()
    error = await blocked(board, tool, **BIG)
    assert tool.calls == []
    assert (error.code, error.verdict, error.policy.answer) == ("action-blocked", "BLOCK", "deny")
    assert [(reason.code, reason.id) for reason in error.reasons] == [("dropped-binding-constraint", "cap")]
    for word in (TOOL, "was not run", "BLOCK", "dropped-binding-constraint", "read again: cap"):
        assert word in error.detail
    assert (error.seq, error.head) == (board.head, board.head)
    assert await guarded(board, tool, **SMALL) == "call 1"


ANSWERS: dict[str, tuple[Policy, dict[str, Any]]] = {
    "deny": (CAP, BIG),
    "needs-approval": (Policy(TOOL, LARGE, "require_approval", id="cap"), BIG),
    "undetermined": (CAP, {"amount": "8400"}),
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_pass_alone_is_no_permission(place: Place, answer: str) -> None:
    rule, params = ANSWERS[answer]
    _, board = await desk(place, rule)
    await board.read_records()
    tool = Tool()
    error = await blocked(board, tool, **params)
    assert tool.calls == []
    assert (error.verdict, error.reasons, error.policy.answer) == ("PASS", (), answer)
    for word in ("was not run", answer, "cap"):
        assert word in error.detail


async def test_an_approval_by_someone_else_lets_this_call_run(place: Place) -> None:
    operator, board = await desk(
        place, Policy(TOOL, LARGE, "require_approval", id="cap"), records=["approval"]
    )
    tool = Tool()
    await board.add_record(Approval.for_action("cap", TOOL, BIG))
    await board.read_records()
    assert (await blocked(board, tool, **BIG)).policy.answer == "needs-approval"
    await operator.add_record(Approval.for_action("cap", TOOL, BIG))
    await board.read_records()
    assert await guarded(board, tool, **BIG) == "call 1"
    assert (await blocked(board, tool, amount=8401)).policy.answer == "needs-approval"


async def test_it_flies_blind_only_where_it_was_told_to(place: Place) -> None:
    _, board = await desk(place, {"kind": "summary", "id": "s"})
    await board.read_records()
    await board.compacted(kept=[])
    tool = Tool()
    await blocked(board, tool, **SMALL)
    blind = await guard_of(board, allow_unevaluable=True)
    await through(blind, tool, SMALL)
    assert tool.calls == [SMALL]


async def test_what_the_callable_raises_passes_through(place: Place) -> None:
    _, board = await desk(place)

    def fails(**_: Any) -> None:
        raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        await guarded(board, fails, **SMALL)

    def refuses(**_: Any) -> None:
        raise blackboard.ActionBlocked("one of an inner guard")

    with pytest.raises(blackboard.ActionBlocked, match="of an inner guard"):
        await guarded(board, refuses, **SMALL)
    checks = [event async for event in board.log(kind="action.checked")]
    assert len(checks) == 2


async def test_what_cannot_be_judged_is_not_run(place: Place) -> None:
    _, board = await desk(place)
    tool = Tool()
    for params in ({"amount": float("nan")}, {"who": object()}, {"lock": threading.Lock()}, {"deep": deep()}):
        with pytest.raises(blackboard.Malformed) as caught:
            await guarded(board, tool, **cast(Any, params))
        assert (caught.value.member or "").startswith("/params/")
    with pytest.raises(blackboard.Malformed):
        await through(await guard_of(board, "refunds.*"), tool, SMALL)
    assert tool.calls == []


def deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


async def test_parameters_may_have_any_name(place: Place) -> None:
    _, board = await desk(place)
    tool = Tool()
    params = {"self": 1, "fn": 2, "tool": 3, "params": 4, "not a word": 5, "größe": 6}
    await through(await guard_of(board), tool, params)
    assert tool.calls == [params]
    (event,) = [event async for event in board.log(kind="action.checked")]
    assert event.body["params"] == params


async def test_what_was_judged_is_what_runs(place: Place) -> None:
    """Whoever changes a list after the call began changes neither the verdict nor what runs."""
    _, board = await desk(place)
    given: dict[str, Any] = {"items": [1], "more": {"in": [1]}, "pair": (1, [2.0])}
    tool = Tool()
    running = asyncio.create_task(guarded(board, tool, **given))
    while not running.done():
        given["items"].append(2)
        given["more"]["in"].append(2)
        await asyncio.sleep(0)
    await running
    (event,) = [event async for event in board.log(kind="action.checked")]
    (call,) = tool.calls
    assert event.body["params"] == {"items": call["items"], "more": call["more"], "pair": [1, [2]]}
    assert call["pair"] == (1, [2.0])


async def test_each_call_is_judged_anew(place: Place) -> None:
    operator, board = await desk(place)
    tool = Tool()
    guard = await guard_of(board)
    await through(guard, tool, BIG)
    await operator.add_record(CAP)
    with pytest.raises(blackboard.ActionBlocked):
        await through(guard, tool, BIG)
    await operator.add_record(Policy(TOOL, LARGE, "allow", supersedes="cap"))
    await board.read_records()
    await through(guard, tool, BIG)
    assert len(tool.calls) == 2


async def test_whoever_is_no_agent_guards_nothing(place: Place) -> None:
    operator, _ = await desk(place)
    tool = Tool()
    with pytest.raises(blackboard.NotAllowed):
        await guarded(operator, tool, **SMALL)
    assert tool.calls == []


# -- the asynchronous one


async def test_a_coroutine_function_is_awaited_and_its_error_passes_through() -> None:
    async with blackboard.connect("memory://", board="async", agent="a") as board:
        await board.read("what opens it")
        guard = board.guard(TOOL)

        async def refund(amount: int) -> int:
            await asyncio.sleep(0)
            if amount > 100:
                raise ValueError(amount)
            return amount

        assert await guard(refund, amount=12) == 12
        with pytest.raises(ValueError, match="120"):
            await guard(refund, amount=120)


async def test_calls_at_once_each_have_their_own_verdict() -> None:
    async with (
        blackboard.connect("memory://", board="crowd", operator="ops") as operator,
        blackboard.connect("memory://", board="crowd", agent="a") as board,
    ):
        await operator.add_record(CAP)
        await board.read_records()
        tool = Tool()
        guard = board.guard(TOOL)
        amounts = range(4900, 5100, 5)
        found = await asyncio.gather(*(guard(tool, amount=n) for n in amounts), return_exceptions=True)
        ran = {call["amount"] for call in tool.calls}
        assert ran == {amount for amount in amounts if amount <= 5000}
        assert [isinstance(one, blackboard.ActionBlocked) for one in found] == [n > 5000 for n in amounts]


async def test_a_call_that_is_given_up_while_it_is_judged_does_not_run() -> None:
    async with blackboard.connect("memory://", board="cancel", agent="a") as board:
        tool = Tool()
        call = asyncio.create_task(cast(Any, board.guard(TOOL)(tool, **SMALL)))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert tool.calls == []


ANSWERED: dict[str, tuple[Answer, type[blackboard.BlackboardError]]] = {
    "nobody answers": (Answer(cut=True), blackboard.Unavailable),
    "the server is busy": (Answer(problem("unavailable", 503), 503), blackboard.Unavailable),
    "the token is bad": (Answer(problem("unauthenticated", 401), 401), blackboard.Unauthenticated),
    "the board is of format 1": (Answer(problem("format-too-low", 409), 409), blackboard.FormatTooLow),
}


@pytest.mark.parametrize("case", ANSWERED)
async def test_without_a_verdict_nothing_runs(case: str) -> None:
    answer, error = ANSWERED[case]
    async with fake_board() as (server, board):
        server.answer(answer)
        tool = Tool()
        with pytest.raises(error):
            await board.guard(TOOL)(tool, **SMALL)
        assert tool.calls == []


async def test_a_check_without_an_answer_is_asked_again_and_the_callable_runs_once() -> None:
    async with fake_board() as (server, board):
        server.answer(
            Answer(cut=True), {"verdict": "PASS", "policy": {"answer": "default"}, "seq": 7, "head": 7}
        )
        tool = Tool()
        await board.guard(TOOL)(tool, **SMALL)
        assert tool.calls == [SMALL]
        assert [asked.json for asked in server.asked] == [{"tool": TOOL, "params": SMALL}] * 2
        assert "Idempotency-Key" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("verdict", "answer"),
    [("ERROR", "default"), ("BLOCK", "allowed-by"), ("PASS", "deny"), ("PASS", "undetermined")],
)
async def test_only_pass_with_a_permission_runs_whatever_else_a_server_says(
    verdict: str, answer: str
) -> None:
    async with fake_board() as (server, board):
        server.answer({"verdict": verdict, "policy": {"answer": answer}, "seq": 7, "head": 7})
        tool = Tool()
        with pytest.raises(blackboard.ActionBlocked) as caught:
            await board.guard(TOOL)(tool, **SMALL)
        assert (caught.value.verdict, caught.value.policy.answer, tool.calls) == (verdict, answer, [])


# -- the synchronous one


async def sync_guard(place: Place) -> Any:
    """The guard of an agent that has read that refunds above 5000 are denied."""
    _, board = await desk(place, CAP)
    await board.read_records()
    return await guard_of(board)


@pytest.mark.parametrize("place", ["embedded-sync", "http-sync"], indirect=True)
async def test_one_guard_serves_many_threads(place: Place) -> None:
    guard = await sync_guard(place)
    ran: list[tuple[int, int]] = []
    refused: list[int] = []

    def call(amount: int) -> None:
        try:
            guard(lambda amount: ran.append((amount, threading.get_ident())), amount=amount)
        except blackboard.ActionBlocked:
            refused.append(amount)

    def calls() -> set[int]:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(call, range(4960, 5040)))
            return {thread.ident or 0 for thread in pool._threads}

    threads = await asyncio.to_thread(calls)
    assert sorted(amount for amount, _ in ran) == list(range(4960, 5001))
    assert sorted(refused) == list(range(5001, 5040))
    assert {thread for _, thread in ran} <= threads


@pytest.mark.parametrize("place", ["embedded-sync", "http-sync"], indirect=True)
async def test_the_callable_runs_in_the_callers_thread(place: Place) -> None:
    guard = await sync_guard(place)

    def call() -> tuple[int, int]:
        return guard(lambda **_: threading.get_ident(), **SMALL), threading.get_ident()

    inside, outside = await asyncio.to_thread(call)
    assert inside == outside


def test_the_sync_guard_of_an_embedded_board_works_without_a_loop() -> None:
    with blackboard.connect_sync("memory://", board="plain", agent="a") as board:
        board.read("what opens it")
        guard = board.guard(TOOL)
        assert guard(lambda amount: amount + 1, amount=1) == 2
        inner = guard(lambda amount: guard(lambda amount: amount, amount=amount), amount=3)
        assert inner == 3


def test_a_sync_guard_refuses_a_coroutine_function_before_anything_is_checked() -> None:
    async def refund(amount: int) -> int:
        return amount

    with blackboard.connect_sync("memory://", board="unawaited", agent="a") as board:
        board.read("what opens it")
        with pytest.raises(blackboard.Malformed, match="coroutine function"):
            board.guard(TOOL)(refund, amount=1)
        assert board.get_board().head == board.head
        assert [event.kind for event in board.log()] == ["board.opened", "board.read"]


async def test_a_guard_of_a_mistyped_board_runs_nothing() -> None:
    async with blackboard.connect("memory://", board="typo", agent="a") as board:
        tool = Tool()
        with pytest.raises(blackboard.UnknownBoard):
            await board.guard(TOOL)(tool, amount=1)
        assert tool.calls == []
