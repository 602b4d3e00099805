"""Logs to measure on: chain-correct, such that the gate would have accepted every event of them.

Key `i` belongs to agent `i % agents`, which writes its revisions one after another: each writer holds what it
overwrites. Full reads, where asked for, come last, page by page.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Raw

from blackboard.events import kinds
from blackboard.events.envelope import (
    GENESIS,
    SALT_BYTES,
    Command,
    Draft,
    Event,
    Row,
    Tip,
    number,
    seal,
)
from blackboard.gate.govern import opening
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared, prepare
from blackboard.messages.principal import Principal
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve

BOARD = "bench"
STATUSES = ("pending", "running", "blocked", "retrying")
NOTES = (
    "waiting for the reviewer of the second module; see the comments on the interface and the open question",
    "retry after the dependency was rebuilt; the first attempt timed out while the cache was being filled in",
    "half of the files are converted and the tests of these pass; the others need the new signature first ok",
)
PAGE = 1000
SLICE = 4096
FOLDED = 128
"""Events made at a time while a board is folded: their leavings must not count as the board's memory."""


class Spec(NamedTuple):
    """How large a log is: writes in all, keys they go round, agents that write, agents that read it all."""

    writes: int
    keys: int
    agents: int = 1
    readers: int = 0


def agent_name(index: int) -> str:
    return f"agent-{index:02d}"


def key_name(index: int) -> str:
    return f"task/{index % 97:02d}/{index:06d}"


def value(turn: int) -> dict[str, str | int]:
    """A task as agents keep it: its event's body has about 300 bytes."""
    return {
        "note": NOTES[turn % 3],
        "owner": f"team-{turn % 7}",
        "points": turn % 13,
        "status": STATUSES[turn % 4],
    }


def write(key: str, revision: int) -> ask.WriteBatch:
    return ask.WriteBatch(writes=[ask.Write(key, revision, value(revision))])


def principal(index: int) -> Principal:
    return Principal(role="agent", name=agent_name(index))


class Built(NamedTuple):
    """One slice of a log, and the log's end after it."""

    rows: list[Row]
    events: list[Event]
    tip: Tip


def build(spec: Spec, board: str = BOARD, size: int = SLICE) -> Iterator[Built]:
    """The log of `spec`, in slices of about `size` events."""
    tip = GENESIS
    rows: list[Row] = []
    events: list[Event] = []
    for command, drafts in commands(spec, board):
        events += number(command, drafts, tip.seq, recorded_at=_now())
        sealed, tip = seal(board, tip, command, drafts, salts=salts(len(drafts)), now=_now())
        rows += sealed
        if len(rows) >= size:
            yield Built(rows, events, tip)
            rows, events = [], []
    if rows:
        yield Built(rows, events, tip)


def commands(spec: Spec, board: str) -> Iterator[tuple[Command, list[Draft]]]:
    """The commands behind the log, and what each of them appends."""
    place = 0
    for turn in range(spec.writes):
        index, revision = turn % spec.keys, turn // spec.keys + 1
        agent = agent_name(index % spec.agents)
        prepared = prepare(write(key_name(index), revision), agent=agent)
        drafts = [_written(prepared, key_name(index), revision)]
        if not place:
            drafts.insert(0, Draft(opening(board)))
        place += 1
        yield _command(agent, prepared, place), drafts
    for reader in range(spec.readers):
        for body in full_read(spec.keys):
            place += 1
            prepared = prepare(ask.Read(all=True), agent=agent_name(reader))
            yield _command(agent_name(reader), prepared, place), [Draft(body)]


def full_read(keys: int) -> Iterator[kinds.BoardRead]:
    """The pages of one full read of a board whose keys are the first `keys`."""
    names = sorted(key_name(index) for index in range(keys))
    after: str | None = None
    for page, at in enumerate(range(0, keys, PAGE), 1):
        served = names[at : at + PAGE]
        through = served[-1] if at + PAGE < keys else None
        yield kinds.BoardRead(
            range=kinds.KeyRange(after=after, through=through), head=keys, page=page, served=len(served)
        )
        after = served[-1]


def fold(spec: Spec) -> tuple[Board, Tip]:
    """The board that the log of `spec` folds into, and the log's end."""
    board, tip = Board(), GENESIS
    for built in build(spec, size=FOLDED):
        for event in built.events:
            evolve(board, event)
        tip = built.tip
    return board, tip


def salts(count: int) -> list[bytes]:
    pool = os.urandom(SALT_BYTES * count)
    return [pool[at : at + SALT_BYTES] for at in range(0, len(pool), SALT_BYTES)]


def _written(prepared: Prepared, key: str, revision: int) -> Draft:
    (one,) = prepared.writes
    return Draft(kinds.EntryWritten(payload_hash=one.payload_hash, value=Raw(one.raw)), key, revision)


def _command(agent: str, prepared: Prepared, place: int) -> Command:
    return Command(f"agent:{agent}", f"~bench{place:010x}", prepared.canonical)


def _now() -> int:
    return time.time_ns() // 1000
