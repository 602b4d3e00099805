"""The store in memory: for tests, for trying things out, and as the plainest reading of the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from blackboard import __version__
from blackboard.errors import Unavailable
from blackboard.events.envelope import Event, Row, Tip, tip_of, unseal
from blackboard.events.kinds import FORMAT
from blackboard.messages.limits import MAX_INTEGER
from blackboard.projections import snapshot
from blackboard.projections.board import Board
from blackboard.store import folding
from blackboard.store.alone import Alone
from blackboard.store.contract import BoardRow, CommandTaken, Loaded, SeqTaken, StoredToken
from blackboard.store.folding import Saved, Span, Trusted, Whole
from blackboard.store.snapshots import encoded

SCAN_ROWS = 1_000


class MemoryStore(Alone):
    """See `contract.Store`. Everything is gone with the last reference."""

    commits_in_loop = False

    def __init__(self, url: str = "memory://") -> None:
        super().__init__()
        self.url = url
        self._closed = False
        self._logs: dict[str, list[Row]] = {}
        self._commands: dict[tuple[str, str, str], int] = {}
        self._entries: dict[tuple[str, str], dict[int, Row]] = {}
        self._snapshots: dict[tuple[str, str], tuple[int, Saved]] = {}
        self._tokens: dict[str, StoredToken] = {}

    async def append(self, rows: Sequence[Row]) -> None:
        """See `contract.Store.append`."""
        self._open()
        if rows:
            self._take(rows)
            await asyncio.sleep(0)

    def _take(self, rows: Sequence[Row]) -> None:
        log = self._logs.get(rows[0].board, [])
        taken = self._commands_taken(rows)
        if taken:
            raise CommandTaken(taken)
        if rows[0].seq != len(log) + 1 or self._revisions_taken(rows):
            raise SeqTaken
        self._logs.setdefault(rows[0].board, log).extend(rows)
        for row in rows:
            self._index(row)

    def _revisions_taken(self, rows: Sequence[Row]) -> bool:
        written = [(row.key, row.revision) for row in rows if row.key is not None]
        return len(written) > len(set(written)) or any(
            row.revision in self._entries.get((row.board, row.key or ""), {}) for row in rows
        )

    def _commands_taken(self, rows: Sequence[Row]) -> list[tuple[str, str]]:
        pairs = [(row.actor, row.command_id) for row in rows if row.request_digest is not None]
        board = rows[0].board
        stored = [pair for pair in pairs if (board, *pair) in self._commands]
        return stored or sorted({pair for pair in pairs if pairs.count(pair) > 1})

    def _index(self, row: Row) -> None:
        if row.request_digest is not None:
            self._commands[row.board, row.actor, row.command_id] = row.seq
        if row.key is not None and row.revision is not None:
            self._entries.setdefault((row.board, row.key), {})[row.revision] = row

    async def tip(self, board: str) -> Tip | None:
        """See `contract.Store.tip`."""
        log = self._log(board)
        return tip_of(log[-1]) if log else None

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
        actor = None if agent is None else f"agent:{agent}"
        found = [
            row
            for row in self._log(board)[after:through]
            if (kind is None or row.kind == kind)
            and (actor is None or row.actor == actor)
            and (key is None or row.key == key)
        ]
        return found[:limit]

    async def scan(self, board: str, after: int = 0, through: int | None = None) -> AsyncIterator[list[Row]]:
        """See `contract.Store.scan`."""
        last = MAX_INTEGER if through is None else through
        while rows := await self._slice(Span(board, after, last, SCAN_ROWS)):
            yield rows
            after = rows[-1].seq

    async def events(self, board: str, seqs: Sequence[int]) -> dict[int, Event]:
        """See `contract.Store.events`."""
        log = self._log(board)
        return {seq: unseal(log[seq - 1]) for seq in seqs if 0 < seq <= len(log)}

    async def entry(self, board: str, key: str, revision: int) -> Event | None:
        """See `contract.Store.entry`."""
        self._open()
        row = self._entries.get((board, key), {}).get(revision)
        return None if row is None else unseal(row)

    async def entry_as_of(self, board: str, key: str, seq: int) -> Event | None:
        """See `contract.Store.entry_as_of`."""
        self._open()
        written = self._entries.get((board, key), {}).values()
        row = next((row for row in reversed(written) if row.seq <= seq), None)
        return None if row is None else unseal(row)

    async def command(self, board: str, actor: str, command_id: str) -> list[Row]:
        """See `contract.Store.command`."""
        log = self._log(board)
        first = self._commands.get((board, actor, command_id))
        if first is None:
            return []
        last = first
        while last < len(log) and log[last].request_digest is None:
            last += 1
        return log[first - 1 : last]

    async def boards(self) -> list[BoardRow]:
        """See `contract.Store.boards`."""
        self._open()
        return [BoardRow(name, log[0].recorded_at, len(log)) for name, log in sorted(self._logs.items())]

    async def put_token(self, token: StoredToken) -> None:
        """See `contract.Store.put_token`."""
        self._open()
        self._tokens[token.reply.id] = token

    async def token(self, digest: bytes) -> StoredToken | None:
        """See `contract.Store.token`."""
        self._open()
        return next((token for token in self._tokens.values() if token.digest == digest), None)

    async def tokens(self) -> list[StoredToken]:
        """See `contract.Store.tokens`."""
        self._open()
        return sorted(self._tokens.values(), key=lambda token: (token.reply.created_at, token.reply.id))

    async def snapshot(self, board: Board, tip: Tip) -> None:
        """See `contract.Store.snapshot`."""
        self._open()
        name, captured = board.name, snapshot.capture(board)
        digest, parts = await encoded(captured, tip)
        self._snapshots[name, snapshot.FINGERPRINT] = (tip.seq, Saved(digest, b"".join(parts)))

    async def check(self) -> dict[str, str | int | bool]:
        """See `contract.Store.check`."""
        self._open()
        return {"engine": "memory", "version": __version__, "durable": False, "owner": True}

    async def close(self) -> None:
        """See `contract.Store.close`."""
        self._closed = True

    # What `folding.load` needs.

    async def tip_at(self, board: str, seq: int) -> Tip | None:
        """See `folding.Log`."""
        log = self._log(board)
        return tip_of(log[seq - 1]) if 0 < seq <= len(log) else None

    async def trusted(self, span: Span, fold: Callable[[Sequence[Trusted]], None]) -> None:
        """See `folding.Log`."""
        rows = await self._slice(span)
        fold([(*row[1:7], row.request_digest is not None, *row[8:12]) for row in rows])

    async def whole(self, span: Span, fold: Callable[[Sequence[Whole]], None]) -> None:
        """See `folding.Log`."""
        fold(await self._slice(span))

    async def _slice(self, span: Span) -> list[Row]:
        await asyncio.sleep(0)
        return self._log(span.board)[span.after : min(span.through, span.after + span.limit)]

    async def saved(self, board: str, fingerprint: str, seq: int) -> list[int]:
        """See `folding.Log`."""
        found = self._snapshots.get((board, fingerprint))
        return [found[0]] if found is not None and found[0] <= seq else []

    async def saved_at(self, board: str, fingerprint: str, seq: int) -> Saved | None:
        """See `folding.Log`."""
        found = self._snapshots.get((board, fingerprint))
        return found[1] if found is not None and found[0] == seq else None

    async def release_of(self, board_format: int) -> str | None:
        """See `folding.Log`."""
        return __version__ if board_format == FORMAT else None

    def _log(self, board: str) -> list[Row]:
        self._open()
        return self._logs.get(board, [])

    def _open(self) -> None:
        if self._closed:
            raise Unavailable("the store is closed")
