"""What every call goes through: idempotency keys, `seen`, and what the reply tells beside its answer."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Self, TypeVar

from msgspec import Struct

from blackboard.client.context import Context, merge_pages
from blackboard.client.keys import checked_idempotency_key, new_idempotency_key
from blackboard.client.transport import Request, Transport
from blackboard.errors import BlackboardError, Malformed, OutcomeUnknown
from blackboard.messages.commands import Message, Read
from blackboard.messages.operations import BY_NAME
from blackboard.messages.principal import Call
from blackboard.messages.replies import EventView, Guarantee, Moved, Notice, ReadReply, Standing

__all__ = ["Session"]

R = TypeVar("R", bound=Struct)


class Session:
    """A connection to a board, and what its replies told."""

    def __init__(self, transport: Transport, name: str | None) -> None:
        self._transport = transport
        self._name = name
        self._context = Context()

    @property
    def name(self) -> str | None:
        """The board's name."""
        return self._name

    @property
    def head(self) -> int:
        """The highest head that a reply told: what the next call says its sender has seen."""
        return self._context.head

    @property
    def standing(self) -> Standing | None:
        """The agent's standing as last told, None before the first reply and for who is no agent."""
        return self._context.standing

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the last reply told of peers and of the board."""
        return self._context.notices

    @property
    def moved(self) -> tuple[Moved, ...]:
        """The keys of which the last reply told that a peer has advanced them."""
        return self._context.moved

    @property
    def guarantee(self) -> Guarantee | None:
        """Which legs of the guarantee the board's policy switches off, as last told."""
        return self._context.guarantee

    async def close(self) -> None:
        """Let go of the connection at once. Idempotent; feeds end."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} at head {self.head}>"

    async def _send(
        self, operation: str, message: Message, reply: type[R], idempotency_key: str | None = None
    ) -> R:
        row = BY_NAME[operation]
        if row.appends:
            key = idempotency_key
            idempotency_key = new_idempotency_key() if key is None else checked_idempotency_key(key)
        call = Call(seen=self._context.head, idempotency_key=idempotency_key)
        try:
            answer = await self._transport.send(Request(row, message, self._board_for(row.path), call))
        except BlackboardError as error:
            if isinstance(error, OutcomeUnknown) and idempotency_key is not None:
                error.members.setdefault("idempotency_key", idempotency_key)
            self._context.take(error.reply)
            raise
        assert isinstance(answer, reply)
        self._context.take(answer)
        return answer

    async def _read_pages(self, page: Callable[[str | None], Read]) -> ReadReply:
        pages: list[ReadReply] = []
        cursor: str | None = None
        while not pages or cursor is not None:
            pages.append(await self._send("read", page(cursor), ReadReply))
            cursor = pages[-1].cursor
        merged = merge_pages(pages)
        self._context.take(merged)
        return merged

    async def _follow(self, after: int) -> AsyncGenerator[EventView, None]:
        name = self._board_for("{board}")
        assert name is not None
        async with contextlib.aclosing(self._transport.follow(name, after)) as events:
            async for event in events:
                yield event

    def _board_for(self, path: str) -> str | None:
        if "{board}" not in path:
            return None
        if self._name is None:
            raise Malformed("name the board: connect(url, board=...)", member="board")
        return self._name
