"""Logs to verify: rows at hand, what an intruder does to them, and who reads them back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, cast

import msgspec

from blackboard import canonical
from blackboard.audit.checkpoint import Checkpoint
from blackboard.audit.merkle import Tree
from blackboard.audit.verifying import VerifiedBoard, verify_board
from blackboard.cli.output import json_text
from blackboard.errors import RevisionMissing, WriteRejected
from blackboard.events.envelope import Event, Row, Tip, tip_of, unseal
from blackboard.messages.replies import EventView
from blackboard.service import event_view
from blackboard.store.contract import Store
from tests.pure.driver import NAME, World
from tests.pure.records import amount_over, policy


def incident(at_format: int | None = None) -> World:
    """An agent is compacted, refused, and blocked; every kind of decision of the gate is in the log."""
    world = World({"coordinator": "planner"}, at_format=at_format)
    planner = world.agent("planner", writes=["*"], records=["policy"])
    executor, verifier = world.agents("executor", "verifier")
    planner.adds(policy("cap", amount_over(5000), scope="refunds.create"), turn=1)
    for task in "ABC":
        planner.writes(f"task/{task}", 1, {"status": "pending"}, turn=1)
    executor.reads_all(turn=1)
    executor.reads_records(turn=1)
    executor.writes("task/A", 2, {"status": "complete"}, turn=1, confidence=0.9)
    executor.writes(
        "task/B", 2, {"status": "failed", "note": "läuft \u202e", "cost": [1e21, 2.5e-7, 0.1]}, turn=1
    )
    executor.says("A is complete (entry:7), B failed", turn=1)
    executor.certifies("refunds.create", turn=1)
    executor.compacts(cause="summary", kept=[], turn=2)
    for revision in (1, 2, 3, 7, None):
        with suppress(WriteRejected, RevisionMissing):
            executor.writes("task/B", revision, {"status": "complete"}, turn=2)
    executor.checks("refunds.create", {"amount": 8400}, turn=2)
    proposal = executor.proposes({"key": "task/A", "revision": 3, "value": {"status": "running"}}, turn=2)
    with suppress(WriteRejected):
        planner.accepts(proposal.proposal, turn=2)
    verifier.updates("task/C", {"status": "running"})
    executor.reads_all(limit=2, turn=3)
    executor.reads_records(turn=3)
    executor.checks("refunds.create", {"amount": 84.5}, turn=3)
    executor.writes("task/B", 3, {"status": "running"}, turn=3)
    executor.says("B runs again", turn=3)
    verifier.says("good")
    executor.ends_turn(3)
    return world


def going_back(count: int) -> list[Row]:
    """A log in which time goes back so often."""
    world = World()
    for number in range(count + 1):
        world.agent("executor").says(f"step {number}")
    return chained([row._replace(recorded_at=9_999 - row.seq) for row in world.rows])


class Bare:
    """Rows for a store, as a table would give them, whatever was done to them."""

    def __init__(self, rows: Sequence[Row], slices: int = 1000) -> None:
        self.rows = rows
        self._slices = slices

    async def tip(self, board: str) -> Tip | None:
        own = [row for row in self.rows if row.board == board]
        return tip_of(own[-1]) if own else None

    async def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        own = [row for row in self.rows if row.board == board and (through is None or row.seq <= through)]
        for at in range(0, len(own), self._slices):
            yield own[at : at + self._slices]

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        return next((unseal(r) for r in self.rows if (r.key, r.revision) == (key, revision)), None)

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        own = [row for row in self.rows if row.key == key and row.seq <= seq]
        return unseal(own[-1]) if own else None

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        return []


async def verified(
    rows: Sequence[Row], *checkpoints: Checkpoint, slices: int = 1000, judge: bool = True
) -> VerifiedBoard:
    """What verifying these rows comes to."""
    head = max((row.seq for row in rows if row.board == NAME), default=0)
    store = cast(Store, Bare(rows, slices))
    return await verify_board(store, NAME, head, checkpoints, judge=judge)


def root_of(rows: Sequence[Row]) -> bytes:
    tree = Tree()
    tree.extend([row.hash for row in rows])
    return tree.root()


def checkpoint_of(rows: Sequence[Row]) -> Checkpoint:
    return Checkpoint(NAME, len(rows), root_of(rows))


def altered(row: Row, member: str, value: Any) -> Row:
    """The row with one member of any type."""
    return Row._make(value if name == member else was for name, was in row._asdict().items())


def changed(row: Row, **members: Any) -> Row:
    """The row with other members, and with the digest of its body where that is one."""
    row = row._replace(**members)
    if row.body is not None and row.salt is not None and "body_digest" not in members:
        row = row._replace(body_digest=canonical.body_digest(row.salt, row.body.encode()))
    return row


def chained(rows: Sequence[Row]) -> list[Row]:
    """The same rows, numbered and with their hashes made anew: what an intruder does who knows how."""
    found: list[Row] = []
    previous = canonical.GENESIS
    for seq, row in enumerate(rows, 1):
        numbered = row._replace(seq=seq)
        previous = canonical.chain(previous, *numbered[:11], numbered.body_digest)
        found.append(numbered._replace(hash=previous))
    return found


def forged(rows: Sequence[Row], seq: int, **members: Any) -> list[Row]:
    """The log with one event changed and all hashes made anew."""
    return chained([changed(row, **members) if row.seq == seq else row for row in rows])


def seqs_of(rows: Sequence[Row], kind: str) -> list[int]:
    return [row.seq for row in rows if row.kind == kind]


def line_of(row: Row, *, printed: bool = False) -> str:
    """The event as a server sends it, or `printed`: as it has been through a client and to a terminal."""
    sent = msgspec.json.encode(event_view(row))
    return json_text(msgspec.json.decode(sent, type=EventView)) if printed else sent.decode()
