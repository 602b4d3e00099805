"""The commit path: decide a batch, append it once, answer; and what to do when that does not go straight.

==================  ===================================================================================
the append says     then
==================  ===================================================================================
`SeqTaken`          somebody was first: load again, decide the whole batch again; for a while from then on
                    lock the board first, so that a busy board's servers take turns
`CommandTaken`      a key is in the log: load again, answer its command from it, decide the rest again
`OutcomeUnknown`    look whether the rows are there; they are acknowledged, or it goes on as above
anything else       commit the commands one by one, so that only the guilty one fails
==================  ===================================================================================

Nothing is ever resent: what goes to the log was decided on the state that it continues.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from blackboard.errors import BlackboardError, IntegrityFailure, OutcomeUnknown, StoreBusy, Unavailable
from blackboard.messages.idempotency import SERVER_MADE
from blackboard.service.attempt import Attempt, Spoilt
from blackboard.service.keys import IGNORING_KEYS
from blackboard.service.pending import Pending, again, unexpected
from blackboard.service.working import WorkingBoard
from blackboard.store.contract import CommandTaken, Locked, SeqTaken, Store

log = logging.getLogger("blackboard.service")

WARY_MICROSECONDS = 10_000_000
"""For so long after a key was found taken, keys are looked up before they are decided: whoever retries one
command after a restart retries others too, and each would cost a reload."""

FIRST_PAUSE = 0.001
LONGEST_PAUSE = 0.25
LEAST_WAIT = 0.05
"""For so many seconds a lock is waited for that nobody need hold."""

More = Callable[[], list[Pending]]


def _no_more() -> list[Pending]:
    return []


class _Absent(Exception):
    """The rows of an append without a result are not in the log; `cause` is what the store said of it."""

    def __init__(self, cause: OutcomeUnknown) -> None:
        super().__init__(cause.detail)
        self.cause = cause


class _Stale(Exception):
    """Others have appended, and what was decided appends nothing: decide it again further along."""


class _NoLock(Exception):
    """The board's lock was not to be had in time."""


class _Patience:
    """How much longer a batch may be tried, and the pause before the next try."""

    __slots__ = ("_pause", "_until")

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._pause = 0.0

    @property
    def over(self) -> bool:
        return time.monotonic() >= self._until

    @property
    def left(self) -> float:
        return max(LEAST_WAIT, self._until - time.monotonic())

    async def pause(self) -> None:
        await asyncio.sleep(self._pause)
        self._pause = min(max(FIRST_PAUSE, 2 * self._pause), LONGEST_PAUSE)


async def commit(working: WorkingBoard, batch: Sequence[Pending], more: More = _no_more) -> list[Pending]:
    """Answer every command of the batch, except those returned: they go into the next one.

    `more` gives what has come meanwhile: where the board has to be locked first, it goes into the same batch.
    """
    patience = _Patience(working.context.settings.conflict_seconds)
    left = list(batch)
    while left:
        try:
            attempt = await _attempt(working, left, patience, more)
        except _Stale:
            working.behind = True
        except (SeqTaken, CommandTaken, _Absent, _NoLock) as conflict:
            _mark(working, left, conflict)
            if patience.over:
                _give_up(working, left, conflict)
                break
            await patience.pause()
        except Spoilt as spoilt:
            working.forget()
            working.context.metrics.failures += 1
            spoilt.pending.resolve(unexpected())
            left.remove(spoilt.pending)
        except Exception as error:  # noqa: BLE001 - `_told` logs what it does not know
            working.forget()
            return await _one_by_one(working, left, _told(working, error))
        except BaseException:
            working.forget()
            raise
        else:
            return attempt.deferred
    return []


async def _attempt(working: WorkingBoard, left: list[Pending], patience: _Patience, more: More) -> Attempt:
    if working.locking:
        attempt = await _under_lock(working, left, patience, more)
    else:
        fresh = await working.ready()
        attempt = await _decide(working, left)
        if attempt.rows:
            await _append(working, attempt, working.context.store)
        elif not (fresh or await working.confirmed()):
            raise _Stale
    if attempt.unknown is not None:
        await _find(working, attempt, left, patience, attempt.unknown)
    if attempt.rows:
        seconds = time.perf_counter() - attempt.began
        working.context.metrics.committed(
            events=len(attempt.rows), commands=len(attempt.answers), seconds=seconds
        )
    working.moved_on(attempt.rows, attempt.tip)
    if attempt.unknown is not None:
        working.forget()
    _settle(working, attempt)
    return attempt


async def _under_lock(working: WorkingBoard, left: list[Pending], patience: _Patience, more: More) -> Attempt:
    """One try while nobody else can append: what is decided is decided on the end of the log."""
    await working.load()  # the long part comes before the lock
    metrics = working.context.metrics
    started = time.perf_counter()
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(patience.left):
                locked = await stack.enter_async_context(working.context.store.lock(working.name))
        except (TimeoutError, StoreBusy) as error:
            raise _NoLock from error
        metrics.lock_seconds.observe(time.perf_counter() - started)
        left += more()
        if await working.catch_up():
            working.contended()
        attempt = await _decide(working, left)
        if attempt.rows:
            await _append(working, attempt, locked)
            metrics.lock_commits += 1
    return attempt


