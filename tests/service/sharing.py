"""Several services over one log in memory, as servers over one database: each has a store of its own.

Everything that a database shared over a network does to them can be had: statements take their time, hints
come late, doubled or never, a commit's result is lost, the log is put back to an earlier state. What happens
when is drawn from one seed.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from blackboard.config import Settings
from blackboard.errors import OutcomeUnknown
from blackboard.events.envelope import Row, Tip
from blackboard.messages import commands as ask
from blackboard.service import CaughtUp, Service
from blackboard.store.contract import Hear, Loaded, Locked
from tests.service.support import AUDITOR, BOARD, OPERATOR, LogStore

Hints = Callable[[random.Random], Sequence[float | None]]
"""When a hint arrives, in seconds, as often as it does; None: only that some were lost is told."""


def prompt(chance: random.Random) -> Sequence[float | None]:
    return [0.0]


def lost(chance: random.Random) -> Sequence[float | None]:
    return []


def doubled(chance: random.Random) -> Sequence[float | None]:
    return [0.0, 0.0, 0.001]


def late(chance: random.Random) -> Sequence[float | None]:
    return [chance.choice((0.002, 0.01, 0.03))]


def any_way(chance: random.Random) -> Sequence[float | None]:
    return chance.choice(([], [0.0], [0.0, 0.002], [0.02], [None]))


class Database:
    """One log of many boards, and the stores that its servers hold on it.

    `unknown`: how often in a hundred a commit's result is lost, after or before it took place.
    """

    def __init__(self, seed: int = 0, *, hints: Hints = prompt, steps: int = 0, unknown: int = 0) -> None:
        self.chance = random.Random(seed)
        self.hints = hints
        self.steps = steps
        self.unknown = unknown
        self.first = LogStore()
        self.logs: dict[str, list[Row]] = self.first.logs
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.stores: list[SharedStore] = []

    def server(self, **settings: Any) -> Service:
        """A service of its own; in `settings`, `poll_seconds` is short unless it is given."""
        store = SharedStore(self)
        self.stores.append(store)
        return Service(store, Settings(**{"poll_seconds": 0.02, **settings}), auto_open=True)

    async def servers(self, count: int, **settings: Any) -> list[Service]:
        """So many services, and the board opened by the first."""
        services = [self.server(**settings) for _ in range(count)]
        await services[0].execute(BOARD, OPERATOR, ask.OpenBoard())
        return services

    async def step(self) -> None:
        """Let the others go first, or not."""
        for _ in range(self.chance.randint(0, self.steps)):
            await asyncio.sleep(0)

    def tell(self, sender: SharedStore | None, board: str) -> None:
        """A commit has happened: the other servers hear of it, in whatever way they do."""
        loop = asyncio.get_running_loop()
        for store in self.stores:
            if store is sender or store.hear is None:
                continue
            for delay in self.hints(self.chance):
                loop.call_later(delay or 0.0, store.hear, None if delay is None else board)

    def put_back(self, board: str, head: int) -> None:
        """Put one board back to what it was when it ended at `head`; nobody is told."""
        rows = self.logs[board][:head]
        del self.logs[board][:]
        for index in (self.first._commands, self.first._entries):
            for name in [name for name in index if name[0] == board]:
                del index[name]  # type: ignore[arg-type]  # one loop for two kinds of key
        for name, (seq, _) in list(self.first._snapshots.items()):
            if name[0] == board and seq > head:
                del self.first._snapshots[name]
        self.logs[board].extend(rows)
        for row in rows:
            self.first._index(row)


class SharedStore(LogStore):
    """One server's hold on a database. `locks` counts how often it has locked a board."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.shared = True
        self.database = database
        self.hear: Hear | None = None
        self.locks = 0
        self.deaf = 0
        first = database.first
        self.logs = self._logs = first.logs
        self._commands, self._entries = first._commands, first._entries
        self._snapshots, self._tokens = first._snapshots, first._tokens

    async def append(self, rows: Sequence[Row]) -> None:
        async with self.database.locks[rows[0].board]:
            await self.append_locked(rows)

    async def append_locked(self, rows: Sequence[Row]) -> None:
        """What an append does while nobody else may."""
        database = self.database
        await database.step()
        if database.chance.randrange(100) < database.unknown and not self.faults:
            self.faults.append((OutcomeUnknown("the connection was lost"), database.chance.random() < 0.5))
        try:
            await super().append(rows)
        except OutcomeUnknown:
            database.tell(None, rows[0].board)
            raise
        database.tell(self, rows[0].board)
        await database.step()

    @asynccontextmanager
    async def lock(self, board: str) -> AsyncIterator[Locked]:
        await self.database.step()
        if not self.logs.get(board):
            yield self
            return
        async with self.database.locks[board]:
            self.locks += 1
            await self.database.step()
            yield _Held(self)

    async def listen(self, hear: Hear) -> None:
        self.reading("listen")
        self.hear = hear

    async def tip(self, board: str) -> Tip | None:
        await self.database.step()
        return await super().tip(board)

    async def load(self, board: str, at: int | None = None, *, verify: bool = False) -> Loaded | None:
        await self.database.step()
        return await super().load(board, at, verify=verify)

    async def rows(self, board: str, after: int = 0, limit: int = 1000, **filters: Any) -> list[Row]:
        await self.database.step()
        found = await super().rows(board, after, limit, **filters)
        await self.database.step()
        return found

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        await self.database.step()
        found = await super().command(board, actor, command_id)
        await self.database.step()
        return found


class _Held:
    def __init__(self, store: SharedStore) -> None:
        self._store = store

    async def append(self, rows: Sequence[Row]) -> None:
        await self._store.append_locked(rows)


class Follower:
    """One feed, read to wherever it goes. `seqs` is what came of it."""

    def __init__(self, service: Service, after: int = 0, board: str = BOARD) -> None:
        self.after = after
        self.rows: list[Row] = []
        self.task = asyncio.create_task(self._follow(service, board))

    async def _follow(self, service: Service, board: str) -> None:
        async with aclosing(service.follow(board, AUDITOR, self.after)) as found:
            async for row in found:
                if not isinstance(row, CaughtUp):
                    self.rows.append(row)

    @property
    def seqs(self) -> list[int]:
        return [row.seq for row in self.rows]

    async def reach(self, seq: int, within: float = 10.0) -> list[int]:
        """Wait until it has got so far, and whatever more comes at once; then let go of it."""
        async with asyncio.timeout(within):
            while not (self.rows and self.rows[-1].seq >= seq) and not self.task.done():  # noqa: ASYNC110 - no bell
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.03)
        await self.leave()
        return self.seqs

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        if not self.task.cancelled() and (error := self.task.exception()) is not None:
            raise error


async def closed(*services: Service) -> None:
    """Close them; nothing they began is left."""
    async with asyncio.timeout(10):
        await asyncio.gather(*(service.close() for service in services))
