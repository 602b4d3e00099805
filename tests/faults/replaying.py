"""What eight clients did at once, told again by one at a time: every answer must come out the same (G3).

`Recorder` stands between a client and its transport and keeps what was asked and answered. `retell` walks the
log on a fresh board, command by command, decides each again, and compares events and answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from blackboard import canonical
from blackboard.client.problems import document
from blackboard.client.transport import Request, Transport
from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.events.envelope import Command, Event, Row, encode_body, number, unseal
from blackboard.events.kinds import EntryWritten
from blackboard.gate.case import Need
from blackboard.gate.decide import complete, decide, needs
from blackboard.gate.outcome import outcome, outcome_needs
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared, prepare
from blackboard.messages.principal import Principal
from blackboard.messages.replies import EventView, Reply
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store import open_store


async def read_log(db: Path | str, board: str) -> list[Row]:
    """The log of a board in a database that nobody owns any more."""
    store = await open_store(str(db), Settings())
    try:
        return [row async for rows in store.scan(board) for row in rows]
    finally:
        await store.close()


class Asked(NamedTuple):
    """One call of one client, and its answer as it came out of the transport."""

    principal: Principal
    request: Request
    answer: Any

    @property
    def told(self) -> Reply | None:
        """The members that every reply has; None where a command was refused outright."""
        return self.answer.reply if isinstance(self.answer, BlackboardError) else self.answer


class Recorder:
    """A transport that remembers commands. Several clients may share one list."""

    def __init__(self, inner: Transport, principal: Principal, history: list[Asked]) -> None:
        self._inner = inner
        self._principal = principal
        self._history = history

    async def send(self, request: Request) -> Any:
        """See `Transport.send`."""
        try:
            answer = await self._inner.send(request)
        except BlackboardError as error:
            self._history.append(Asked(self._principal, request, error))
            raise
        if isinstance(request.message, ask.Command):
            self._history.append(Asked(self._principal, request, answer))
        return answer

    def follow(self, board: str, after: int) -> AsyncGenerator[EventView, None]:
        """See `Transport.follow`."""
        return self._inner.follow(board, after)

    async def close(self) -> None:
        """See `Transport.close`."""
        await self._inner.close()


class _Log:
    """The log by command, and its entries as decisions fetch them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.events = [unseal(row) for row in rows]
        self.commands: dict[tuple[str, str], list[Event]] = defaultdict(list)
        self.written: dict[str, list[Event]] = defaultdict(list)
        for event in self.events:
            self.commands[event.actor, event.command_id].append(event)
            if isinstance(event.body, EntryWritten):
                self.written[event.key or ""].append(event)

    def fetch(self, wanted: Iterable[Need], head: int) -> dict[Need, Event | None]:
        return {need: self._entry(need, head) for need in wanted}

    def _entry(self, need: Need, head: int) -> Event | None:
        if need.seq is not None:
            return self.events[need.seq - 1] if need.seq <= head else None
        upto = head if need.as_of is None else min(need.as_of, head)
        for event in reversed(self.written[need.key]):
            if event.seq <= upto and need.revision in {None, event.revision}:
                return event
        return None


class Retold(NamedTuple):
    """How many commands were judged again: those that appended, and those that did not."""

    appended: int
    silent: int
    outright: int
    board: Board


