"""What is tried again in place: everything but an append, which has to be decided anew."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from asyncpg.exceptions import PostgresError

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
    """Attempts at statements that may be made again, counted by SQLSTATE."""

    def __init__(self, where: str, counts: Counter[str]) -> None:
        self._where = where
        self._counts = counts

    async def run(
        self, doing: Doing, attempt: Callable[[], Awaitable[T]], also: frozenset[str] = frozenset()
    ) -> T:
        """The outcome of `attempt`, made again after a serialization failure or deadlock, or one of the
        states in `also`; a read once more where its connection turned out to be dead.

        Raises what `faults.translated` makes of the driver's errors.
        """
        cut = False
        for number in range(ATTEMPTS):
            try:
                return await attempt()
            except DRIVER_ERRORS as error:
                again = self._again(error, RETRIED | also)
                if doing == "read" and not cut and lost(error):
                    again = cut = True
                if not again or number == ATTEMPTS - 1:
                    raise translated(error, self._where, doing) from error
            await asyncio.sleep(PAUSE_SECONDS * 2**number)
        raise AssertionError("the last attempt returns or raises")

    def _again(self, error: BaseException, states: frozenset[str]) -> bool:
        return isinstance(error, PostgresError) and self.count(error) in states

    def count(self, error: BaseException) -> str:
        """The state of an error, counted where it means that others were in the way."""
        state = state_of(error)
        if state in RETRIED or state == UNIQUE:
            self._counts[state] += 1
        return state
