"""A live board: one task that works through the commands and questions of one board.

The task exists only while there is something to do. It answers the questions that have gathered, takes
the commands that have gathered, commits them, and looks again: everything that arrives during one commit
goes into the next, without a timer. Whoever finds no task at work sees committed state.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from blackboard.errors import BlackboardError, OutcomeUnknown, Unavailable
from blackboard.projections.board import Board
from blackboard.service.commit import commit
from blackboard.service.context import Context
from blackboard.service.pending import Pending, again, unexpected
from blackboard.service.working import WorkingBoard

log = logging.getLogger("blackboard.service")
T = TypeVar("T")


class _Question(NamedTuple):
    ask: Callable[[Board], Any]
    future: asyncio.Future[Any]


class LiveBoard:
    """One board of a service. `used` is when it was last used, by the monotonic clock."""

    __slots__ = ("_batch", "_pending", "_questions", "_task", "_when_idle", "used", "working")

    def __init__(self, context: Context, name: str, when_idle: Callable[[LiveBoard], None]) -> None:
        self.working = WorkingBoard(context, name)
        self.used = 0.0
        self._batch: list[Pending] = []
        self._pending: deque[Pending] = deque()
        self._questions: list[_Question] = []
        self._task: asyncio.Task[None] | None = None
        self._when_idle = when_idle

    @property
    def name(self) -> str:
        """The board's name."""
        return self.working.name

    @property
    def opened(self) -> bool:
        """Whether the board is loaded and exists."""
        return self.working.board is not None and self.working.board.head > 0

    @property
    def busy(self) -> bool:
        """Whether it is at work, followed, or being saved: not to be evicted."""
        return self._task is not None or self.followed or self.working.saving

    @property
    def followed(self) -> bool:
        """Whether anybody follows it."""
        return self.working.feed.followers > 0

    def hear(self) -> None:
        """Others may have appended: whoever follows is told at once, the next command catches up first."""
        self.working.behind = True
        if self.followed:
            self._wake()

    def submit(self, pending: Pending) -> None:
        """Queue a command. Raises `Unavailable` where too many wait."""
        most = self.working.context.settings.pending_commands
        if len(self._pending) >= most:
            raise Unavailable(
                f"{most} commands wait for board {self.name!r} already; nothing was stored. "
                "Send this one again in a second",
                members={"limit": most, "retry_after": 1},
            )
        self._pending.append(pending)
        self._wake()

    async def ask(self, question: Callable[[Board], T]) -> T:
        """Ask the board as it is committed; waits for the commit in flight. Raises what `question` raises."""
        working = self.working
        if self._task is None and working.board is not None and not working.context.shared:
            return _answered(question, working.board)
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._questions.append(_Question(question, future))
        self._wake()
        return await future

    async def idle(self) -> None:
        """Wait until everything that has been queued is answered, and saved."""
        while self._task is not None:
            await asyncio.wait([self._task])
        await self.working.saved()

    def _wake(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._pending or self._questions or (self.working.behind and self.followed):
                if self._questions:
                    await self._answer()
                if self._pending:
                    self._take()
                    deferred = await commit(self.working, self._batch, self._take)
                    self._pending.extendleft(reversed(deferred))
                    self._batch.clear()
                elif self.working.behind and self.followed:
                    await self._look()
                if self.working.due:
                    await self.working.save()
        except Exception:
            log.exception("board %s: its task failed", self.name)
        finally:
            self._task = None
            self._abandon()
            self._when_idle(self)

    def _take(self) -> list[Pending]:
        """Take what goes into the next batch, as many as make up a batch of events; return what was taken."""
        most = self.working.context.settings.batch_events
        before = len(self._batch)
        size = sum(_size(pending) for pending in self._batch)
        while self._pending and size < most:
            pending = self._pending.popleft()
            size += _size(pending)
            self._batch.append(pending)
        return self._batch[before:]

    async def _look(self) -> None:
        try:
            await self.working.look()
        except Unavailable:
            pass  # whoever asks for something is told; the feeds go on at the next look
        except BlackboardError as error:
            log.warning("board %s: its feeds wait: %s", self.name, error.detail)
        except Exception:
            log.exception("board %s: its feeds wait", self.name)

    async def _answer(self) -> None:
        # What is asked while the board is looked up rests on the next look.
        count = len(self._questions)
        try:
            board: Board | BlackboardError = await self._current()
        except BlackboardError as error:
            board = error
        except Exception:
            log.exception("board %s: it cannot be loaded", self.name)
            board = unexpected()
        asked, self._questions = self._questions[:count], self._questions[count:]
        for question in asked:
            if isinstance(board, BlackboardError):
                _raise(question, again(board))
            else:
                _put(question, board)

    async def _current(self) -> Board:
        working = self.working
        if not (await working.ready() or await working.confirmed()):
            await working.catch_up()
        return await working.load()

    def _abandon(self) -> None:
        # Reached with something left only when the task itself was ended from outside, with its loop.
        for pending in self._batch:
            pending.resolve(
                OutcomeUnknown(
                    "the service stopped while this command was being committed. Send it again with the same "
                    "idempotency key: it takes effect once"
                )
            )
        for pending in self._pending:
            pending.resolve(Unavailable("the service stopped before this command; nothing was stored"))
        for question in self._questions:
            _raise(question, Unavailable("the service stopped"))
        self._batch.clear()
        self._pending.clear()
        self._questions.clear()


def _size(pending: Pending) -> int:
    return len(pending.prepared.writes) or 1


def _answered(question: Callable[[Board], T], board: Board) -> T:
    try:
        return question(board)
    except BlackboardError:
        raise
    except Exception as error:
        log.exception("a question to board %s failed", board.name)
        raise unexpected() from error


def _put(question: _Question, board: Board) -> None:
    if question.future.done():
        return
    try:
        question.future.set_result(_answered(question.ask, board))
    except BlackboardError as error:
        question.future.set_exception(error)


def _raise(question: _Question, error: BlackboardError) -> None:
    if not question.future.done():
        question.future.set_exception(error)