def retell(rows: list[Row], history: list[Asked], board_name: str, *, auto_open: bool) -> Retold:
    """Judge everything again in the order of the log; raises `AssertionError` at the first difference."""
    log, board = _Log(rows), Board()
    appended: dict[int, Asked] = {}
    silent: dict[int, list[Asked]] = defaultdict(list)
    outright = 0
    keys: set[tuple[str, str | None]] = set()
    for asked in history:
        told, key = asked.told, (asked.principal.actor, asked.request.call.idempotency_key)
        if told is None:
            outright += 1
        elif told.seq is not None and key not in keys and _ends_at(log, asked, told):
            assert told.seq not in appended, f"two answers claim event {told.seq}"
            appended[told.seq] = asked
            if key[1] is not None:
                keys.add(key)
        else:
            silent[told.head].append(asked)
    while board.head < len(log.events):
        _judge_silent(log, board, silent.pop(board.head, []), board_name, auto_open)
        first = log.events[board.head]
        group = log.commands[first.actor, first.command_id]
        assert [event.seq for event in group] == list(range(first.seq, first.seq + len(group)))
        _judge(log, board, appended.pop(group[-1].seq), group, board_name, auto_open)
    _judge_silent(log, board, silent.pop(board.head, []), board_name, auto_open)
    assert not appended
    assert not silent
    told_again = len(history) - outright
    return Retold(len(log.commands), told_again - len(log.commands), outright, board)


def _ends_at(log: _Log, asked: Asked, told: Reply) -> bool:
    """Whether this is the answer of the command that ends at its seq, and not a replay of another one's."""
    assert told.seq is not None
    event, key = log.events[told.seq - 1], asked.request.call.idempotency_key
    if key is not None:
        return (event.actor, event.command_id) == (asked.principal.actor, key)
    return event.actor == asked.principal.actor and told.head == told.seq


def _judge(
    log: _Log, board: Board, asked: Asked, group: list[Event], board_name: str, auto_open: bool
) -> None:
    prepared = _prepared(asked)
    fetched = log.fetch(needs(board, asked.principal, prepared), board.head)
    decision = decide(board, board_name, asked.principal, prepared, fetched, auto_open=auto_open)
    first = group[0]
    command = Command(first.actor, first.command_id, prepared.canonical, first.turn)
    events = number(command, decision.drafts, board.head, recorded_at=first.recorded_at)
    assert [_comparable(event) for event in events] == [_comparable(event) for event in group]
    for event in group:
        evolve(board, event)
    answer = complete(board, asked.principal, prepared, asked.request.call, decision)
    assert wire(answer) == wire(asked.answer), f"event {group[-1].seq}"


def _judge_silent(log: _Log, board: Board, several: list[Asked], board_name: str, auto_open: bool) -> None:
    """Answers that left nothing in the log rest on the board as it was at the head that they name."""
    for asked in several:
        prepared = _prepared(asked)
        assert wire(_silent(log, board, asked, prepared, board_name, auto_open)) == wire(asked.answer)


def _silent(
    log: _Log, board: Board, asked: Asked, prepared: Prepared, board_name: str, auto_open: bool
) -> Any:
    call = asked.request.call
    earlier = log.commands.get((asked.principal.actor, call.idempotency_key or ""), [])
    if earlier and earlier[-1].seq <= board.head:
        wanted = outcome_needs(board, prepared, earlier)
        fetched = log.fetch(wanted, board.head)
        return outcome(board, asked.principal, prepared, call, earlier, fetched=fetched)
    fetched = log.fetch(needs(board, asked.principal, prepared), board.head)
    decision = decide(board, board_name, asked.principal, prepared, fetched, auto_open=auto_open)
    assert decision.drafts == []
    return complete(board, asked.principal, prepared, call, decision)


def _prepared(asked: Asked) -> Prepared:
    # As every transport does: what is judged is what was on the wire.
    message: Any = asked.request.message
    again = msgspec.json.decode(canonical.encode(message), type=type(message))
    command: ask.Command = again
    return prepare(command, agent=asked.principal.agent)


def _comparable(event: Event) -> Any:
    return event.seq, event.first, event.key, event.revision, event.turn, _body(event)


def _body(event: Event) -> tuple[str, bytes]:
    body: Any = event.body
    return body.KIND, encode_body(body)


def wire(answer: Any) -> Any:
    """An answer as it looks on the wire."""
    if isinstance(answer, BlackboardError):
        return msgspec.json.decode(document(answer))
    return msgspec.json.decode(msgspec.json.encode(answer))
