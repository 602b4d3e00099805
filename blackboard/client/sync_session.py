"""What the synchronous client is: the async one, driven from a thread without a loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from blackboard.client.board import Board
from blackboard.client.guard import SyncGuard
from blackboard.client.portal import Portal, iterate, run
from blackboard.messages.replies import Guarantee, Moved, Notice, Standing

__all__ = ["SyncSession"]

T = TypeVar("T")


class SyncSession:
    """A board whose calls are done on `portal`; any number of threads may use it at once."""

    def __init__(self, board: Board, portal: Portal, close: Callable[[], None]) -> None:
        self._board = board
        self._portal = portal
        self._close = close

    @property
    def name(self) -> str | None:
        """The board's name."""
        return self._board.name

    @property
    def head(self) -> int:
        """The highest head that a reply told: what the next call says its sender has seen."""
        return self._board.head

    @property
    def standing(self) -> Standing | None:
        """The agent's standing as last told, None before the first reply and for who is no agent."""
        return self._board.standing

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the last reply told of peers and of the board."""
        return self._board.notices

    @property
    def moved(self) -> tuple[Moved, ...]:
        """The keys of which the last reply told that a peer has advanced them."""
        return self._board.moved

    @property
    def guarantee(self) -> Guarantee | None:
        """Which legs of the guarantee the board's policy switches off, as last told."""
        return self._board.guarantee

    def close(self) -> None:
        """Let go of the connection at once. Idempotent; feeds end."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at head {self.head}>"

    def guard(self, tool: str, *, allow_unevaluable: bool = False) -> SyncGuard:
        """Guard calls of `tool`: what `guard` gives, called with `fn` and params, runs it only if it may."""
        return SyncGuard(self._board.guard(tool, allow_unevaluable=allow_unevaluable), self._portal)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return run(self._portal, work)

    def _iterate(self, source: AsyncGenerator[T, None]) -> Iterator[T]:
        return iterate(self._portal, source)
