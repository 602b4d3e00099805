"""Looking at a database beside those who write it: queries only, on a store opened read-only."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec

from blackboard.cli import output
from blackboard.cli.session import Session
from blackboard.client import Board
from blackboard.client.transport import Request
from blackboard.config import Settings
from blackboard.errors import StoreBusy, UnknownBoard
from blackboard.events.envelope import Row
from blackboard.messages.commands import Query
from blackboard.messages.principal import Principal, Role
from blackboard.messages.replies import EventView
from blackboard.service import Service, event_view
from blackboard.store import open_store


class _ReadOnly:
    """A transport that answers queries from a store that somebody else writes."""

    def __init__(self, service: Service, principal: Principal) -> None:
        self._service = service
        self._principal = principal

    async def send(self, request: Request) -> Any:
        """See `Transport.send`."""
        query = cast(Query, request.message)
        answer = await self._service.query(request.board, self._principal, query, request.call)
        return msgspec.json.decode(msgspec.json.encode(answer), type=request.operation.reply)

    async def follow(self, board: str, after: int) -> AsyncGenerator[EventView, None]:
        """See `Transport.follow`. What the owner appends is found by looking again and again."""
        async for row in self._service.follow(board, self._principal, after):
            if isinstance(row, Row):
                yield msgspec.json.decode(msgspec.json.encode(event_view(row)), type=EventView)

    async def close(self) -> None:
        """The opener closes."""


@asynccontextmanager
async def looking(session: Session) -> AsyncIterator[Board]:
    """A board for commands that only look; where another process owns the file, read-only beside it.

    A database that several servers share is looked at read-only always: a look makes no tables in it.
    """
    elsewhere = session.in_demo(session.target) is not None
    if session.target.is_shared and not elsewhere:
        async with _looking_at(session) as board:
            yield board
        return
    file = session.target.file
    if file is not None and not file.exists() and not elsewhere:
        raise UnknownBoard(f"there is no file {file}: name another as --db, or a server as --server")
    try:
        async with session.connect() as board:
            yield board
        return
    except StoreBusy:
        if session.target.file is None:
            raise
    output.note(f"{session.target.file} has an owner; looking at it read-only")
    async with _looking_at(session) as board:
        yield board


@asynccontextmanager
async def _looking_at(session: Session) -> AsyncIterator[Board]:
    async with _beside(session.target.url, session.settings, _principal(session)) as transport:
        yield Board(transport, session.board if "board" in session.flags else None)


def _principal(session: Session) -> Principal:
    ((role, name),) = session.identity.items()
    return Principal(role=cast(Role, role), name=name)


@asynccontextmanager
async def _beside(url: str, settings: Settings, principal: Principal) -> AsyncIterator[_ReadOnly]:
    store = await open_store(url, settings, read_only=True)
    try:
        service = Service(store, settings)
        try:
            yield _ReadOnly(service, principal)
        finally:
            await service.close()
    finally:
        await store.close()
