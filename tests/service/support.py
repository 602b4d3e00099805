"""A store in memory whose commits can be held, refused or lost on the way back, and short ways to speak."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.events.envelope import GENESIS, Event, Row, Tip, unseal, verify_row
from blackboard.messages import commands as ask
from blackboard.messages.commands import Write
from blackboard.messages.principal import Call, Principal
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.service import NO_CALL, Service
from blackboard.store.contract import Loaded
from blackboard.store.memory import MemoryStore

BOARD = "release"
OPERATOR = Principal(role="operator", name="ops")
AUDITOR = Principal(role="auditor", name="kim")


def agent(name: str) -> Principal:
    return Principal(role="agent", name=name)


def key(text: str | None, seen: int | None = None) -> Call:
    return Call(idempotency_key=text, seen=seen)


def write(name: str, revision: int, value: Any = "pending") -> ask.WriteBatch:
    return ask.WriteBatch(writes=[Write(name, revision, value)])


def read(*names: str) -> ask.Read:
    return ask.Read(keys=list(names))


class LogStore(MemoryStore):
    """The store in memory, whose appends can be held, refused or lost on the way back.

    A fault of `faults`, one for each append, is (error, stored): whether the rows are in the log although the
    append raised. `gate`, where set, holds appends until it is set again; `reading` is called before reads
    and may raise. What was asked for is counted: `appends`, `loads`, `fetches`.
    """

    def __init__(self) -> None:
        super().__init__("memory://test")
        self.logs = self._logs = defaultdict(list)
        self.appends: list[int] = []
        self.appending = 0
        self.faults: list[tuple[BaseException | None, bool]] = []
        self.refuse: Callable[[Sequence[Row]], BaseException | None] = lambda rows: None
        self.reading: Callable[[str], None] = lambda what: None
        self.gate: asyncio.Event | None = None
        self.snapshots: dict[str, tuple[bytes, Tip]] = {}
        self.loads: list[str] = []
        self.fetches: list[tuple[str, int]] = []

    async def append(self, rows: Sequence[Row]) -> None:
        self.appending += 1
        try:
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
            self._append(rows)
        finally:
            self.appending -= 1

    def _append(self, rows: Sequence[Row]) -> None:
        error, stored = self.faults.pop(0) if self.faults else (self.refuse(rows), False)
        if error is not None and not stored:
            raise error
        self.store(rows)
        if error is not None:
            raise error

    def store(self, rows: Sequence[Row]) -> None:
        self._take(rows)
        self.appends.append(len(rows))

    async def tip(self, board: str) -> Tip | None:
        self.reading("tip")
        await asyncio.sleep(0)
        return await super().tip(board)

    async def load(self, board: str, at: int | None = None, *, verify: bool = False) -> Loaded | None:
        self.reading("load")
        loaded = await super().load(board, at, verify=verify)
        if loaded is not None:
            self.loads.append(board)
        return loaded

    async def rows(self, board: str, after: int = 0, limit: int = 1000, **filters: Any) -> list[Row]:
        self.reading("rows")
        await asyncio.sleep(0)
        return await super().rows(board, after, limit, **filters)

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        self.reading("entry")
        self.fetches.append((key, revision))
        await asyncio.sleep(0)
        return await super().entry(board, key, revision)

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        self.reading("entry_as_of")
        await asyncio.sleep(0)
        return await super().entry_as_of(board, key, seq)

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        self.reading("command")
        await asyncio.sleep(0)
        return await super().command(board, actor, command_id)

    async def snapshot(self, board: Board, tip: Tip) -> None:
        name = board.name
        await super().snapshot(board, tip)
        _, saved = self._snapshots[name, snapshot.FINGERPRINT]
        self.snapshots[name] = (saved.state, tip)


def service_over(store: LogStore, **settings: Any) -> Service:
    store.shared = settings.pop("shared", False)
    return Service(store, Settings(**settings), auto_open=True)


async def do(
    service: Service, who: Principal, command: ask.Command, call: Call = NO_CALL, board: str = BOARD
) -> Any:
    """Carry out one command."""
    return await service.execute(board, who, command, call)


async def opened(store: LogStore | None = None, **settings: Any) -> tuple[Service, LogStore]:
    """A service with a board, opened by the operator."""
    store = store if store is not None else LogStore()
    service = service_over(store, **settings)
    await service.execute(BOARD, OPERATOR, ask.OpenBoard())
    return service, store


async def appending(store: LogStore) -> None:
    """Wait until an append hangs at the gate."""
    async with asyncio.timeout(5):
        while not store.appending:  # noqa: ASYNC110 - the store is a double, and tells nobody
            await asyncio.sleep(0)


async def settled(*calls: Any) -> list[Any]:
    """The outcomes of calls made at once: replies and errors."""
    return await asyncio.gather(*calls, return_exceptions=True)


def codes(outcomes: Sequence[Any]) -> list[str]:
    return [error.code if isinstance(error, BlackboardError) else "ok" for error in outcomes]


def check_log(log: Sequence[Row]) -> None:
    """Seqs are 1..n, the chain holds, no command's events stand twice or apart."""
    previous = GENESIS.hash
    for place, row in enumerate(log, 1):
        assert row.seq == place
        assert verify_row(row, previous)
        previous = row.hash
    firsts = [(row.actor, row.command_id) for row in log if row.request_digest is not None]
    assert len(firsts) == len(set(firsts))


def folded(log: Sequence[Row]) -> bytes:
    """The bytes of the board that a log folds to."""
    board = Board()
    for row in log:
        evolve(board, unseal(row))
    return b"".join(snapshot.encode(snapshot.capture(board)))


async def live_bytes(service: Service, board: str = BOARD) -> bytes:
    """The bytes of the board as the service holds it."""
    live = service._cache.get(board)
    return await live.ask(lambda held: b"".join(snapshot.encode(snapshot.capture(held))))
