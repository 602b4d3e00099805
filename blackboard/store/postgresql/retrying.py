"""What is tried again in place, because nothing is wrong with it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from blackboard.store.postgresql.faults import (
    DRIVER_ERRORS,
    RETRIED,
    UNIQUE,
    Doing,
    lost,
    state_of,
    translated,
)

T = TypeVar("T")

ATTEMPTS = 10
PAUSE_SECONDS = 0.002
"""Before the second attempt; doubled before each further one, which makes about a second in all."""


class Retrying:
    """Attempts at what may be made again, counted by SQLSTATE in `counts`."""

    def __init__(self, where: str, counts: Counter[str]) -> None:
        self._where = where
        self._counts = counts

    async def run(self, doing: Doing, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` returns. Raises what `faults.translated` makes of the driver's errors.

        Besides serialization failures, a write that another one came before in a key is made again (it is
        not an append), and a read once where its connection turned out to be dead.
        """
        cut = False
        states = RETRIED if doing == "read" else RETRIED | {UNIQUE}
        while True:
            try:
                return await self.repeat(attempt, states)
            except DRIVER_ERRORS as error:
                if cut or doing != "read" or not lost(error):
                    self.count(error)
                    raise translated(error, self._where, doing) from error
                cut = True

    async def repeat(self, attempt: Callable[[], Awaitable[T]], states: frozenset[str] = RETRIED) -> T:
        """What `attempt` returns, made again after errors of these states. Raises the driver's errors, which
        are not counted yet.
        """
        for number in range(ATTEMPTS - 1):
            try:
                return await attempt()
            except DRIVER_ERRORS as error:
                if state_of(error) not in states:
                    raise
                self.count(error)
            await asyncio.sleep(PAUSE_SECONDS * 2**number)
        return await attempt()

    def count(self, error: BaseException) -> str:
        """The state of an error, counted where it means that others were in the way."""
        state = state_of(error)
        if state in RETRIED or state == UNIQUE:
            self._counts[state] += 1
        return state
