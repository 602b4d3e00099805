"""`kill -9` of a serving process under load: what was acknowledged is there, once, and verifies.

G1 an acknowledged event survives; G2 seqs are 1..n; G4 a retry with the same key gives the original answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import blackboard
from blackboard.config import Settings
from blackboard.events.envelope import Row, unseal
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store import open_store
from tests.faults.checking import check_log
from tests.faults.replaying import read_log
from tests.faults.serving import Serving

BOARD = "under-fire"
WRITERS = 8
CYCLES = 50
UNDER_LOAD = (0.02, 0.25)
"""Seconds between a start and its kill, at least and at most."""


class Writer:
    """One agent that writes, writes stale, and speaks, each command under a key of its own.

    A command without an answer is sent again, as it was, before the next one. `answered` maps each key to the
    seq that the first answer gave, whether the command was accepted or refused.
    """

    def __init__(self, url: str, name: str, token: str, dice: random.Random) -> None:
        self.name = name
        self.answered: dict[str, int] = {}
        self.bodies: dict[str, tuple[str, dict[str, Any]]] = {}
        self.resent = 0
        self._headers = {"Authorization": f"Bearer {token}"}
        self._url = f"{url}/v1/boards/{BOARD}"
        self._dice = dice
        self._number = 0
        self._revision = 0
        self._waiting: str | None = None

    async def work(self, session: aiohttp.ClientSession) -> None:
        """Until the connection breaks."""
        with contextlib.suppress(aiohttp.ClientError):
            if self.answered:
                await self._check_again(session, self._dice.choice(list(self.answered)))
            while True:
                if self._waiting is None:
                    self._waiting = self._next()
                else:
                    self.resent += 1
                self.answered[self._waiting] = await self._send(session, self._waiting)
                self._waiting = None

    def _next(self) -> str:
        self._number += 1
        key = f"{self.name}-{self._number}"
        what = self._dice.random()
        if what < 0.2:
            self.bodies[key] = "messages", {"text": f"message {self._number}"}
        elif what < 0.3 and self._revision:
            stale = {"key": self.name, "revision": self._revision, "value": {"stale": self._number}}
            self.bodies[key] = "writes", {"writes": [stale]}
        else:
            self._revision += 1
            write = {"key": self.name, "revision": self._revision, "value": {"n": self._number}}
            self.bodies[key] = "writes", {"writes": [write]}
        return key

    async def _check_again(self, session: aiohttp.ClientSession, key: str) -> None:
        assert await self._send(session, key) == self.answered[key], f"{key} was answered otherwise before"

    async def _send(self, session: aiohttp.ClientSession, key: str) -> int:
        path, body = self.bodies[key]
        headers = self._headers | {"Idempotency-Key": key}
        async with session.post(f"{self._url}/{path}", json=body, headers=headers) as answer:
            told = await answer.json(content_type=None)
            assert answer.status in {200, 409}, told
            seq: int = told["seq"]
            return seq


async def prepare(serving: Serving) -> list[Writer]:
    """Open the board; a token for each writer."""
    token = serving.operator_token
    async with blackboard.connect(serving.url, board=BOARD, token=token) as operator:
        await operator.open_board()
        made = [await operator.create_token("agent", f"w{n}") for n in range(WRITERS)]
    return [Writer(serving.url, one.name, str(one.token), random.Random(one.name)) for one in made]


async def under_fire(serving: Serving, writers: list[Writer], seconds: float) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        work = asyncio.gather(*(writer.work(session) for writer in writers))
        await asyncio.sleep(seconds)
        await asyncio.to_thread(serving.kill)
        await work


async def check_projections(db: Path, rows: list[Row]) -> None:
    """What a restart loads, from whichever snapshot a killed server left, is the fold of the whole log."""
    board = Board()
    for row in rows:
        evolve(board, unseal(row))
    store = await open_store(str(db), Settings())
    try:
        loaded = await store.load(BOARD)
    finally:
        await store.close()
    assert loaded is not None
    assert loaded.snapshot_seq > 0
    assert b"".join(snapshot.encode(snapshot.capture(loaded.board))) == b"".join(
        snapshot.encode(snapshot.capture(board))
    )


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_fifty_kills_under_load_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    serving, dice = Serving(tmp_path, "--snapshot-every", "500"), random.Random(50)
    serving.start()
    try:
        writers = await prepare(serving)
        for cycle in range(CYCLES):
            if cycle:
                await asyncio.to_thread(serving.start)
            await under_fire(serving, writers, dice.uniform(*UNDER_LOAD))
    finally:
        serving.stop()
    rows = await read_log(serving.db, BOARD)
    check_log(rows, {f"agent:{writer.name}": writer.answered for writer in writers})
    await check_projections(serving.db, rows)
    acknowledged = sum(len(writer.answered) for writer in writers)
    resent = sum(writer.resent for writer in writers)
    print(f"{CYCLES} kills, {acknowledged} acknowledged commands, {resent} sent again, {len(rows)} events")
    assert acknowledged > 10 * CYCLES
    assert resent > CYCLES  # the kills did hit commands under way
