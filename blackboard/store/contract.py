"""What a store is: the log in a database, and nothing that decides.

One contract suite (`tests/contract/`) runs over every implementation. All methods may raise
`Unavailable` (the database cannot answer; nothing was acknowledged).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from blackboard.events.envelope import Event, Row, Tip
from blackboard.messages.replies import TokenReply
from blackboard.projections.board import Board


class SeqTaken(Exception):
    """Somebody else has appended at this seq: reload, decide again. Never reaches a user."""


class CommandTaken(Exception):
    """The actor has used this command id on this board: its first outcome is in the log.

    `commands` are the (actor, command_id) pairs of the batch that exist, where the store knows them.
    Never reaches a user.
    """

    def __init__(self, commands: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(f"command ids taken: {list(commands)}")
        self.commands = tuple(commands)


class Loaded(NamedTuple):
    """A board folded up to `tip.seq`, and how it came about (`replayed` events after a snapshot)."""

    board: Board
    tip: Tip
    snapshot_seq: int
    replayed: int


class BoardRow(NamedTuple):
    """One board of the database."""

    name: str
    opened_at: int
    head: int


class StoredToken(NamedTuple):
    """A token as stored: the SHA-256 of its secret (32 bytes), never the secret."""

    digest: bytes
    reply: TokenReply


class Store(Protocol):
    """The log of many boards."""

    url: str

    async def append(self, rows: Sequence[Row]) -> None:
        """Append the rows of one board, which continue its tip, in one commit.

        Durable when it returns. The board's row in `boards` is made with its first event. Raises
        `SeqTaken` or `CommandTaken` (nothing stored), or `OutcomeUnknown` where the commit may have
        happened. A cancelled caller does not cancel the commit.
        """

    async def tip(self, board: str) -> Tip | None:
        """The end of the board's log, None where there is no such board."""

    async def load(self, board: str, at: int | None = None) -> Loaded | None:
        """Fold the board up to `at` (default: its head) from the newest usable snapshot and the tail.

        The only such path. Raises `BoardTooNew`, `IntegrityFailure`.
        """

    async def rows(
        self,
        board: str,
        after: int = 0,
        limit: int = 1000,
        *,
        kind: str | None = None,
        agent: str | None = None,
        key: str | None = None,
        through: int | None = None,
    ) -> list[Row]:
        """Rows with `after < seq <= through`, oldest first, at most `limit`. `agent` filters by actor."""

    def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        """The same rows in slices of at most 10k, without holding a transaction or the loop."""

    async def events(self, board: str, seqs: Sequence[int]) -> dict[int, Event]:
        """Decoded events by seq."""

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        """The `entry.written` of exactly this revision."""

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        """The newest `entry.written` of the key at or before `seq`."""

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        """The rows of one command, in order; empty where the id is free."""

    async def boards(self) -> list[BoardRow]:
        """Every board, by name."""

    async def put_token(self, token: StoredToken) -> None:
        """Store a new token, or replace the one with the same id."""

    async def token(self, digest: bytes) -> StoredToken | None:
        """The token with this digest."""

    async def tokens(self) -> list[StoredToken]:
        """Every token, oldest first."""

    async def snapshot(self, board: Board, tip: Tip) -> None:
        """Keep a snapshot of the board at `tip`; older ones of the same fingerprint go."""

    async def check(self) -> dict[str, str | int | bool]:
        """What `doctor` and `/readyz` show: engine, version, durability, schema revision, owner."""

    async def close(self) -> None:
        """Finish the commit in flight, then let go of the database. Idempotent."""
