"""Rows that decisions ask for, from the log and from what this attempt has decided but not yet appended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from blackboard.events.envelope import Event
from blackboard.events.kinds import EntryWritten
from blackboard.gate.case import Need
from blackboard.gate.decide import needs
from blackboard.projections.board import Board
from blackboard.service.context import Context
from blackboard.service.pending import Pending

AHEAD = 1000
"""How many rows of later commands are fetched along with those of the first one that needs any."""


class Fetcher:
    """Answers the needs of one attempt.

    An event, once it exists, stays what it is: what was fetched holds for the whole attempt. An uncommitted
    one of an earlier command of the same batch is found in `events` and goes before the table.
    """

    __slots__ = ("_by_key", "_context", "_events", "_found", "_indexed", "_name")

    def __init__(self, context: Context, name: str) -> None:
        self._context = context
        self._name = name
        self._found: dict[Need, Event | None] = {}
        self._by_key: dict[str, list[Event]] = {}
        self._events: Sequence[Event] = ()
        self._indexed = 0

    async def fetch(
        self, needed: Sequence[Need], board: Board, rest: Sequence[Pending], events: Sequence[Event]
    ) -> dict[Need, Event | None]:
        """The rows that `needed` names, None where there is none.

        `rest` begins with the command that asks; what those behind it need is fetched at once. Raises what
        the store raises.
        """
        self._index(events)
        fetched = {need: self._uncommitted(need) for need in needed}
        missing = [need for need, event in fetched.items() if event is None]
        if any(need not in self._found for need in missing):
            await self._read(missing, self._later(board, rest[1:]))
        for need in missing:
            fetched[need] = self._found[need]
        return fetched

    def _index(self, events: Sequence[Event]) -> None:
        self._events = events
        for event in events[self._indexed :]:
            if type(event.body) is EntryWritten and event.key is not None:
                self._by_key.setdefault(event.key, []).append(event)
        self._indexed = len(events)

    def _uncommitted(self, need: Need) -> Event | None:
        if need.seq is not None:
            first = self._events[0].seq if self._events else need.seq + 1
            return self._events[need.seq - first] if need.seq >= first else None
        for event in reversed(self._by_key.get(need.key, ())):
            if need.revision == event.revision or (need.as_of is not None and event.seq <= need.as_of):
                return event
        return None

    def _later(self, board: Board, rest: Sequence[Pending]) -> list[Need]:
        later: list[Need] = []
        for pending in rest:
            if len(later) >= AHEAD:
                break
            with suppress(Exception):  # its own turn will tell
                later += needs(board, pending.principal, pending.prepared)
        return later[:AHEAD]

    async def _read(self, wanted: Sequence[Need], later: Sequence[Need]) -> None:
        unread = [need for need in dict.fromkeys((*wanted, *later)) if need not in self._found]
        self._context.metrics.rows_fetched += len(unread)
        results = await asyncio.gather(*(self._row(need) for need in unread), return_exceptions=True)
        for need, result in zip(unread, results, strict=True):
            if not isinstance(result, BaseException):
                self._found[need] = result
            elif need in wanted:
                raise result

    async def _row(self, need: Need) -> Event | None:
        store = self._context.store
        if need.seq is not None:
            return (await store.events(self._name, [need.seq])).get(need.seq)
        if need.revision is not None:
            return await store.entry(self._name, need.key, need.revision)
        assert need.as_of is not None
        return await store.entry_as_of(self._name, need.key, need.as_of)
