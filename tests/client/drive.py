"""One way to write a test for every client: {embedded, HTTP} x {async, sync} x {SQLite, PostgreSQL}.

A `Place` connects principals to one board; what it returns is used like the async client, whichever it is.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Protocol, cast

import blackboard
from blackboard.client import Board, SyncBoard
from blackboard.config import Settings
from tests.client.live import LiveServer

ON = {
    "sqlite": ["embedded-async", "embedded-sync", "http-async", "http-sync"],
    "postgres": [
        *("postgres-embedded-async", "postgres-embedded-sync"),
        *("postgres-http-async", "postgres-http-sync"),
    ],
}
"""Every kind of client, by the engine of its database."""
ASYNC = [kind for kinds in ON.values() for kind in kinds if kind.endswith("-async")]
"""Both ways to a database, on both engines."""
KINDS = [*ON["sqlite"], "postgres-embedded-async", "postgres-http-async"]
"""What the contract runs over: what a thread adds to a client does not depend on the engine."""

_END = object()
_boards = itertools.count(1)


class Driven:
    """A synchronous board behind the methods of the asynchronous one, each call in a thread."""

    def __init__(self, board: SyncBoard) -> None:
        self._board = board

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._board, name)
        if not callable(member):
            return member
        if name in ("follow", "log"):
            return lambda *args, **named: _pulled(member(*args, **named))

        async def call(*args: Any, **named: Any) -> Any:
            return await asyncio.to_thread(member, *args, **named)

        return call


async def _pulled(items: Iterator[Any]) -> AsyncGenerator[Any, None]:
    try:
        while (item := await asyncio.to_thread(next, items, _END)) is not _END:
            yield item
    finally:
        assert inspect.isgenerator(items)
        await asyncio.to_thread(items.close)


class Way(Protocol):
    """How principals reach a database."""

    async def connect(self, board: str, role: str, name: str, grants: dict[str, Any] | None) -> Board:
        """A connection of this principal to this board."""


class Embedded:
    """A database of this process."""

    def __init__(self, url: str, settings: Settings, *, sync: bool) -> None:
        self._url = url
        self._settings = settings
        self._sync = sync

    async def connect(self, board: str, role: str, name: str, grants: dict[str, Any] | None) -> Board:
        options: Any = {"board": board, role: name, "grants": grants, "settings": self._settings}
        return await _connected(self._url, options, sync=self._sync)


class Http:
    """A server, with a token for every principal."""

    def __init__(self, server: LiveServer, *, sync: bool) -> None:
        self._server = server
        self._sync = sync

    async def connect(self, board: str, role: str, name: str, grants: dict[str, Any] | None) -> Board:
        async with blackboard.connect(self._server.url, token=self._server.token) as operator:
            made = await operator.create_token(cast(Any, role), name, boards=[board], grants=grants or {})
        options: Any = {"board": board, "token": made.token}
        return await _connected(self._server.url, options, sync=self._sync)


async def _connected(url: str, options: Any, *, sync: bool) -> Board:
    if sync:
        board = await asyncio.to_thread(blackboard.connect_sync, url, **options)
        return cast(Board, Driven(board))
    return await blackboard.connect(url, **options)


class Place:
    """One fresh board, and everyone who was connected to it."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self.name = f"board-{next(_boards)}"
        self._opened = False
        self._open: list[Board] = []

    async def agent(self, name: str = "a", **grants: Any) -> Board:
        """An agent on the board, which is opened first where it was not."""
        if not self._opened:
            await (await self.operator()).open_board()
            self._opened = True
        return await self.connect("agent", name, **grants)

    async def operator(self, name: str = "ops") -> Board:
        return await self.connect("operator", name)

    async def auditor(self, name: str = "kim") -> Board:
        return await self.connect("auditor", name)

    async def connect(self, role: str, name: str, **grants: Any) -> Board:
        board = await self._way.connect(self.name, role, name, grants or None)
        self._open.append(board)
        return board

    async def close(self) -> None:
        for board in self._open:
            await board.close()
