"""Logs to put into stores: rows that are sealed and fold like real ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec

from blackboard import canonical
from blackboard.events import kinds
from blackboard.events.envelope import GENESIS, SALT_BYTES, Command, Draft, Row, Tip, seal
from blackboard.events.kinds import EventBody
from blackboard.events.policy import Policy
from blackboard.store.contract import Loaded, Store

BOARD = "release"
EXECUTOR = "agent:executor"
NOON = 1_750_000_000_000_000


class Log:
    """One board's log in the making: what it seals continues what it sealed before."""

    def __init__(self, board: str = BOARD, tip: Tip = GENESIS, *, by: str = "command") -> None:
        self.board = board
        self.by = by
        self.tip = tip
        self.revisions: dict[str, int] = {}
        self._ids = count(1)

    def seal(
        self,
        *drafts: Draft,
        actor: str = EXECUTOR,
        command_id: str | None = None,
        turn: int | None = None,
        now: int | None = None,
    ) -> list[Row]:
        """The rows of one command."""
        named = command_id if command_id is not None else f"{self.by}-{next(self._ids)}"
        salts = [f"{self.tip.seq + place:0{SALT_BYTES}}".encode() for place in range(len(drafts))]
        rows, self.tip = seal(
            self.board,
            self.tip,
            Command(actor, named, named.encode(), turn),
            drafts,
            salts=salts,
            now=NOON + self.tip.seq if now is None else now,
        )
        return rows

    def open(self, board_format: int = kinds.FORMAT) -> list[Row]:
        opened = kinds.BoardOpened(name=self.board, policy=Policy(), format=board_format)
        return self.seal(Draft(opened), actor="operator:ops")

    def draft(self, key: str, value: Any = "running", *, revision: int | None = None) -> Draft:
        """The next write of a key."""
        number = self.revisions.get(key, 0) + 1 if revision is None else revision
        self.revisions[key] = number
        raw = canonical.encode(value)
        hashed = canonical.payload_hash("executor", key, number, raw).hex()
        return Draft(kinds.EntryWritten(payload_hash=hashed, value=msgspec.Raw(raw)), key, number)

    def write(self, key: str, value: Any = "running", **rest: Any) -> list[Row]:
        return self.seal(self.draft(key, value), **rest)

    def say(self, text: str, **rest: Any) -> list[Row]:
        return self.seal(Draft(kinds.MessagePosted(text=text)), **rest)

    def body(self, body: EventBody, **rest: Any) -> list[Row]:
        return self.seal(Draft(body), **rest)

    def writes(self, number: int, keys: int = 10) -> list[Row]:
        """So many writes, a command each."""
        return [
            row for n in range(number) for row in self.write(f"task/{n % keys}", {"status": "open", "n": n})
        ]


def opened(board: str = BOARD) -> tuple[Log, list[Row]]:
    """A log and the row that opens it."""
    log = Log(board)
    return log, log.open()


async def filled(store: Store, number: int, board: str = BOARD, keys: int = 10) -> tuple[Log, list[Row]]:
    """A board in the store with so many writes; its log and all its rows."""
    log, rows = opened(board)
    rows += log.writes(number, keys)
    await store.append(rows)
    return log, rows


async def everything(store: Store, board: str = BOARD) -> list[Row]:
    """Every row of a board, by `scan`."""
    return [row async for rows in store.scan(board) for row in rows]


async def loaded(store: Store, board: str = BOARD, at: int | None = None, *, verify: bool = False) -> Loaded:
    """The board, which exists."""
    found = await store.load(board, at, verify=verify)
    assert found is not None
    return found


def values(of: Loaded) -> dict[str, Any]:
    """The ledger as plain data."""
    return {key: json.loads(entry.value) for key, entry in of.board.ledger.entries.items()}


def seqs(rows: Sequence[Row]) -> list[int]:
    return [row.seq for row in rows]
