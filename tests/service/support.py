"""A store in memory whose commits can be held, refused or lost on the way back, and short ways to speak."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from blackboard.config import Settings
from blackboard.errors import BlackboardError
from blackboard.events.envelope import GENESIS, Event, Row, Tip, tip_of, unseal, verify_row
from blackboard.messages import commands as ask
from blackboard.messages.commands import Write
from blackboard.messages.principal import Call, Principal
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.service import NO_CALL, Service
from blackboard.store.contract import BoardRow, CommandTaken, Loaded, SeqTaken, StoredToken

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


class LogStore:
    """A store in memory, after the contract. `faults` are raised by the next appends, one each.

    A fault is (error, stored): whether the rows are in the log although the append raised. `gate`, where set,
    holds appends until it is set again; `reading` is called before each read and may raise.
    """

    def __init__(self) -> None:
        self.url = "memory://test"
        self.commits_in_loop = False
        self.logs: dict[str, list[Row]] = defaultdict(list)
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
        log = self.logs[rows[0].board]
        bound = {(row.actor, row.command_id) for row in log if row.request_digest is not None}
        taken = [
            (row.actor, row.command_id)
            for row in rows
            if row.request_digest is not None and (row.actor, row.command_id) in bound
        ]
        if taken:
            raise CommandTaken(taken)
        if rows[0].seq != len(log) + 1:
            raise SeqTaken
        log.extend(rows)
        self.appends.append(len(rows))

    async def tip(self, board: str) -> Tip | None:
        self.reading("tip")
        await asyncio.sleep(0)
        return tip_of(self.logs[board][-1]) if self.logs.get(board) else None

    async def load(self, board: str, at: int | None = None, *, verify: bool = False) -> Loaded | None:
        self.reading("load")
        await asyncio.sleep(0)
        if not self.logs.get(board):
            return None
        self.loads.append(board)
        saved, tip = self.snapshots.get(board, (None, GENESIS))
        if saved is None or (at is not None and tip.seq > at):
            folded, start = Board(), GENESIS
        else:
            folded, start = snapshot.decode(saved), tip
        rows = self.logs[board][start.seq : at]
        for row in rows:
            evolve(folded, unseal(row))
        return Loaded(folded, tip_of(rows[-1]) if rows else start, start.seq, len(rows))

    async def rows(
        self,
        board: str,
        after: int = 0,
        limit: int = 1000,
        *,
        kind: str | None = None,
        agent: str | None = None,
        key: str | None = None,
        through: int | None = None,
    ) -> list[Row]:
        self.reading("rows")
        await asyncio.sleep(0)
        return [
            row
            for row in self.logs[board][after:through]
            if (kind is None or row.kind == kind)
            and (agent is None or row.actor == f"agent:{agent}")
            and (key is None or row.key == key)
        ][:limit]

    async def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        yield self.logs[board][after:through]

    async def events(self, board: str, seqs: Sequence[int]) -> dict[int, Event]:
        return {seq: unseal(self.logs[board][seq - 1]) for seq in seqs}

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        self.reading("entry")
        self.fetches.append((key, revision))
        await asyncio.sleep(0)
        return next(
            (unseal(row) for row in self.logs[board] if row.key == key and row.revision == revision), None
        )

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        self.reading("entry_as_of")
        await asyncio.sleep(0)
        return next((unseal(row) for row in reversed(self.logs[board][:seq]) if row.key == key), None)

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        self.reading("command")
        await asyncio.sleep(0)
        return [row for row in self.logs[board] if (row.actor, row.command_id) == (actor, command_id)]

    async def boards(self) -> list[BoardRow]:
        return [
            BoardRow(name, log[0].recorded_at, log[-1].seq) for name, log in sorted(self.logs.items()) if log
        ]

    async def put_token(self, token: StoredToken) -> None:
        raise NotImplementedError

    async def token(self, digest: bytes) -> StoredToken | None:
        raise NotImplementedError

    async def tokens(self) -> list[StoredToken]:
        raise NotImplementedError

    async def snapshot(self, board: Board, tip: Tip) -> None:
        captured = snapshot.capture(board)
        parts = []
        for part in snapshot.encode(captured):
            parts.append(part)
            await asyncio.sleep(0)
        self.snapshots[captured.header.name] = (b"".join(parts), tip)

    async def check(self) -> dict[str, str | int | bool]:
        return {}

    async def close(self) -> None:
        pass


def service_over(store: LogStore, **settings: Any) -> Service:
    shared = settings.pop("shared", False)
    return Service(store, Settings(**settings), auto_open=True, shared=shared)


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