async def _decide(working: WorkingBoard, batch: Sequence[Pending]) -> Attempt:
    """Decide the batch on the working board, which moves on by it."""
    context = working.context
    assert working.board is not None
    attempt = Attempt(context, working.name, working.board, working.tip, working.limiter)
    wary = working.wary_until > 0 and context.clock() < working.wary_until
    known = [
        pending
        for pending in batch
        if pending.suspect
        or (pending.keyed and (wary or (pending.actor, pending.command_id) in working.keys))
    ]
    await attempt.decide(batch, known)
    return attempt


async def _append(working: WorkingBoard, attempt: Attempt, place: Store | Locked) -> None:
    """Append the attempt's rows. Where the store cannot tell whether it did, that is noted."""
    attempt.began = time.perf_counter()
    try:
        await place.append(attempt.rows)
    except OutcomeUnknown as error:
        working.context.metrics.unknown_outcomes += 1
        attempt.unknown = error


async def _find(
    working: WorkingBoard,
    attempt: Attempt,
    batch: Sequence[Pending],
    patience: _Patience,
    error: OutcomeUnknown,
) -> None:
    """Return if the attempt's rows are in the log, raise `_Absent` if not.

    One commit holds them all, and a hash stands for everything before it: the first row tells.
    """
    for pending in batch:
        pending.unknown |= (pending.actor, pending.command_id) in attempt.bound
    while True:
        try:
            found = await working.context.store.rows(working.name, after=attempt.start.seq, limit=1)
        except Unavailable:
            if patience.over:
                raise
            await patience.pause()
        else:
            if found and found[0].hash == attempt.rows[0].hash:
                return
            raise _Absent(error) from error


def _settle(working: WorkingBoard, attempt: Attempt) -> None:
    for pending, answer in attempt.answers:
        pending.resolve(answer)
    for actor, command_id in attempt.bound:
        if not command_id.startswith(SERVER_MADE):
            working.keys.add(actor, command_id)
    attempt.count()


def _mark(working: WorkingBoard, batch: Sequence[Pending], conflict: Exception) -> None:
    """Drop what was decided for nothing, and say which commands are to be looked for in the log first."""
    if isinstance(conflict, _NoLock):
        return  # nothing was tried
    working.forget()
    working.context.metrics.conflicts += not isinstance(conflict, _Absent)
    if isinstance(conflict, SeqTaken):
        working.contended()
    taken: set[tuple[str, str]] = set()
    if isinstance(conflict, CommandTaken):
        working.wary_until = working.context.clock() + WARY_MICROSECONDS
        taken = set(conflict.commands) or {(pending.actor, pending.command_id) for pending in batch}
    for pending in batch:
        if not pending.unknown and (pending.actor, pending.command_id) not in taken:
            continue
        if type(pending.prepared.command) in IGNORING_KEYS:
            # A read is served anew; that its first recording may stand in the log harms nobody.
            pending.command_id = working.context.ids(working.context.clock())
            pending.unknown = False
        else:
            pending.suspect = True


async def _one_by_one(
    working: WorkingBoard, batch: Sequence[Pending], error: BlackboardError
) -> list[Pending]:
    """Commit each command alone. Where two in a row fail and the store is silent, the rest is not tried."""
    if len(batch) == 1:
        _fail(batch, error)
        return []
    deferred: list[Pending] = []
    troubles = 0
    for index, pending in enumerate(batch):
        deferred += await commit(working, [pending])
        troubles = troubles + 1 if _in_trouble(pending) else 0
        if troubles >= 2 and not await _answers(working):
            _fail(batch[index + 1 :], error)
            break
    return deferred


def _in_trouble(pending: Pending) -> bool:
    return isinstance(pending.answer, (Unavailable, IntegrityFailure))


async def _answers(working: WorkingBoard) -> bool:
    """Whether the store answers at all."""
    try:
        await working.context.store.tip(working.name)
    except BlackboardError:
        return False
    return True


def _told(working: WorkingBoard, error: Exception) -> BlackboardError:
    """What callers are told of a failure; an unexpected one goes to the service's log."""
    working.context.metrics.store_failures += 1
    if isinstance(error, BlackboardError):
        return error
    log.error("board %s: a batch failed", working.name, exc_info=error)
    return unexpected()


def _fail(batch: Sequence[Pending], error: BlackboardError) -> None:
    for pending in batch:
        if pending.unknown and not isinstance(error, OutcomeUnknown):
            pending.resolve(_unknown(error))
        else:
            pending.resolve(again(error))


def _give_up(working: WorkingBoard, batch: Sequence[Pending], conflict: Exception) -> None:
    """Nothing could be committed for too long: because of others, or because the store keeps failing."""
    if not isinstance(conflict, _Absent):
        _fail(batch, _contended(working))
        return
    seconds = working.context.settings.conflict_seconds
    failing = Unavailable(
        f"board {working.name!r} could not be written for {seconds:g} s; nothing was stored. "
        "Send the command again",
        members={"retry_after": 1},
    )
    for pending in batch:
        pending.resolve(again(conflict.cause if pending.unknown else failing))


def _unknown(error: BlackboardError) -> OutcomeUnknown:
    return OutcomeUnknown(
        "the database did not say whether this command was committed, and cannot be asked now "
        f"({error.detail}). Send it again with the same idempotency key: it takes effect once",
        members={"retry_after": 1},
    )


def _contended(working: WorkingBoard) -> StoreBusy:
    seconds = working.context.settings.conflict_seconds
    return StoreBusy(
        f"others kept appending to board {working.name!r} first for {seconds:g} s; nothing was stored. "
        "Send the command again",
        members={"retry_after": 1},
    )
