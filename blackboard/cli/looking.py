"""Looking at a file beside the process that owns it: queries only, on a store opened read-only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from blackboard.cli import output
from blackboard.cli.session import Session
from blackboard.client import Board
from blackboard.client.transport import Request
from blackboard.config import Settings
from blackboard.errors import NotAllowed, StoreBusy
from blackboard.messages.principal import Principal
from blackboard.messages.replies import EventView
from blackboard.service import Service
from blackboard.store import open_store


class _ReadOnly:
    """A transport that answers queries from a store that somebody else writes."""

    def __init__(self, service: Service, principal: Principal) -> None:
        self._service = service
        self._principal = principal

    async def send(self, request: Request) -> Any:
        """See `Transport.send`."""
        answer = await self._service.query(request.board, self._principal, request.message, request.call)
        return msgspec.json.decode(msgspec.json.encode(answer), type=request.operation.reply)

    async def follow(self, board: str, after: int) -> AsyncIterator[EventView]:
        """A file says nothing when it grows."""
        raise NotAllowed("a file that another process owns cannot be followed: ask its server, with --server")
        yield

    async def close(self) -> None:
        """The opener closes."""


@asynccontextmanager
async def looking(session: Session) -> AsyncIterator[Board]:
    """A board for commands that only look; where another process owns the file, read-only beside it."""
    try:
        async with session.connect() as board:
            yield board
        return
    except StoreBusy:
        if session.target.file is None:
            raise
    output.note(f"{session.target.file} has an owner; looking at it read-only")
    async with _beside(session.target.url, session.settings, _principal(session)) as transport:
        yield Board(transport, session.board)


def _principal(session: Session) -> Principal:
    ((role, name),) = session.identity.items()
    return Principal(role=role, name=name)


@asynccontextmanager
async def _beside(url: str, settings: Settings, principal: Principal) -> AsyncIterator[_ReadOnly]:
    store = await open_store(url, settings, read_only=True)
    try:
        service = Service(store, settings, shared=True)
        try:
            yield _ReadOnly(service, principal)
        finally:
            await service.close()
    finally:
        await store.close()
