"""Idempotency keys that this board has seen lately.

The unique index of the table is what makes keys hold. This memory only spares the common retry the price of
running into it, which is that the working board is loaded again.
"""

from __future__ import annotations

from blackboard.messages import commands as ask
from blackboard.messages.operations import BY_MESSAGE

GENERATION = 4096

IGNORING_KEYS: frozenset[type[ask.Message]] = frozenset(
    message for message, operation in BY_MESSAGE.items() if not operation.appends
)
"""Messages that ignore idempotency keys: an old answer is never given as a new one."""


class RecentKeys:
    """The keys bound last: at least `generation` of them, at most twice as many."""

    __slots__ = ("_generation", "_new", "_old")

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self._new: set[tuple[str, str]] = set()
        self._old: set[tuple[str, str]] = set()

    def add(self, actor: str, key: str) -> None:
        """The actor has bound this key."""
        self._new.add((actor, key))
        if len(self._new) >= self._generation:
            self._old, self._new = self._new, set()

    def __contains__(self, bound: tuple[str, str]) -> bool:
        return bound in self._new or bound in self._old
