"""One try at a batch: decide its commands in order on the working board, and make the rows.

Nothing here is shown to anybody. If the rows cannot be appended, the working board has moved on for nothing
and is thrown away with the attempt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from blackboard import canonical
from blackboard.errors import BlackboardError, IdempotencyKeyReused, OutcomeUnknown, RateLimited
from blackboard.events.envelope import Command, Draft, Event, Row, Tip, number, seal, unseal
from blackboard.events.kinds import ActionChecked, BoardRead, EntryWritten, SignalRaised, WriteRejected
from blackboard.gate.actions.certificate import sign_certificate
from blackboard.gate.case import Need
from blackboard.gate.decide import complete, decide, needs
from blackboard.gate.decision import Decision
from blackboard.gate.outcome import outcome, outcome_needs
from blackboard.messages.verdicts import CertificateReply
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.service.context import Context
from blackboard.service.fetching import Fetcher
from blackboard.service.limiter import RejectionLimiter
from blackboard.service.pending import Answer, Pending, unexpected
from blackboard.store.contract import SeqTaken

log = logging.getLogger("blackboard.service")

BREATH = 64
"""After so many commands the loop gets a turn, so that a long batch of one board holds up no other."""


class Spoilt(Exception):
    """Folding the decision of `pending` failed half way: the working board is of no use any more."""

    def __init__(self, pending: Pending) -> None:
        super().__init__(pending.command_id)
        self.pending = pending


class _Decided(NamedTuple):
    pending: Pending
    command: Command
    drafts: Sequence[Draft]
    format: int


class Attempt:
    """One try at one batch.

    After `decide`, `answers` holds what to tell whom once the rows are durable, and `deferred` the commands
    that wait for the next batch, because they repeat the key of a command in this one. `began` is when the
    rows went to the store, `unknown` what it said where it could not tell whether it has them.
    """

    __slots__ = (
        "_board",
        "_context",
        "_decided",
        "_earlier",
        "_fetcher",
        "_limiter",
        "_name",
        "_now",
        "_rereads",
        "answers",
        "began",
        "bound",
        "deferred",
        "events",
        "rows",
        "start",
        "tip",
        "unknown",
    )

    def __init__(
        self, context: Context, name: str, board: Board, tip: Tip, limiter: RejectionLimiter
    ) -> None:
        self._context = context
        self._name = name
        self._board = board
        self._limiter = limiter
        self._now = max(context.clock(), tip.recorded_at)
        self._decided: list[_Decided] = []
        self._earlier: dict[tuple[str, str], list[Row]] = {}
        self._rereads = 0
        self._fetcher: Fetcher | None = None
        self.start = self.tip = tip
        self.answers: list[tuple[Pending, Answer]] = []
        self.bound: set[tuple[str, str]] = set()
        self.deferred: list[Pending] = []
        self.events: list[Event] = []
        self.rows: list[Row] = []
        self.began = 0.0
        self.unknown: OutcomeUnknown | None = None

    async def decide(self, batch: Sequence[Pending], known: Sequence[Pending]) -> None:
        """Decide the batch. `known` are those of its commands to be looked for in the log first."""
        await self._look_up(known)
        for index, pending in enumerate(batch):
            if index % BREATH == BREATH - 1:
                await asyncio.sleep(0)
            key = (pending.actor, pending.command_id)
            if key in self.bound:
                self.deferred.append(pending)
            elif rows := self._earlier.get(key):
                await self._answer(pending, rows)
            else:
                await self._take(pending, batch, index)
        self._seal()

    async def _look_up(self, pendings: Sequence[Pending]) -> None:
        """Find out which of these commands are in the log."""
        if pendings:
            pairs = {(pending.actor, pending.command_id) for pending in pendings}
            command = self._context.store.command
            found = await asyncio.gather(*(command(self._name, actor, key) for actor, key in pairs))
            if any(rows and rows[-1].seq > self.start.seq for rows in found):
                raise SeqTaken  # others have appended it since: an answer needs the board that it stands on
            self._earlier.update(zip(pairs, found, strict=True))

    async def _take(self, pending: Pending, batch: Sequence[Pending], index: int) -> None:
        """Decide one command, and fold what it appends."""
        judged = await self._judge(pending, batch, index)
        appends = isinstance(judged, Decision) and judged.drafts
        if pending.keyed and not appends and (rows := await self._bound_before(pending)):
            await self._answer(pending, rows)
        elif isinstance(judged, BlackboardError):
            self.answers.append((pending, judged))
        else:
            try:
                self._fold(pending, judged)
            except Exception as error:
                log.exception("board %s: folding %s failed", self._name, pending.command_id)
                raise Spoilt(pending) from error

    async def _bound_before(self, pending: Pending) -> list[Row]:
        """The rows of the key's first command, for one that appends nothing: no index would find it out."""
        key = (pending.actor, pending.command_id)
        if key not in self._earlier:
            await self._look_up([pending])
        return self._earlier[key]

    async def _answer(self, pending: Pending, rows: Sequence[Row]) -> None:
        """Answer from the log a command that is in it."""
        self.bound.add((pending.actor, pending.command_id))
        first = rows[0]
        if first.salt is not None and (
            canonical.request_digest(first.salt, pending.prepared.canonical) != first.request_digest
        ):
            answer: Answer = _key_reused(pending, first.seq)
        else:
            self._context.metrics.replays += 1
            try:
                answer = await self._outcome(pending, [unseal(row) for row in rows])
            except BlackboardError as error:
                answer = error
            except Exception:
                log.exception("board %s: answering %s from the log failed", self._name, pending.command_id)
                answer = self._fault()
        self.answers.append((pending, answer))

    async def _outcome(self, pending: Pending, events: Sequence[Event]) -> Answer:
        board, prepared = self._board, pending.prepared
        needed = outcome_needs(board, prepared, events)
        fetched = await self._fetch(needed, ()) if needed else {}
        found = outcome(board, pending.principal, prepared, pending.call, events, fetched=fetched)
        return self._signed(found)

    def _signed(self, answer: Answer) -> Answer:
        """The answer with the certificate that it may hold signed: the gate has no key."""
        if not isinstance(answer, CertificateReply) or answer.certificate is None:
            return answer
        return replace(answer, certificate=sign_certificate(answer.certificate, self._context.signer.key))

    def _fault(self) -> BlackboardError:
        self._context.metrics.failures += 1
        return unexpected()

    async def _judge(
        self, pending: Pending, batch: Sequence[Pending], index: int
    ) -> Decision | BlackboardError:
        board, principal, prepared = self._board, pending.principal, pending.prepared
        try:
            needed = needs(board, principal, prepared)
            fetched = await self._fetch(needed, batch[index:]) if needed else {}
            decision = decide(
                board, self._name, principal, prepared, fetched, auto_open=self._context.auto_open
            )
            self._throttle(pending, decision)
        except BlackboardError as error:
            return error
        except Exception:
            log.exception("board %s: deciding %s failed", self._name, type(prepared.command).__name__)
            return self._fault()
        return decision

    async def _fetch(self, needed: Sequence[Need], rest: Sequence[Pending]) -> dict[Need, Event | None]:
        if self._fetcher is None:
            self._fetcher = Fetcher(self._context, self._name)
        return await self._fetcher.fetch(needed, self._board, rest, self.events)

    def _throttle(self, pending: Pending, decision: Decision) -> None:
        """Let a refusal through to the log only at the rate allowed; nothing is folded before."""
        if pending.charged or not isinstance(decision.reply, BlackboardError):
            return
        if not self._limiter.draw(pending.actor, self._now):
            self._context.metrics.rate_limited += 1
            limit = self._context.settings.rejections_per_minute
            raise RateLimited(
                f"more than {limit} refused writes of {pending.actor} in a minute; this one was refused too "
                f"({decision.reply.code}) and not logged. Read again before the next write, and slow down",
                members={"limit": limit, "retry_after": 1},
            )
        pending.charged = True

    def _fold(self, pending: Pending, decision: Decision) -> None:
        """Move the working board on by the decision's events, and make the reply."""
        board, drafts = self._board, decision.drafts
        if drafts:
            prepared, written_in = pending.prepared, board.format
            turn = getattr(prepared.command, "turn", None)
            command = Command(pending.actor, pending.command_id, prepared.canonical, turn)
            events = number(command, drafts, board.head, recorded_at=self._now)
            debtor = board.demoted.get(pending.principal.name)
            owed = 0 if debtor is None else debtor.counts.rereads
            for event in events:
                evolve(board, event)
            self._rereads += 0 if debtor is None else debtor.counts.rereads - owed
            self.events += events
            self._decided.append(_Decided(pending, command, drafts, written_in))
            self.bound.add((pending.actor, pending.command_id))
        answer = complete(board, pending.principal, pending.prepared, pending.call, decision)
        self.answers.append((pending, self._signed(answer)))

    def _seal(self) -> None:
        salts = self._context.salts(len(self.events))
        used = 0
        for _, command, drafts, written_in in self._decided:
            end = used + len(drafts)
            rows, self.tip = seal(
                self._name,
                self.tip,
                command,
                drafts,
                salts=salts[used:end],
                now=self._now,
                board_format=written_in,
            )
            self.rows += rows
            used = end

    def count(self) -> None:
        """Count what was committed."""
        metrics = self._context.metrics
        metrics.rereads += self._rereads
        for event in self.events:
            body = event.body
            if type(body) is EntryWritten:
                continue  # nearly all of them
            if isinstance(body, BoardRead):
                metrics.reads += len(body.keys) + body.served
            elif isinstance(body, WriteRejected):
                metrics.rejections[body.code] += 1
            elif isinstance(body, SignalRaised):
                metrics.signals[body.signal] += 1
            elif isinstance(body, ActionChecked):
                metrics.verdicts[body.verdict] += 1


def _key_reused(pending: Pending, seq: int) -> IdempotencyKeyReused:
    return IdempotencyKeyReused(
        f"{pending.actor} has used the idempotency key {pending.command_id!r} for another command, "
        f"in event {seq}: send this one under a key of its own",
        member="Idempotency-Key",
        value=pending.command_id,
    )
