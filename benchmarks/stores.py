"""Stores for benchmarks: settings, files made quickly, and one that keeps nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.logs import PAGE, SLICE, Spec, build
from blackboard.config import Settings
from blackboard.events.envelope import Row, Tip
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.store import open_store
from blackboard.store.contract import Loaded
from blackboard.store.memory import MemoryStore
from blackboard.store.tables import saved_boards, saved_parts

NEVER = 10**12
SAVED = (saved_boards.name, saved_parts.name)
"""The tables of snapshots."""

Saved = tuple[str, list[tuple[Any, ...]]]


def settings(url: str, **more: Any) -> Settings:
    """The defaults, durability full, with one database; no snapshots but those that a benchmark takes."""
    return Settings(**{"db": url, "auto_open": True, "snapshot_every": NEVER, **more})


async def make_file(path: Path, spec: Spec, tails: Sequence[int] = ()) -> None:
    """Write the log of `spec` into a new file, and a snapshot so many events before its end for each tail."""
    url = f"sqlite:///{path}"
    total = spec.writes + 1 + spec.readers * -(-spec.keys // PAGE)
    due = sorted((total - tail for tail in tails), reverse=True)
    saved: list[Saved] = []
    # While it is made nothing of it is worth keeping; whoever measures opens it with full durability.
    store = await open_store(url, settings(url, durability="normal"))
    try:
        board = Board()
        for built in build(spec, size=max(min(SLICE, *tails) // 4, 1) if tails else SLICE):
            await store.append(built.rows)
            if tails:
                for event in built.events:
                    evolve(board, event)
            while due and built.tip.seq >= due[-1]:
                due.pop()
                await store.snapshot(board, built.tip)
                saved += _snapshots(path)
    finally:
        await store.close()
    _keep(path, saved)


def _snapshots(path: Path) -> list[Saved]:
    with closing(sqlite3.connect(path)) as connection:
        return [(name, connection.execute(f"SELECT * FROM {name}").fetchall()) for name in SAVED]


def _keep(path: Path, saved: list[Saved]) -> None:
    """Put back the older snapshots: the store keeps the newest alone."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, rows in saved:
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {name} VALUES ({marks})", row)


def drop_newest_snapshot(path: Path) -> None:
    """Make the file look as it did before its newest snapshot."""
    with closing(sqlite3.connect(path)) as connection, connection:
        newest = connection.execute("SELECT max(seq) FROM saved_boards").fetchone()
        for name in SAVED:
            connection.execute(f"DELETE FROM {name} WHERE seq = ?", newest)


class NullStore(MemoryStore):
    """A store that takes everything and keeps nothing: what is left is what a command costs in memory."""

    def __init__(self, board: Board, tip: Tip) -> None:
        super().__init__("memory://nothing")
        self._loaded = Loaded(board, tip, tip.seq, 0)

    async def append(self, rows: Sequence[Row]) -> None:
        await asyncio.sleep(0)

    async def load(self, board: str, at: int | None = None, *, verify: bool = False) -> Loaded | None:
        return self._loaded
