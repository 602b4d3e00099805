"""Several servers on one database, and clients that go on whatever happens to them.

Each client sends one command after the other, under a key of its own, again and again until it is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import blackboard
from blackboard.client import Board
from blackboard.client.retry import RetryPolicy
from blackboard.config import Settings
from blackboard.errors import Unavailable
from blackboard.store import open_store, schema
from tests.faults.checking import check_complete
from tests.faults.serving import Serving

ONCE = RetryPolicy(attempts=1)
"""The clients try again themselves, so that a test sees how often."""
PAUSE = 0.05


class Client:
    """One agent, through one server: writes a key of its own on each of its boards, and speaks now and then.

    `answered` maps, for each board, the key of each command to the seq of its answer.
    """

    def __init__(self, boards: Mapping[str, Board], name: str) -> None:
        self.boards = boards
        self.name = name
        self.answered: dict[str, dict[str, int]] = {board: {} for board in boards}
        self.resent = 0
        self._dice = random.Random(name)
        self._numbers = itertools.count(1)
        self._revisions = Counter[str]()

    @property
    def count(self) -> int:
        """How many commands have been answered."""
        return sum(len(answers) for answers in self.answered.values())

    async def work(self, stop: asyncio.Event, pace: float) -> None:
        """Until told to stop, with a pause after each command; the one under way is then still answered."""
        while not stop.is_set():
            await asyncio.sleep(pace)
            number, board = next(self._numbers), self._dice.choice(list(self.boards))
            speaks = self._dice.random() < 0.2
            if not speaks:
                self._revisions[board] += 1
            key = f"{self.name}-{number}"
            self.answered[board][key] = await self._until_answered(board, key, None if speaks else number)

    async def _until_answered(self, board: str, key: str, value: int | None) -> int:
        while True:
            try:
                return await self._send(board, key, value)
            except Unavailable:
                self.resent += 1
                await asyncio.sleep(PAUSE)

    async def _send(self, board: str, key: str, value: int | None) -> int:
        on = self.boards[board]
        if value is None:
            seq = (await on.say(f"this is {key}", idempotency_key=key)).seq
        else:
            revision = self._revisions[board]
            seq = (await on.write(self.name, value, revision=revision, idempotency_key=key)).seq
        assert seq is not None
        return seq


class Fleet:
    """Servers on one database, and the clients of each."""

    def __init__(self, place: Path, url: str, servers: int, *flags: str) -> None:
        self.url = url
        self.servers = [Serving(place / f"server{number}", *flags, url=url) for number in range(servers)]
        self.of_server: dict[Serving, list[Client]] = {server: [] for server in self.servers}
        self._boards: list[str] = []
        self._stack = contextlib.AsyncExitStack()
        self._stop = asyncio.Event()
        self._followers: list[Follower] = []
        self.working: list[asyncio.Task[None]] = []

    @property
    def clients(self) -> list[Client]:
        """All of them."""
        return list(itertools.chain.from_iterable(self.of_server.values()))

    async def start(self) -> None:
        """All servers at once."""
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in self.servers))

    async def people(self, boards: Sequence[str], each: int, boards_each: int = 1) -> None:
        """Open the boards, and connect so many clients through each server, each to so many boards.

        The clients take turns at the boards, so that those of one board are at different servers.
        """
        self._boards = list(boards)
        for board in boards:
            async with self.operator(self.servers[0], board) as operator:
                await operator.open_board()
        turns = itertools.cycle(boards)
        for number, (place, server) in itertools.product(range(each), enumerate(self.servers)):
            name = f"s{place}c{number}"
            async with self.operator(self.servers[0], boards[0]) as operator:
                token = (await operator.create_token("agent", name)).token
            theirs = [next(turns) for _ in range(boards_each)]
            connected = {board: await self._connected(server, board, str(token)) for board in theirs}
            self.of_server[server].append(Client(connected, name))

    async def _connected(self, server: Serving, board: str, token: str) -> Board:
        connecting = blackboard.connect(server.url, board=board, token=token, retry=ONCE, timeout=20.0)
        return await self._stack.enter_async_context(connecting)

    def operator(self, server: Serving, board: str) -> contextlib.AbstractAsyncContextManager[Board]:
        """The operator's own connection through one server."""
        return blackboard.connect(server.url, board=board, token=server.operator_token)

    async def follow(self, boards: Sequence[str]) -> None:
        """Follow each of these boards through every server."""
        for server, board in itertools.product(self.servers, boards):
            followed = await self._stack.enter_async_context(self.operator(server, board))
            self._followers.append(Follower(followed, board))

    async def told_whole(self) -> None:
        """Wait until the feeds have reached the end of their boards: each told every event once, in order."""
        heads: dict[str, int] = {}
        for board in {follower.board for follower in self._followers}:
            async with self.operator(self.servers[0], board) as operator:
                heads[board] = (await operator.ledger()).head

        def waiting() -> list[Follower]:
            return [follower for follower in self._followers if len(follower.seqs) < heads[follower.board]]

        def why() -> str:
            return f"told: {[(one.board, len(one.seqs)) for one in waiting()]}; there are: {heads}"

        await until(lambda: not waiting(), 20, why, [follower.task for follower in self._followers])
        for follower in self._followers:
            assert follower.seqs == list(range(1, heads[follower.board] + 1))

    def work(self, pace: float = 0.0) -> None:
        """Let all clients work from now on, with so many seconds between two commands of each."""
        self.working = [asyncio.create_task(client.work(self._stop, pace)) for client in self.clients]

    async def rest(self, seconds: float = 60) -> None:
        """Let them finish the command that they are at; raises what went wrong in any."""
        self._stop.set()
        await asyncio.wait_for(asyncio.gather(*self.working), seconds)
        self._stop.clear()

    def acknowledged(self, server: Serving | None = None) -> int:
        """How many commands have been answered, by one server or by all."""
        clients = self.clients if server is None else self.of_server[server]
        return sum(client.count for client in clients)

    async def goes_on(self, *servers: Serving, seconds: float = 30) -> None:
        """Wait until each client of these servers has two more answers: the second was asked for since."""
        clients = [client for server in servers for client in self.of_server[server]]
        wanted = {client: client.count + 2 for client in clients}

        def waiting() -> list[str]:
            return [client.name for client, count in wanted.items() if client.count < count]

        def why() -> str:
            told = [server.errors[-2000:] for server in servers]
            return f"no answer to {waiting()} in {seconds} s: {told}"

        await until(lambda: not waiting(), seconds, why, self.working)

    async def check(self) -> int:
        """Every board's log against what was acknowledged; returns the number of events."""
        store, events = await open_store(self.url, Settings()), 0
        try:
            for board in self._boards:
                rows = [row async for some in store.scan(board) for row in some]
                there = [client for client in self.clients if board in client.boards]
                check_complete(rows, {f"agent:{client.name}": client.answered[board] for client in there})
                folded = await store.load(board, verify=True)
                assert folded is not None
                assert (folded.tip.seq, folded.tip.hash) == (len(rows), rows[-1].hash)
                events += len(rows)
        finally:
            await store.close()
        found = await schema.check(self.url)
        assert found.flaws == []
        assert (found.boards, found.events) == (len(self._boards), events)
        return events

    async def close(self) -> None:
        """Disconnect, and stop what runs."""
        tasks = [*self.working, *(follower.task for follower in self._followers)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()
        stopped = [asyncio.to_thread(server.stop) for server in self.servers]
        codes = await asyncio.gather(*stopped)
        assert set(codes) == {0}, [server.errors for server in self.servers]
        for server in self.servers:
            assert "Traceback" not in server.errors, server.errors


@contextlib.asynccontextmanager
async def fleet_of(place: Path, url: str, servers: int, *flags: str) -> AsyncIterator[Fleet]:
    """So many running servers on the database; stopped afterwards."""
    fleet = Fleet(place, url, servers, *flags)
    try:
        await fleet.start()
        yield fleet
    finally:
        await fleet.close()


async def until(
    true: Callable[[], bool],
    seconds: float,
    why: Callable[[], str],
    beside: Sequence[asyncio.Task[None]] = (),
) -> None:
    """Wait until it is true; raises `AssertionError`, or what a task beside it failed with."""
    async with asyncio.timeout(seconds + 5):
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not true():
            for task in beside:
                if task.done():
                    task.result()
            assert loop.time() < end, why()
            await asyncio.sleep(0.01)


class Follower:
    """The feed of one board through one server, from its first event on."""

    def __init__(self, followed: Board, board: str) -> None:
        self.board = board
        self.seqs: list[int] = []
        self.task = asyncio.create_task(self._follow(followed))

    async def _follow(self, followed: Board) -> None:
        async for event in followed.follow():
            self.seqs.append(event.seq)
