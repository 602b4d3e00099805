"""What a board holds in memory, measured in a fresh process: `python -m benchmarks.footprint WHAT NUMBERS`.

The figure is the difference of the resident set, freed pages given back before each look.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.logs import (
    BOARD,
    SLICE,
    Spec,
    agent_name,
    build,
    fold,
    full_read,
    key_name,
    principal,
    write,
)
from benchmarks.machine import resident_bytes
from benchmarks.stores import settings
from blackboard.events import kinds
from blackboard.events.envelope import Command, Draft, number
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.service import Service
from blackboard.store import open_store

READ_KEYS = 100
BOARD_KEYS = 1_000
IDLE_SECONDS = 2.0


def resident() -> int:
    """Bytes that this process really needs."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return resident_bytes()


def entries(count: int) -> dict[str, float]:
    """Live entries, each written once by one of ten agents, and what their writers' views hold of them."""
    _warm()
    before = resident()
    board, _ = fold(Spec(count, count, 10))
    after = resident()
    values = sum(len(entry.value) for entry in board.ledger.entries.values())
    return {"bytes": (after - before) / count, "value_bytes": values / count}


def restored(count: int) -> dict[str, float]:
    """The same, restored from a snapshot."""
    _warm()
    with tempfile.TemporaryFile() as file:
        _saved(file, count)
        before = resident()
        file.seek(0)
        board = snapshot.decode(file.read())
    return {"bytes": (resident() - before) / count, "entries": len(board.ledger.entries)}


def _saved(file, count: int) -> None:
    board, _ = fold(Spec(count, count, 10))
    for piece in snapshot.encode(snapshot.capture(board)):
        file.write(piece)


def views(count: int, agents: int) -> dict[str, float]:
    """The views of agents that have each read the whole board."""
    board, _ = fold(Spec(count, count, 1))
    before = resident()
    for agent in range(agents):
        for body in full_read(count):
            _read(board, agent, body)
    return {"bytes": resident() - before}


def single_reads(count: int, agents: int) -> dict[str, float]:
    """The views of agents that have each read every key by its name."""
    board, _ = fold(Spec(count, count, 1))
    names = [key_name(index) for index in range(count)]
    before = resident()
    for agent in range(agents):
        for at in range(0, count, READ_KEYS):
            _read(board, agent, kinds.BoardRead(keys=dict.fromkeys(names[at : at + READ_KEYS], 1)))
    return {"bytes": resident() - before}


def _read(board: Board, agent: int, body: kinds.BoardRead) -> None:
    command = Command(f"agent:{agent_name(agent)}", "~bench", b"")
    for event in number(command, [Draft(body)], board.head):
        evolve(board, event)


def idle(boards: int) -> dict[str, float]:
    """Boards that nobody uses any more leave memory."""
    with tempfile.TemporaryDirectory() as place:
        return asyncio.run(_idle(f"sqlite:///{Path(place) / 'idle.db'}", boards))


async def _idle(url: str, boards: int) -> dict[str, float]:
    chosen = settings(url, idle_board_seconds=IDLE_SECONDS, durability="normal")
    store = await open_store(url, chosen)
    names = [f"{BOARD}-{number}" for number in range(boards)]
    try:
        for name in names:
            for built in build(Spec(BOARD_KEYS, BOARD_KEYS), name):
                await store.append(built.rows)
        service = Service(store, chosen)
        before = resident()
        await _touch(service, names, 2)
        held, used = service.metrics.live_boards, resident()
        await asyncio.sleep(1.75 * IDLE_SECONDS)
        left = service.metrics.live_boards
        await _touch(service, names, 3)
        again = resident()
        await service.close()
    finally:
        await store.close()
    return {"held": held, "left": left, "bytes": used - before, "again": again - before}


async def _touch(service: Service, names: list[str], revision: int) -> None:
    for name in names:
        await service.execute(name, principal(0), write(key_name(0), revision))


def _warm() -> None:
    """Leave behind what making and folding a log leaves behind once, whatever its size."""
    fold(Spec(3 * SLICE, 50, 2))


PROBES: dict[str, Callable[..., dict[str, float]]] = {
    "entries": entries,
    "restored": restored,
    "views": views,
    "single-reads": single_reads,
    "idle": idle,
}

if __name__ == "__main__":
    _, what, *numbers = sys.argv
    print(json.dumps(PROBES[what](*map(int, numbers))))
