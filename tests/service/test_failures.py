"""The store fails, loses an answer, or chokes on one command: an honest answer, and exactly one event."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from blackboard.errors import BlackboardError, IntegrityFailure, OutcomeUnknown, Unavailable
from blackboard.events.envelope import Event, Row
from blackboard.gate import decide as gate
from blackboard.messages import commands as ask
from blackboard.messages.principal import Call
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from tests.service.support import (
    AUDITOR,
    BOARD,
    LogStore,
    agent,
    appending,
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
LOST = OutcomeUnknown("the connection broke after COMMIT")
DOWN = Unavailable("the database does not answer")


def refusing(*keys: str, error: BaseException = DOWN) -> Any:
    return lambda rows: error if any(row.key in keys for row in rows) else None


def failing(what: str, error: BlackboardError = DOWN) -> Any:
    def reading(asked: str) -> None:
        if asked == what:
            raise error

    return reading


async def test_a_lost_answer_of_a_commit_that_happened_is_an_acknowledgement() -> None:
    service, store = await opened()
    store.faults = [(LOST, True)]
    outcomes = await settled(
        do(service, A, write("k", 1)), do(service, A, read("k")), do(service, A, write("k", 1, "other"))
    )
    assert codes(outcomes) == ["ok", "ok", "revision-reused"]
    assert [outcome.seq for outcome in outcomes] == [2, 3, 4]
    check_log(store.logs[BOARD])
    assert len(store.logs[BOARD]) == 4
    assert service.metrics.unknown_outcomes == 1
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_a_lost_answer_of_a_commit_that_did_not_happen_is_decided_again() -> None:
    service, store = await opened()
    store.faults = [(LOST, False)]
    outcomes = await settled(do(service, A, write("k", 1), key("one")), do(service, A, read("k")))
    assert codes(outcomes) == ["ok", "ok"]
    check_log(store.logs[BOARD])
    assert [row.kind for row in store.logs[BOARD]] == ["board.opened", "entry.written", "board.read"]


async def test_a_commit_that_lands_after_it_was_given_up_takes_effect_once() -> None:
    """The connection broke, and the database went on with COMMIT until after the service had looked."""
    service, store = await opened()
    ghost: list[Row] = []

    def refuse(rows: Sequence[Row]) -> BaseException | None:
        if not ghost:
            ghost.extend(rows)
            return LOST
        if ghost[0] not in store.logs[BOARD]:
            store.store(ghost)
        return None

    store.refuse = refuse
    outcomes = await settled(do(service, A, ask.Say(text="hello")), do(service, A, read("k")))
    assert codes(outcomes) == ["ok", "ok"]
    check_log(store.logs[BOARD])
    kinds = [row.kind for row in store.logs[BOARD]]
    assert kinds.count("message.posted") == 1
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_an_outcome_that_cannot_be_found_out_is_said_to_be_unknown_and_is_safe_to_retry() -> None:
    for stored in (True, False):
        service, store = await opened(conflict_seconds=0.05)
        store.faults = [(LOST, stored)]
        store.reading = failing("rows")
        (outcome,) = await settled(do(service, A, ask.Say(text="hello"), key("one")))
        assert isinstance(outcome, OutcomeUnknown)
        store.reading = lambda what: None
        reply = await do(service, A, ask.Say(text="hello"), key("one"))
        assert reply.seq == 2
        check_log(store.logs[BOARD])
        assert [row.kind for row in store.logs[BOARD]] == ["board.opened", "message.posted"]


async def test_a_store_that_keeps_failing_is_not_called_busy() -> None:
    service, store = await opened(conflict_seconds=0.02)
    store.faults = [(OutcomeUnknown("the disk failed"), False)] * 1000
    outcomes = await settled(
        do(service, A, ask.Say(text="hello")),
        do(service, A, read("k")),
        do(service, A, ask.AcceptProposal(proposal="proposal:1")),
    )
    assert codes(outcomes) == ["outcome-unknown", "unavailable", "unavailable"]
    assert outcomes[0].detail == "the disk failed"
    assert "could not be written for 0.02 s" in outcomes[1].detail
    store.faults = []
    assert (await do(service, A, ask.Say(text="hello"))).seq == 2


async def test_everybody_whose_outcome_is_unknown_is_told_so_and_nobody_else() -> None:
    service, store = await opened(conflict_seconds=0.02)
    store.faults = [(LOST, True)]

    def reading(what: str) -> None:
        if what in {"rows", "load"}:
            raise DOWN

    store.reading = reading
    outcomes = await settled(
        *(do(service, A, ask.Say(text=f"{n}")) for n in range(4)),
        do(service, A, ask.AcceptProposal(proposal="proposal:1")),
    )
    assert codes(outcomes) == ["outcome-unknown"] * 4 + ["unavailable"]


async def test_a_store_that_recovers_in_time_is_not_noticed() -> None:
    service, store = await opened()
    store.faults = [(LOST, True)]
    failures = iter([True, True, True])

    def reading(what: str) -> None:
        if what == "rows" and next(failures, False):
            raise DOWN

    store.reading = reading
    assert (await do(service, A, write("k", 1))).seq == 2


async def test_a_storage_error_is_told_and_nothing_is_stored() -> None:
    service, store = await opened()
    store.faults = [(DOWN, False)]
    with pytest.raises(Unavailable, match="does not answer"):
        await do(service, A, write("k", 1))
    assert len(store.logs[BOARD]) == 1
    assert (await do(service, A, write("k", 1))).seq == 2
    assert service.metrics.store_failures == 1


async def test_after_a_storage_error_the_board_is_loaded_again() -> None:
    service, store = await opened()
    await do(service, A, write("k", 1))
    store.loads.clear()
    store.faults = [(DOWN, False)]
    assert codes(await settled(do(service, A, write("k", 2)))) == ["unavailable"]
    assert (await service.query(BOARD, AUDITOR, ask.GetLedger())).entries[0].revision == 1
    assert store.loads == [BOARD]


async def test_only_the_command_that_the_store_refuses_fails() -> None:
    service, store = await opened()
    store.refuse = refusing("k3")
    outcomes = await settled(*(do(service, agent(f"a{n}"), write(f"k{n}", 1)) for n in range(6)))
    assert codes(outcomes) == ["ok", "ok", "ok", "unavailable", "ok", "ok"]
    check_log(store.logs[BOARD])


async def test_a_driver_error_that_was_not_translated_reaches_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service, store = await opened()
    store.refuse = refusing("k1", "k2", error=ValueError("parameter 7 is too long"))
    outcomes = await settled(*(do(service, agent(f"a{n}"), write(f"k{n}", 1)) for n in range(5)))
    assert codes(outcomes) == ["ok", "unavailable", "unavailable", "ok", "ok"]
    assert "parameter 7" not in outcomes[1].detail
    assert "parameter 7" in caplog.text


async def test_a_dead_store_is_not_asked_once_for_every_waiting_command() -> None:
    service, store = await opened()
    asked: list[str] = []

    def reading(what: str) -> None:
        asked.append(what)
        raise DOWN

    store.refuse = lambda rows: DOWN
    store.reading = reading
    outcomes = await settled(*(do(service, A, write(f"k{n}", 1)) for n in range(100)))
    assert codes(outcomes) == ["unavailable"] * 100
    assert len(asked) < 10
    tracebacks = {id(outcome) for outcome in outcomes}
    assert len(tracebacks) == 100  # each caller has an error of its own


async def test_a_board_that_does_not_load_fails_its_callers_and_recovers() -> None:
    _, store = await opened()
    service = service_over(store)
    store.reading = failing("load", IntegrityFailure("event 1 does not fit its digest"))
    outcomes = await settled(
        do(service, A, write("k", 1)),
        do(service, A, write("l", 1)),
        service.query(BOARD, AUDITOR, ask.GetBoard()),
    )
    assert codes(outcomes) == ["integrity-failure"] * 3
    store.reading = lambda what: None
    assert (await do(service, A, write("k", 1))).seq == 2


async def test_a_load_that_fails_unexpectedly_reaches_nobody(caplog: pytest.LogCaptureFixture) -> None:
    _, store = await opened()
    service = service_over(store)

    def reading(what: str) -> None:
        raise ValueError("secret internals")

    store.reading = reading
    outcomes = await settled(do(service, A, write("k", 1)), service.query(BOARD, AUDITOR, ask.GetBoard()))
    assert codes(outcomes) == ["unavailable"] * 2
    assert all("secret" not in outcome.detail for outcome in outcomes)
    assert caplog.text.count("secret internals") >= 2


async def test_a_fault_in_deciding_one_command_is_its_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service, store = await opened()

    def decide(board: Board, name: str, principal: Any, prepared: Any, *args: Any, **more: Any) -> Any:
        if principal.name == "bad":
            raise ZeroDivisionError("a fault in a rule")
        return gate.decide(board, name, principal, prepared, *args, **more)

    monkeypatch.setattr("blackboard.service.attempt.decide", decide)
    outcomes = await settled(
        do(service, A, write("k", 1)), do(service, agent("bad"), write("l", 1)), do(service, B, write("m", 1))
    )
    assert codes(outcomes) == ["ok", "unavailable", "ok"]
    assert "a fault in a rule" in caplog.text
    assert store.appends == [1, 2]
    assert service.metrics.failures == 1


async def test_a_fault_in_folding_one_command_spoils_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service, store = await opened()

    def spoil(board: Board, event: Event) -> None:
        evolve(board, event)
        if event.actor == "agent:bad":
            raise ZeroDivisionError("a fault in a fold")

    monkeypatch.setattr("blackboard.service.attempt.evolve", spoil)
    outcomes = await settled(
        do(service, A, write("k", 1)), do(service, agent("bad"), write("l", 1)), do(service, B, write("m", 1))
    )
    assert codes(outcomes) == ["ok", "unavailable", "ok"]
    assert [row.key for row in store.logs[BOARD]] == [None, "k", "m"]
    assert "a fault in a fold" in caplog.text
    assert folded(store.logs[BOARD]) == await live_bytes(service)


async def test_a_fault_in_answering_from_the_log_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service, _ = await opened()
    await do(service, A, ask.Say(text="x"), key("one"))

    def outcome(*args: Any, **more: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("blackboard.service.attempt.outcome", outcome)
    assert codes(await settled(do(service, A, ask.Say(text="x"), key("one")))) == ["unavailable"]
    assert "a fault" in caplog.text


async def test_a_fault_in_answering_a_question_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service, store = await opened()

    def agents(board: Board, *, head: int) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("blackboard.gate.query.agents", agents)
    assert codes(await settled(service.query(BOARD, AUDITOR, ask.GetAgents()))) == ["unavailable"]
    store.gate = asyncio.Event()
    writing = asyncio.create_task(do(service, A, write("k", 1)))
    await appending(store)
    asking = asyncio.create_task(service.query(BOARD, AUDITOR, ask.GetAgents()))
    await asyncio.sleep(0)
    store.gate.set()
    assert codes(await settled(writing, asking)) == ["ok", "unavailable"]
    assert "a fault" in caplog.text


async def test_a_service_that_is_torn_down_with_its_loop_leaves_nobody_waiting() -> None:
    service, store = await opened()
    store.gate = asyncio.Event()
    first = asyncio.create_task(do(service, A, write("k", 1)))
    await appending(store)
    second = asyncio.create_task(do(service, A, write("l", 1)))
    asking = asyncio.create_task(service.query(BOARD, AUDITOR, ask.GetBoard()))
    await asyncio.sleep(0)
    task = service._cache.get(BOARD)._task
    assert task is not None
    task.cancel()
    assert codes(await settled(first, second, asking)) == ["outcome-unknown", "unavailable", "unavailable"]


async def test_an_answer_that_cannot_be_given_takes_nobody_elses(caplog: pytest.LogCaptureFixture) -> None:
    class Gone:
        def done(self) -> bool:
            return False

        def set_result(self, result: Any, /) -> None:
            raise RuntimeError("Event loop is closed")

        set_exception = set_result

    service, store = await opened()
    service.submit(BOARD, A, write("k", 1), Call(), Gone())
    assert codes(await settled(do(service, B, write("l", 1)))) == ["ok"]
    assert [row.key for row in store.logs[BOARD]] == [None, "k", "l"]
    assert "could not be given" in caplog.text


async def test_a_snapshot_that_fails_is_only_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    class Full(LogStore):
        async def snapshot(self, *args: Any) -> None:
            raise self.error

        error: Exception = DOWN

    service, store = await opened(Full(), snapshot_every=2)
    with caplog.at_level(logging.WARNING):
        for number in range(4):
            await do(service, A, write(f"k{number}", 1))
        assert isinstance(store, Full)
        store.error = ValueError("no such table")
        for number in range(4, 8):
            await do(service, A, write(f"k{number}", 1))
        await service.close()
    assert "does not answer" in caplog.text
    assert "no such table" in caplog.text
    assert len(store.logs[BOARD]) == 9
