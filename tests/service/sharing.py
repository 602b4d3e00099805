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
from blackboard.errors import BlackboardError, OutcomeUnknown
from blackboard.events.envelope import Row, Tip
from blackboard.messages import commands as ask
from blackboard.service import CaughtUp, Service
from blackboard.store.contract import Hear, Loaded, Locked
from tests.service.support import AUDITOR, BOARD, OPERATOR, LogStore, agent, do, key, read, settled, write

COMMANDS = 15
"""How many a client sends."""

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


def store_of(service: Service) -> SharedStore:
    assert isinstance(service.store, SharedStore)
    return service.store


async def eventually(condition: Callable[[], bool], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.001)


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


class Client:
    """One agent that speaks to any of the services, one command at a time, and knows what it was told."""

    def __init__(self, number: int, services: list[Service], chance: random.Random) -> None:
        self.who = agent(f"c{number}")
        self.services = services
        self.chance = chance
        self.told: dict[str, int] = {}
        self.sent: dict[str, ask.Command] = {}
        self.revisions: dict[str, int] = {}

    async def work(self) -> None:
        for number in range(COMMANDS):
            await self.one(f"{self.who.name}-{number}")

    async def one(self, name: str) -> None:
        """Send a new command or an old one again, wherever it happens to go; sometimes without waiting."""
        service = self.chance.choice(self.services)
        dice = self.chance.random()
        if dice < 0.2 and self.told:
            await self.again(service)
        elif dice < 0.3:
            task = asyncio.create_task(do(service, self.who, ask.Say(text=name), key(name)))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        elif dice < 0.4:
            await do(service, self.who, read("k0", "k1"))
        else:
            await self.send(service, name, self.command())

    def command(self) -> ask.Command:
        if self.chance.random() < 0.3:
            return ask.Say(text=f"{self.chance.random()}")
        own = f"{self.who.name}/{self.chance.randrange(3)}"
        shared = f"k{self.chance.randrange(2)}"
        name = self.chance.choice((own, shared))
        self.revisions[name] = self.revisions.get(name, 0) + 1
        return write(name, self.revisions[name], self.chance.random())

    async def send(self, service: Service, name: str, command: ask.Command) -> None:
        self.sent[name] = command
        while True:
            try:
                reply = await do(service, self.who, command, key(name))
            except OutcomeUnknown:
                service = self.chance.choice(self.services)
            except BlackboardError as error:
                if error.seq is not None:
                    self.told[name] = error.seq
                return
            else:
                self.told[name] = reply.seq
                return

    async def again(self, service: Service) -> None:
        """The first outcome is given again, wherever it is asked for."""
        name, seq = self.chance.choice(sorted(self.told.items()))
        (outcome,) = await settled(do(service, self.who, self.sent[name], key(name)))
        if not isinstance(outcome, OutcomeUnknown):
            assert outcome.seq == seq, (name, outcome)


async def shares(services: list[Service], seconds: float, boards: int = 1) -> list[int]:
    """How many commands each service got committed in the time, from clients that never pause."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    counts = [0] * len(services)

    async def client(place: int, number: int) -> None:
        sent = 0
        while loop.time() < until:
            sent += 1
            board = f"{BOARD}-{number % boards}" if boards > 1 else BOARD
            await do(
                services[place],
                agent(f"s{place}-{number}"),
                write(f"{place}/{number}/{sent}", 1),
                board=board,
            )
            counts[place] += 1

    await asyncio.gather(*(client(place, number) for place in range(len(services)) for number in range(8)))
    return counts
