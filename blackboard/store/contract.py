"""What a store is: the log in a database, and nothing that decides.

One contract suite (`tests/contract/`) runs over every implementation. All methods may raise
`Unavailable` (the database cannot answer; nothing was acknowledged), `IntegrityFailure` (what is stored
is damaged) and `Malformed` (text with a lone surrogate, an integer beyond 64 bits). Reads see what is
committed, never less than this store has appended, and do not wait for the commit in flight (except
where `commits_in_loop`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
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
        super().__init__(f"{len(commands) or 'some'} command ids are taken: {list(commands[:3])}")
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


class Locked(Protocol):
    """A board that nobody else can append to, while the block lasts that it was given for."""

    async def append(self, rows: Sequence[Row]) -> None:
        """`Store.append` of this board's rows, once; the lock ends with its commit."""


Hear = Callable[[str | None], None]
"""Told that another process appended to this board; None: it may have been any, or none."""


class Store(Protocol):
    """The log of many boards."""

    url: str
    """What names the database, without a password."""

    shared: bool
    """Whether other processes may append to this database while this store is open."""

    retries: Counter[str]
    """By SQLSTATE: what was tried again here, or handed back as a conflict to be decided again."""

    commits_in_loop: bool
    """Whether `append` may hold up the event loop while it commits, where that is faster. False unless the
    owner of a loop that has nothing else to do says so."""

    async def append(self, rows: Sequence[Row]) -> None:
        """Append the rows of one board, which continue its tip, in one commit; no rows: do nothing.

        Durable when it returns. The board's row in `boards` is made with its first event. Raises
        `SeqTaken` or `CommandTaken` (nothing stored; either one where both are true), or
        `OutcomeUnknown` where the commit may have happened. A cancelled caller does not cancel the
        commit. After any error the store is usable again as soon as its cause has gone.
        """

    def lock(self, board: str) -> AbstractAsyncContextManager[Locked]:
        """Keep everybody else from appending to the board until the block ends; waits for its turn.

        Reads of this store inside the block see all that is committed. A board that does not exist cannot
        be locked: `Locked.append` is then the ordinary one. Raises `Unavailable`; `StoreBusy` where the
        lock was not to be had in time.
        """

    async def listen(self, hear: Hear) -> None:
        """From now on call `hear` in this loop when another process has appended. At most a hint: calls
        may be late, doubled or missing. Does nothing where the database is not shared.
        """

    async def tip(self, board: str) -> Tip | None:
        """The end of the board's log, None where there is no such board."""

    async def load(self, board: str, at: int | None = None, *, verify: bool = False) -> Loaded | None:
        """Fold the board up to `at` (default: its head) from the newest usable snapshot and the tail.

        The only such path; None where there is no such board. The caller owns the board that it gets.
        `verify` folds from the first event, whatever snapshots there are, and recomputes every digest
        and the chain. Raises `BoardTooNew`, `BeyondHead`, `IntegrityFailure` (with the members `board`
        and `seq`: the event that is missing, does not decode, does not fold or does not fit the chain).
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
        """Rows with `after < seq <= through`, oldest first, at most `limit`.

        `agent` is an agent's id: rows whose actor is `agent:<id>`. `key` finds `entry.written` alone.
        """

    def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        """The same rows in slices of at most 10k, without holding a transaction or the loop."""

    async def events(self, board: str, seqs: Sequence[int]) -> dict[int, Event]:
        """Decoded events by seq; seqs that do not exist are left out."""

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
        """Keep a snapshot of the board, whose head is `tip.seq`; older ones of the same fingerprint go.

        Captures the board before it first gives way to others; the board may move on from then.
        """

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        """Seqs at or before `seq` at which snapshots of this fingerprint stand, newest first."""

    async def check(self) -> dict[str, str | int | bool]:
        """What `doctor` and `/readyz` show: engine, version, durability, schema revision, owner."""

    async def close(self) -> None:
        """Finish the commit in flight, then let go of the database. Idempotent."""
