"""The store over one PostgreSQL database: connections that append, and others that read."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from blackboard.config import Settings
from blackboard.errors import NotAllowed
from blackboard.events.envelope import Event, Row, Tip, unseal
from blackboard.messages.limits import MAX_INTEGER
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.store import folding, reading
from blackboard.store.contract import BoardRow, CommandTaken, Hear, Loaded, Locked, SeqTaken, StoredToken
from blackboard.store.folding import Saved, Span, Trusted, Whole
from blackboard.store.postgresql import health, locking, writing
from blackboard.store.postgresql.address import Address
from blackboard.store.postgresql.append import append
from blackboard.store.postgresql.connecting import Connection, Pool
from blackboard.store.postgresql.dialect import SQL, PostgresqlStatements
from blackboard.store.postgresql.faults import DRIVER_ERRORS, RETRIED, taken, translated
from blackboard.store.postgresql.listening import Hints
from blackboard.store.postgresql.reading import commands_taken, run, trusted, whole
from blackboard.store.postgresql.retrying import Retrying
from blackboard.store.reading import Reading
from blackboard.store.snapshots import encoded
from blackboard.store.tokens import token_from_columns, token_to_columns

P = ParamSpec("P")
T = TypeVar("T")

SCAN_ROWS = 1_000


class PostgresqlStore:
    """See `contract.Store`."""

    def __init__(self, address: Address, settings: Settings, *, read_only: bool) -> None:
        self.url = address.shown
        self.shared = True
        self.commits_in_loop = False
        self.retries: Counter[str] = Counter()
        self._read_only = read_only
        self._retrying = Retrying(self.url, self.retries)
        self._hints = Hints(address, settings)
        self._writing = Pool(address, settings, "write", settings.write_connections)
        self._reading = Pool(address, settings, "read", settings.read_connections)

    async def append(self, rows: Sequence[Row]) -> None:
        """See `contract.Store.append`."""
        if rows:
            self._may_write()
            once = partial(self._writing.run, append, rows)
            # The same rows may go in again: where somebody was faster, their seq is taken.
            await self._commit(partial(self._retrying.repeat, once), rows)

    async def _commit(self, work: Callable[[], Awaitable[None]], rows: Sequence[Row]) -> None:
        try:
            await work()
        except DRIVER_ERRORS as error:
            raise await self._refused(error, rows) from error
        self._hints.tell(rows[0].board)

    async def _refused(self, error: BaseException, rows: Sequence[Row]) -> Exception:
        """What an append raises. Who lost against another decides again, on what that one has stored."""
        if self._retrying.count(error) in RETRIED:
            return SeqTaken()
        match taken(error):
            case "seq":
                return SeqTaken()
            case "command":
                return CommandTaken(await self._commands_taken(rows))
            case None:
                return translated(error, self.url, "write")

    async def _commands_taken(self, rows: Sequence[Row]) -> list[tuple[str, str]]:
        pairs = [(row.actor, row.command_id) for row in rows if row.request_digest is not None]
        stored = await self._read(commands_taken, rows[0].board, pairs)
        return stored or sorted({pair for pair in pairs if pairs.count(pair) > 1})

    @asynccontextmanager
    async def lock(self, board: str) -> AsyncIterator[Locked]:
        """See `contract.Store.lock`."""
        self._may_write()
        held = await self._retrying.run("read", partial(locking.hold, self._writing, board, self._commit))
        if held is None:
            yield self
            return
        try:
            yield held
        finally:
            await asyncio.shield(self._writing.spawn(held.end()))

    async def listen(self, hear: Hear) -> None:
        """See `contract.Store.listen`."""
        await self._hints.listen(hear)

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
        return await self._read(reading.rows, Span(board, after, through, limit), equal)

    async def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        """See `contract.Store.scan`."""
        last = MAX_INTEGER if through is None else through
        while after < last:
            rows = await self._read(reading.rows, Span(board, after, last, SCAN_ROWS), {})
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
        await self._write(writing.save, name, fingerprint, tip.seq, digest=digest, parts=parts)

    async def check(self) -> dict[str, str | int | bool]:
        """See `contract.Store.check`."""
        return await self._retrying.run("read", partial(health.check, self._reading, self._writing))

    async def close(self) -> None:
        """See `contract.Store.close`."""
        await self._writing.close()
        await self._hints.close()
        await self._reading.close()

    # What `folding.load` needs.

    async def tip_at(self, board: str, seq: int) -> Tip | None:
        """See `folding.Log`."""
        return await self._read(reading.tip_at, board, seq)

    async def trusted(self, span: Span, fold: Callable[[Sequence[Trusted]], None]) -> None:
        """See `folding.Log`."""
        fold(await self.ask(lambda connection: trusted(connection, span)))

    async def whole(self, span: Span, fold: Callable[[Sequence[Whole]], None]) -> None:
        """See `folding.Log`."""
        fold(await self.ask(lambda connection: whole(connection, span)))

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        """See `folding.Log`."""
        return await self._read(reading.saved, board, fingerprint, seq)

    async def saved_at(self, board: str, fingerprint: str, seq: int) -> Saved | None:
        """See `folding.Log`."""
        return await self._read(reading.snapshot, board, fingerprint, seq)

    async def release_of(self, board_format: int) -> str | None:
        """See `folding.Log`."""
        return await self._read(reading.release_of, board_format)

    async def ask(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """What `work` finds on a connection that reads. Raises what `faults.translated` makes of errors."""
        return await self._retrying.run("read", partial(self._reading.run, work))

    async def _read(
        self,
        function: Callable[Concatenate[PostgresqlStatements, P], Reading[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def attempt() -> Awaitable[T]:
            return self._reading.run(run, function(SQL, *args, **kwargs))

        return await self._retrying.run("read", attempt)

    async def _write(
        self,
        function: Callable[Concatenate[Connection, P], Awaitable[T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        self._may_write()
        work = partial(self._writing.run, function, *args, **kwargs)
        return await self._retrying.run("write", work)

    def _may_write(self) -> None:
        if self._read_only:
            raise NotAllowed(f"{self.url} is open for reading only")
