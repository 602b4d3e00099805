"""The store over one SQLite file: a writing connection, and two that read what is committed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from blackboard.config import Settings
from blackboard.errors import NotAllowed
from blackboard.events.envelope import Event, Row, Tip, unseal
from blackboard.messages.limits import MAX_INTEGER
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.store import folding, reading
from blackboard.store.alone import Alone
from blackboard.store.contract import BoardRow, CommandTaken, Loaded, SeqTaken, StoredToken
from blackboard.store.folding import Saved, Span, Trusted, Whole
from blackboard.store.reading import Reading
from blackboard.store.snapshots import encoded
from blackboard.store.sqlite import health, writing
from blackboard.store.sqlite.append import Appending
from blackboard.store.sqlite.driver import Lane
from blackboard.store.sqlite.faults import taken, translated
from blackboard.store.sqlite.lock import OwnerLock
from blackboard.store.sqlite.place import Place
from blackboard.store.sqlite.reading import run, trusted, whole
from blackboard.store.statements import Statements
from blackboard.store.tokens import token_from_columns, token_to_columns

P = ParamSpec("P")
T = TypeVar("T")

SCAN_ROWS = 1_000


class SqliteStore(Alone):
    """See `contract.Store`. `lock` None: read-only, beside the owner."""

    commits_in_loop = False

    def __init__(self, path: Path, settings: Settings, lock: OwnerLock | None) -> None:
        super().__init__()
        self.shared = lock is None  # the owner appends
        self.url = f"sqlite:///{path}"
        self._path = path
        self._lock = lock
        self._place = Place(path, path.stat())
        self._writing = Lane(self._place, settings.durability, "write")
        self._reading = Lane(self._place, settings.durability, "read")
        self._scanning = Lane(self._place, settings.durability, "read")
        self._appending = Appending(self._place)
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open the connections that are always needed. Raises what opening raises; close then as well."""
        if self._lock is not None:
            await self._writing.run(health.require_wal, self._path)
        await self._reading.open()

    async def append(self, rows: Sequence[Row]) -> None:
        """See `contract.Store.append`."""
        if not rows:
            return
        self._may_write()
        run = self._writing.run_here if self.commits_in_loop else self._writing.run
        try:
            await run(self._appending.append, rows)
        except sqlite3.IntegrityError as error:
            violated = taken(error)
            if violated is None:
                raise translated(error, self._path, "write") from error
            if violated == "seq":
                raise SeqTaken from error
            raise CommandTaken(await self._commands_taken(rows)) from error

    async def _commands_taken(self, rows: Sequence[Row]) -> list[tuple[str, str]]:
        pairs = [(row.actor, row.command_id) for row in rows if row.request_digest is not None]
        stored = await self._read(reading.existing, rows[0].board, pairs)
        return stored or sorted({pair for pair in pairs if pairs.count(pair) > 1})

    async def tip(self, board: str) -> Tip | None:
        """See `contract.Store.tip`."""
        return await self._read(reading.tip, board)

    async def load(self, board: str, at: int | None = None, *, verify: bool = False) -> Loaded | None:
        """See `contract.Store.load`."""
        return await folding.load(self, board, at, verify=verify)

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
        """See `contract.Store.rows`."""
        wanted = {"kind": kind, "actor": None if agent is None else f"agent:{agent}", "key": key}
        equal = {name: value for name, value in wanted.items() if value is not None}
        through = MAX_INTEGER if through is None else through
        lane = self._scanning if equal else self._reading
        return await lane.run(run, reading.rows, Span(board, after, through, limit), equal)

    async def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        """See `contract.Store.scan`."""
        last = MAX_INTEGER if through is None else through
        while after < last:
            rows = await self._scanning.run(run, reading.rows, Span(board, after, last, SCAN_ROWS), {})
            if not rows:
                return
            yield rows
            after = rows[-1].seq

    async def events(self, board: str, seqs: Sequence[int]) -> dict[int, Event]:
        """See `contract.Store.events`."""
        return {row.seq: unseal(row) for row in await self._read(reading.at, board, list(seqs))}

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        """See `contract.Store.entry`."""
        row = await self._read(reading.entry, board, key, revision)
        return None if row is None else unseal(row)

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        """See `contract.Store.entry_as_of`."""
        row = await self._read(reading.entry_as_of, board, key, seq)
        return None if row is None else unseal(row)

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        """See `contract.Store.command`."""
        return await self._read(reading.command, board, actor, command_id)

    async def boards(self) -> list[BoardRow]:
        """See `contract.Store.boards`."""
        return await self._read(reading.boards)

    async def put_token(self, token: StoredToken) -> None:
        """See `contract.Store.put_token`."""
        await self._write(writing.put_token, token_to_columns(token))

    async def token(self, digest: bytes) -> StoredToken | None:
        """See `contract.Store.token`."""
        found = await self._read(reading.token, digest)
        return token_from_columns(found) if found is not None else None

    async def tokens(self) -> list[StoredToken]:
        """See `contract.Store.tokens`."""
        return [token_from_columns(columns) for columns in await self._read(reading.tokens)]

    async def snapshot(self, board: Board, tip: Tip) -> None:
        """See `contract.Store.snapshot`."""
        name, captured, fingerprint = board.name, snapshot.capture(board), snapshot.FINGERPRINT
        digest, parts = await encoded(captured, tip)
        await self._write(writing.drop_snapshot, name, fingerprint, tip.seq)
        for number, part in enumerate(parts):
            await self._write(writing.save_part, name, fingerprint, tip.seq, number, part)
        size = sum(map(len, parts))
        await self._write(writing.save_board, name, fingerprint, tip.seq, digest, len(parts), size)
        await self._write(writing.drop_older_snapshots, name, fingerprint, tip.seq)

    async def check(self) -> dict[str, str | int | bool]:
        """See `contract.Store.check`."""
        lane = self._reading if self._lock is None else self._writing
        found = await lane.ask(health.look)
        return found | health.file(self._place) | {"owner": self._lock is not None}

    async def close(self) -> None:
        """See `contract.Store.close`."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            for lane in (self._scanning, self._reading, self._writing):
                await lane.close()
        finally:
            if self._lock is not None:
                self._lock.release()

    # What `folding.load` needs.

    async def tip_at(self, board: str, seq: int) -> Tip | None:
        """See `folding.Log`."""
        return await self._read(reading.tip_at, board, seq)

    async def trusted(self, span: Span, fold: Callable[[Sequence[Trusted]], None]) -> None:
        """See `folding.Log`."""
        await self._scanning.run(trusted, span, fold)

    async def whole(self, span: Span, fold: Callable[[Sequence[Whole]], None]) -> None:
        """See `folding.Log`."""
        await self._scanning.run(whole, span, fold)

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        """See `folding.Log`."""
        return await self._read(reading.saved, board, fingerprint, seq)

    async def saved_at(self, board: str, fingerprint: str, seq: int) -> Saved | None:
        """See `folding.Log`."""
        return await self._scanning.run(run, reading.snapshot, board, fingerprint, seq)

    async def release_of(self, board_format: int) -> str | None:
        """See `folding.Log`."""
        return await self._read(reading.release_of, board_format)

    async def _read(
        self,
        function: Callable[Concatenate[Statements, P], Reading[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        return await self._reading.run(run, function, *args, **kwargs)

    async def _write(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        self._may_write()
        try:
            return await self._writing.run(function, *args, **kwargs)
        except sqlite3.IntegrityError as error:
            raise translated(error, self._path, "write") from error

    def _may_write(self) -> None:
        if self._lock is None:
            raise NotAllowed(f"{self._path} is open for reading only: its owner writes")
