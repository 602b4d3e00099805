"""How often, and how long apart, a request is tried again."""

from __future__ import annotations

import random

from msgspec import Struct

from blackboard.errors import (
    BlackboardError,
    BoardTooNew,
    IntegrityFailure,
    OutcomeUnknown,
    SchemaMismatch,
    Unavailable,
)

__all__ = ["RetryPolicy", "gave_up", "passes_by_itself"]


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """`attempts` in all; pauses double from `first` to `most` seconds.

    A server that asks for more than `patience` seconds gets no further attempt: the caller knows better
    what to do with so long a time. `following` is how many seconds a feed looks for its server.
    """

    attempts: int = 6
    first: float = 0.05
    most: float = 2.0
    patience: float = 10.0
    following: float = 60.0

    def pause(self, failures: int, asked: float | None = None) -> float | None:
        """Seconds until the next attempt after `failures` of them, None where there is none.

        `asked` is what the server asked for. Spread out, so that clients cut off together do not all come
        back together.
        """
        if failures >= self.attempts or (asked or 0) > self.patience:
            return None
        return max(asked or 0, self.spread(failures))

    def spread(self, failures: int) -> float:
        """The pause after `failures` failures, whatever the number of attempts."""
        longest = min(self.most, self.first * 2.0 ** min(failures - 1, 30))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (spreads load, guards nothing)


def passes_by_itself(error: BlackboardError) -> bool:
    """Whether the same request may succeed in a moment."""
    lasting = isinstance(error, (IntegrityFailure, BoardTooNew, SchemaMismatch))
    return isinstance(error, Unavailable) and not lasting


def gave_up(what: str, reason: str, *, maybe_done: bool, key: str | None) -> Unavailable:
    """The error after the last attempt: certainly not done, or is that unknown?"""
    if maybe_done and key is not None:
        return OutcomeUnknown(
            f"{what}: {reason}; it may have been committed. Send it again with the idempotency key {key!r}: "
            "it is then answered, never done twice",
            members={"idempotency_key": key},
        )
    return Unavailable(f"{what}: {reason}; nothing was acknowledged")
