"""Where the incident is watched from: the log as it happens, and what is told beside it, in step with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from blackboard.messages.replies import EventView

if TYPE_CHECKING:
    from blackboard.client import Board


class Remark(NamedTuple):
    """Something that an agent says to the audience, having seen the log up to `seq`."""

    seq: int
    who: str
    text: str


class Beliefs(NamedTuple):
    """Each agent's private summary beside the ledger and what is truly so: task -> words."""

    seq: int
    moment: str
    believed: dict[str, dict[str, str]]
    ledger: dict[str, str]
    truth: dict[str, str]


class Audience(Protocol):
    """Who watches."""

    def event(self, event: EventView) -> None:
        """An event of the log."""

    def remark(self, remark: Remark) -> None:
        """A remark."""

    def beliefs(self, beliefs: Beliefs) -> None:
        """A comparison."""


class Stage:
    """Shows every event once, in order, and all else after the events that it goes back to."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._moved = asyncio.Condition()
        self._cues: dict[str, asyncio.Event] = {}
        self._shown = 0

    @contextlib.asynccontextmanager
    async def watching(self, board: Board) -> AsyncIterator[None]:
        """Follow the log while the block runs; at its end everything up to the board's head is shown."""
        follower = asyncio.create_task(self._follow(board))
        try:
            yield
            reached = asyncio.create_task(self._reach((await board.get_board()).head))
            await asyncio.wait({reached, follower}, return_when=asyncio.FIRST_COMPLETED)
            reached.cancel()
            if follower.done():
                follower.result()  # it ended early: with its error, if it has one
        finally:
            follower.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await follower

    async def tell(self, told: Remark | Beliefs) -> None:
        """Show something once the log is shown up to its seq."""
        await self._reach(told.seq)
        if isinstance(told, Remark):
            self._audience.remark(told)
        else:
            self._audience.beliefs(told)

    def give(self, cue: str) -> None:
        """Let those go on who wait for `cue`."""
        self._cue(cue).set()

    async def wait(self, cue: str) -> None:
        """Wait for `cue`."""
        await self._cue(cue).wait()

    def _cue(self, cue: str) -> asyncio.Event:
        return self._cues.setdefault(cue, asyncio.Event())

    async def _reach(self, seq: int) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self._shown >= seq)

    async def _follow(self, board: Board) -> None:
        async with contextlib.aclosing(board.follow(after=0)) as events:
            async for event in events:
                self._audience.event(event)
                async with self._moved:
                    self._shown = event.seq
                    self._moved.notify_all()
