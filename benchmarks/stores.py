"""Stores for benchmarks: settings, files made quickly, and one that keeps nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from benchmarks.logs import BOARD, Built, Spec, build
from benchmarks.rawlog import INSERT
from blackboard.config import Settings
from blackboard.events.envelope import Event, Row, Tip
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store import open_store
from blackboard.store.contract import BoardRow, Loaded, StoredToken


def settings(url: str, **more: object) -> Settings:
    """The defaults, durability full, with one database."""
    return Settings(**{"db": url, "auto_open": True, **more})  # type: ignore[arg-type] # checked by Settings' users


async def make_file(path: Path, spec: Spec, tail: int) -> None:
    """Write the log of `spec` into a new file through the store, and a snapshot `tail` events before its end."""
    url = f"sqlite:///{path}"
    # While the file is built nothing of it is worth keeping; whoever measures opens it with full durability.
    store = await open_store(url, settings(url, durability="normal"))
    try:
        board, last, kept = Board(), None, False
        total = spec.writes + 1 + spec.readers * -(-spec.keys // 1000)
        for built in build(spec):
            await store.append(built.rows)
            for event in built.events:
                evolve(board, event)
            last = built.tip
            if not kept and last.seq >= total - tail and tail:
                await store.snapshot(board, last)
                kept = True
        if last is not None and not kept:
            await store.snapshot(board, last)
    finally:
        await store.close()


class NullStore:
    """A store that takes everything and keeps nothing: what is left is what a command costs in memory."""

    def __init__(self, board: Board, tip: Tip) -> None:
        self.url = "memory://nothing"
        self._loaded = Loaded(board, tip, tip.seq, 0)

    async def append(self, rows: Sequence[Row]) -> None:
        await asyncio.sleep(0)

    async def tip(self, board: str) -> Tip | None:
        return self._loaded.tip

    async def load(self, board: str, at: int | None = None) -> Loaded | None:
        return self._loaded

    async def rows(self, board: str, after: int = 0, limit: int = 1000, **_: object) -> list[Row]:
        return []

    async def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        for nothing in ():
            yield nothing

    async def events(self, board: str, seqs: Sequence[int]) -> dict[int, Event]:
        return {}

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        return None

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        return None

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        return []

    async def boards(self) -> list[BoardRow]:
        return [BoardRow(BOARD, 0, self._loaded.tip.seq)]

    async def put_token(self, token: StoredToken) -> None:
        return None

    async def token(self, digest: bytes) -> StoredToken | None:
        return None

    async def tokens(self) -> list[StoredToken]:
        return []

    async def snapshot(self, board: Board, tip: Tip) -> None:
        return None

    async def check(self) -> dict[str, str | int | bool]:
        return {}

    async def close(self) -> None:
        return None
