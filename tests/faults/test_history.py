"""Eight clients at once, 10,000 operations: the history is that of one board that does one thing at a time.

G3: every answer equals deciding again, in the order of the log, on a fresh board. G6: what is folded from the
log is byte for byte what was live. Through the client library, embedded (several loops and threads on one
runtime) and over HTTP (a server of its own).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import blackboard
from blackboard import Write
from blackboard.client import Board as Client
from blackboard.config import Settings
from blackboard.errors import BlackboardError, Malformed, WriteRejected
from blackboard.events.envelope import Row
from blackboard.gate.query import state_digest, view_digest
from blackboard.messages.principal import Principal
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.service.runtime import acquire
from blackboard.store import open_store
from tests.faults.replaying import Asked, Recorder, Retold, read_log, retell
from tests.faults.serving import Serving

BOARD = "busy"
CLIENTS = 8
OPERATIONS = 10_000
SHARED = [f"task/{letter}" for letter in "ABCDEFGHIJKL"]
STATES = ["pending", "running", "failed", "complete", "in progress since noon"]


class Agent:
    """One client that reads, writes, errs, forgets and speaks, by its own dice."""

    def __init__(self, board: Client, name: str) -> None:
        self.board = board
        self.name = name
        self.known: dict[str, int] = {}
        self.last: tuple[str, Any, int] | None = None
        self.turn = 1
        self.dice = random.Random(name)
        self.steps: list[tuple[float, Callable[[], Awaitable[Any]]]] = [
            (0.30, self.read),
            (0.05, self.read_several),
            (0.03, self.read_everything),
            (0.30, self.write_on),
            (0.08, self.write_blindly),
            (0.05, self.write_batch),
            (0.05, self.resend),
            (0.08, self.speak),
            (0.01, self.forget),
            (0.02, self.end_turn),
            (0.02, self.delete),
            (0.01, self.write_nonsense),
        ]

    async def work(self, count: int) -> None:
        weights, steps = zip(*self.steps, strict=True)
        for step in self.dice.choices(steps, weights, k=count):
            try:
                await step()
            except WriteRejected as rejected:
                if rejected.remedy is not None and rejected.remedy.keys and self.dice.random() < 0.7:
                    await self.read(rejected.remedy.keys[0])
            except Malformed:
                pass

    def key(self) -> str:
        return self.dice.choice([*SHARED, f"own/{self.name}"])

    async def read(self, key: str | None = None) -> None:
        entry = await self.board.read(key or self.key())
        self.known[entry.key] = entry.revision

    async def read_several(self) -> None:
        reply = await self.board.read_many(self.dice.sample(SHARED, 4))
        self.known |= {entry.key: entry.revision for entry in reply.entries}

    async def read_everything(self) -> None:
        reply = await self.board.read_all(turn=self.turn)
        self.known |= {entry.key: entry.revision for entry in reply.entries}

    def value(self) -> Any:
        state = self.dice.choice(STATES)
        return state if self.dice.random() < 0.2 else {"status": state, "by": self.name}

    async def write_on(self) -> None:
        key = self.key()
        if key not in self.known:
            await self.read(key)
        await self._write(key, self.value(), self.known[key] + 1)

    async def write_blindly(self) -> None:
        await self._write(self.key(), self.value(), self.dice.randint(1, 40))

    async def _write(self, key: str, value: Any, revision: int) -> None:
        self.last = key, value, revision
        confidence = self.dice.choice([None, 0.5, 0.9])
        turn = self.turn if self.dice.random() < 0.5 else None
        await self.board.write(key, value, revision=revision, confidence=confidence, turn=turn)
        self.known[key] = revision

    async def write_batch(self) -> None:
        keys = self.dice.sample([*self.known] or SHARED[:1], min(3, len(self.known) or 1))
        basis = {key: self.known.get(key, 0) for key in self.dice.sample(SHARED, 1) if key not in keys}
        writes = [Write(key, self.known.get(key, 0) + 1, self.value(), basis=basis or None) for key in keys]
        await self.board.write_many(writes)
        self.known |= {key: self.known.get(key, 0) + 1 for key in keys}

    async def resend(self) -> None:
        """The same write under a new key, then one command twice under one key."""
        if self.last is not None:
            key, value, revision = self.last
            await self.board.write(key, value, revision=revision)
        one = f"again-{self.dice.random()}"
        for _ in range(2):
            await self.board.say(
                f"said twice: task/A@{self.dice.randint(1, 3) if _ < 0 else 1}", idempotency_key=one
            )

    async def speak(self) -> None:
        cited = f"entry:{self.dice.randint(1, 500)}" if self.dice.random() < 0.6 else "the completed tasks"
        await self.board.say(f"{self.name}: {cited}, {self.key()} is pending", turn=self.turn)

    async def forget(self) -> None:
        await self.board.compacted(cause="summary", turn=self.turn)
        self.known.clear()

    async def end_turn(self) -> None:
        self.turn += 1
        await self.board.end_turn(self.turn - 1 if self.dice.random() < 0.8 else self.turn + 1)
        self.turn += 2

    async def delete(self) -> None:
        key = f"own/{self.name}"
        await self.board.delete(key, revision=self.known.get(key, 0) + 1)
        self.known[key] = self.known.get(key, 0) + 1

    async def write_nonsense(self) -> None:
        if self.dice.random() < 0.5:
            await self.board.write_many([{"key": self.key(), "value": 1}])
        await self.board.say("too late", turn=0)


def recorded(board: Client, principal: Principal, history: list[Asked]) -> Client:
    board._transport = Recorder(board._transport, principal, history)
    return board


def compare(rows: list[Row], history: list[Asked], *, auto_open: bool) -> Retold:
    retold = retell(rows, history, BOARD, auto_open=auto_open)
    print(
        f"{len(history)} answers told again: {retold.appended} commands that appended {len(rows)} events, "
        f"{retold.silent} that appended none, {retold.outright} refused outright"
    )
    assert len(history) >= OPERATIONS
    assert retold.appended > OPERATIONS * 0.8
    assert retold.silent > 0
    assert retold.outright > 0
    codes = {asked.answer.code for asked in history if isinstance(asked.answer, BlackboardError)}
    assert {"revision-not-advancing", "unseen-revision", "revalidation-required", "revision-missing"} <= codes
    return retold


def captured(board: Board) -> bytes:
    return b"".join(snapshot.encode(snapshot.capture(board)))


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_ten_thousand_embedded_operations_of_eight_clients_replay_equal(tmp_path: Path) -> None:
    url, settings = (
        f"sqlite:///{tmp_path}/board.db",
        Settings(snapshot_every=3_000, rejections_per_minute=10**6),
    )
    history: list[Asked] = []

    async def clients(names: list[str]) -> None:
        async with AsyncExitStack() as stack:
            agents = []
            for name in names:
                connecting = blackboard.connect(url, board=BOARD, agent=name, settings=settings)
                board = await stack.enter_async_context(connecting)
                principal = Principal(role="agent", name=name)
                agents.append(Agent(recorded(board, principal, history), name))
            await asyncio.gather(*(agent.work(OPERATIONS // CLIENTS) for agent in agents))

    held = await asyncio.to_thread(acquire, url, settings)
    try:
        names = [f"agent{n}" for n in range(CLIENTS)]
        # Four clients in this loop, two in a loop of another thread, two in threads of their own.
        await asyncio.gather(
            clients(names[:4]),
            *(asyncio.to_thread(asyncio.run, clients(part)) for part in (names[4:6], names[6:7], names[7:])),
        )
        live = await held.call(held.service._cache.get(BOARD).ask(captured))
    finally:
        await asyncio.to_thread(held.release)
    rows = await read_log(tmp_path / "board.db", BOARD)
    retold = compare(rows, history, auto_open=True)
    assert live == captured(retold.board)
    await check_stored(tmp_path / "board.db", retold.board)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_ten_thousand_operations_of_eight_clients_over_http_replay_equal(tmp_path: Path) -> None:
    serving = Serving(tmp_path, "--snapshot-every", "3000", "--rejections-per-minute", "1000000")
    serving.start()
    history: list[Asked] = []
    try:
        async with AsyncExitStack() as stack:
            token = serving.operator_token
            connecting = blackboard.connect(serving.url, board=BOARD, token=token)
            operator = await stack.enter_async_context(connecting)
            recorded(operator, Principal(role="operator", name="local"), history)
            await operator.open_board()
            agents = []
            for name in [f"agent{n}" for n in range(CLIENTS)]:
                made = await operator.create_token("agent", name)
                connecting = blackboard.connect(serving.url, board=BOARD, token=made.token)
                board = await stack.enter_async_context(connecting)
                principal = Principal(role="agent", name=name)
                agents.append(Agent(recorded(board, principal, history), name))
            await asyncio.gather(*(agent.work(OPERATIONS // CLIENTS) for agent in agents))
            ledger = await operator.ledger()
            views = {agent.name: (await operator.show_agent(agent.name)).view_digest for agent in agents}
    finally:
        assert serving.stop() == 0
    rows = await read_log(serving.db, BOARD)
    retold = compare(rows, history, auto_open=False)
    assert ledger.state_digest == state_digest(retold.board)
    assert views == {name: view_digest(retold.board, retold.board.agents[name]) for name in views}
    await check_stored(serving.db, retold.board)


async def check_stored(db: Path, board: Board) -> None:
    """What a restart loads, from a snapshot that was taken under load, is the same."""
    store = await open_store(str(db), Settings())
    try:
        loaded = await store.load(BOARD)
    finally:
        await store.close()
    assert loaded is not None
    assert loaded.snapshot_seq > 0
    assert captured(loaded.board) == captured(board)
