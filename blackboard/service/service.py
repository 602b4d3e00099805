"""One path for every command, and the answers to every question."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from blackboard.config import Settings
from blackboard.errors import BlackboardError, IntegrityFailure, Malformed, Unavailable
from blackboard.events.envelope import Row
from blackboard.gate.authorize import authorize
from blackboard.messages import commands as ask
from blackboard.messages.idempotency import check_idempotency_key
from blackboard.messages.limits import Limits
from blackboard.messages.prepare import Prepared, prepare
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply
from blackboard.service import queries
from blackboard.service.cache import Cache, check_name
from blackboard.service.context import Context
from blackboard.service.effects import Clock, Ids, Salts, random_salts, time_ordered_ids, wall_clock
from blackboard.service.feed import CaughtUp
from blackboard.service.keys import IGNORING_KEYS
from blackboard.service.live import LiveBoard
from blackboard.service.metrics import Metrics
from blackboard.service.pending import Pending, Waiting, unexpected
from blackboard.service.signing import Signer
from blackboard.service.watching import Watcher
from blackboard.store.contract import Store

log = logging.getLogger("blackboard.service")

NO_CALL = Call()
SLICE_ROWS = 1000


def limits_of(settings: Settings) -> Limits:
    """The limits that these settings hold commands to."""
    return Limits(
        command_bytes=settings.command_bytes,
        value_bytes=settings.value_bytes,
        key_bytes=settings.key_bytes,
        writes_per_batch=settings.writes_per_batch,
    )


class Service:
    """The boards of one store, for one event loop.

    `store` is opened before and closed after by its owner. `auto_open`: the first command that appends opens
    its board (default: as the settings say, else not). Time, chance and ids are arguments; see `effects`.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        auto_open: bool | None = None,
        clock: Clock = wall_clock,
        salts: Salts = random_salts,
        ids: Ids | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.limits = limits_of(settings)
        self.metrics = Metrics(store.retries)
        self._context = Context(
            store,
            settings,
            self.metrics,
            Signer(settings),
            clock,
            salts,
            ids if ids is not None else time_ordered_ids(),
            bool(settings.auto_open if auto_open is None else auto_open),
            store.shared,
        )
        self._cache = Cache(self._context)
        self._watcher = Watcher(self._context, self._cache) if store.shared else None
        self._closed = False

    async def execute(
        self, board: str, principal: Principal, command: ask.Command | Prepared, call: Call = NO_CALL
    ) -> Reply:
        """Carry out a command; returns when what it recorded is durable.

        A cancelled caller stops waiting; the command is carried out all the same. Raises the errors of the
        tree; `OutcomeUnknown` where it is not known whether the command took effect.
        """
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.submit(board, principal, command, call, future)
        return await future

    def submit(
        self,
        board: str,
        principal: Principal,
        command: ask.Command | Prepared,
        call: Call,
        future: Waiting,
    ) -> None:
        """The same without waiting: the outcome goes to `future`. To be called in the service's loop.

        Raises at once what can be told at once (`Malformed`, `NotAllowed`, `UnknownBoard`, `Unavailable`).
        """
        try:
            prepared = command
            if not isinstance(prepared, Prepared):
                prepared = prepare(prepared, agent=principal.agent, limits=self.limits)
            authorize(principal, board, prepared.command)
            if isinstance(prepared.command, ask.IssueCertificate):
                _ = self._context.signer.key  # what cannot be signed is not recorded either
            command_id, keyed = self._command_id(prepared, call)
            self._live(board).submit(Pending(principal, prepared, call, command_id, future, keyed=keyed))
            self.metrics.commands += 1
        except BlackboardError:
            raise
        except Exception as error:
            raise self._fault(command, error) from error

    def _command_id(self, prepared: Prepared, call: Call) -> tuple[str, bool]:
        key = call.idempotency_key
        if key is None or type(prepared.command) in IGNORING_KEYS:
            return self._context.ids(self._context.clock()), False
        check_idempotency_key(key)
        return key, True

    async def query(
        self, board: str | None, principal: Principal, query: ask.Query, call: Call = NO_CALL
    ) -> Any:
        """Answer a query from committed state; nothing is recorded. Raises the errors of the tree."""
        self._check_open()
        try:
            return await self._answer(board, principal, query, call)
        except BlackboardError:
            raise
        except Exception as error:
            raise self._fault(query, error) from error

    async def _answer(self, board: str | None, principal: Principal, query: ask.Query, call: Call) -> Any:
        if isinstance(query, ask.ListBoards):
            authorize(principal, None, query)
            return await queries.boards(self.store, principal)
        if isinstance(query, ask.GetSigningKey):
            authorize(principal, None, query)
            return self._context.signer.public()
        if board is None:
            raise Malformed("this query is about one board: name it", member="board")
        check_name(board)
        authorize(principal, board, query)
        if isinstance(query, ask.GetEvents):
            return await queries.events(self.store, board, query)
        return await queries.board(self._live(board), self.store, principal, query, call)

    def _fault(self, asked: object, error: Exception) -> Unavailable:
        log.error("%s failed", type(asked).__name__, exc_info=error)
        self.metrics.failures += 1
        return unexpected()

    async def follow(
        self, board: str, principal: Principal, after: int = 0
    ) -> AsyncGenerator[Row | CaughtUp, None]:
        """Every row after `after`, in order, each once: those there are, `CaughtUp`, then live.

        Ends when the service closes. Raises `UnknownBoard`, `BeyondHead`, `Unavailable`; `IntegrityFailure`
        where rows are missing, or the log was put back to an earlier state.
        """
        async with aclosing(self.follow_slices(board, principal, after)) as slices:
            async for found in slices:
                if isinstance(found, CaughtUp):
                    yield found
                else:
                    for row in found:
                        yield row

    async def follow_slices(
        self, board: str, principal: Principal, after: int = 0
    ) -> AsyncGenerator[list[Row] | CaughtUp, None]:
        """The same, in the slices in which rows come to hand."""
        authorize(principal, board, ask.Follow(after=after))
        live = self._join(board)
        feed, behind = live.working.feed, True
        followed = feed.log
        try:
            queries.check_reached(board, await self._head(live), after)
            while feed.log == followed:
                rows = feed.after(after)
                if rows is None:
                    rows = await self._from_table(board, after, feed.head)
                    self.metrics.overtaken += not behind
                    behind = True
                    if feed.log != followed:
                        break
                if rows:
                    after = rows[-1].seq
                    yield rows
                elif behind:
                    behind = False
                    yield CaughtUp(after)
                elif feed.closed:
                    return
                else:
                    await feed.more(after)
            raise IntegrityFailure(
                f"the log of board {board!r} is no longer the one that was followed up to {after}: it was "
                "put back to an earlier state. Read it again from its beginning"
            )
        finally:
            self._leave(live)

    async def close(self) -> None:
        """Take no more, finish what was taken, end the feeds. The store stays open. Idempotent."""
        self._closed = True
        if self._watcher is not None:
            await self._watcher.close()
        for live in self._cache.all():
            await live.idle()
            live.working.feed.close()
        self._cache.close()

    def _live(self, board: str) -> LiveBoard:
        self._check_open()
        if self._watcher is not None:
            self._watcher.start()
        return self._cache.get(board)

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("the service is closing; nothing was stored", members={"retry_after": 1})

    def _join(self, board: str) -> LiveBoard:
        if self.metrics.followers >= self.settings.followers:
            raise Unavailable(
                f"{self.settings.followers} feeds are open already; try again when one has ended",
                members={"limit": self.settings.followers, "retry_after": 5},
            )
        live = self._live(board)
        live.working.feed.join()
        self.metrics.followers += 1
        return live

    def _leave(self, live: LiveBoard) -> None:
        live.working.feed.leave()
        self.metrics.followers -= 1
        self._cache.release(live)

    async def _head(self, live: LiveBoard) -> int:
        # Not from the fold: a feed serves boards, too, that are too new to be folded.
        tip = await self.store.tip(live.name)
        if tip is None:
            raise queries.unknown(live.name)
        live.working.feed.advance(tip.seq)
        return live.working.feed.head

    async def _from_table(self, board: str, after: int, head: int) -> list[Row]:
        rows = await self.store.rows(board, after=after, limit=SLICE_ROWS)
        if not rows:
            raise IntegrityFailure(
                f"the log of board {board!r} has nothing after {after}, and its head is {head}"
            )
        return rows
