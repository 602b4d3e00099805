"""Whether the store answers, and which boards do not keep the whole guarantee.

Replies tell what a board's policy switches off, so boards in use are known for nothing. The others are asked
when somebody wants to know: a few a second, and no more in all than half of what the service keeps in memory.
Where other servers append too, a board that has moved on since it was seen here is asked again in its turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any, Final, NamedTuple

import msgspec

from blackboard.errors import BlackboardError, Unavailable
from blackboard.messages import commands as ask
from blackboard.messages.principal import Principal
from blackboard.service import Service
from blackboard.store.contract import BoardRow
from blackboard.store.durability import at_risk

__all__ = ["Guarantees", "Readiness", "State"]

VALID_SECONDS: Final = 1.0
SURVEYED: Final = 16
_SURVEYOR: Final = Principal(role="auditor", name="readyz")


class Guarantees:
    """What each board that was seen switches off; an empty list where it keeps everything.

    `heads` is how far each had come when it was seen.
    """

    def __init__(self) -> None:
        self.off: dict[str, list[str]] = {}
        self.heads: dict[str, int] = {}

    def see(self, board: str | None, reply: msgspec.Struct) -> None:
        """Learn from a reply about a board."""
        guarantee = getattr(reply, "guarantee", None)
        if guarantee is not None and board is not None:
            self.off[board] = guarantee.off
            self.heads[board] = getattr(reply, "head", 0)


class State(NamedTuple):
    """`store` is what the store says of itself, `off` the boards that switch something off, and what;
    `unchecked` counts boards that nobody has asked yet.
    """

    store: dict[str, Any]
    off: dict[str, list[str]]
    unchecked: int

    @property
    def at_risk(self) -> list[str]:
        """The settings by which an acknowledged event can be lost; none: it survives power loss."""
        return at_risk(self.store)

    @property
    def intact(self) -> bool | None:
        """Whether every board keeps the whole guarantee; None: not known yet."""
        if self.off:
            return False
        return None if self.unchecked else True


class Readiness:
    """Looks at most once a second, whoever asks."""

    def __init__(self, service: Service, guarantees: Guarantees) -> None:
        self._service = service
        self._guarantees = guarantees
        self._surveyed = 0
        self._asked: dict[str, None] = {}
        self._until = 0.0
        self._store: dict[str, Any] = {}
        self._boards: list[BoardRow] = []

    async def look(self) -> State:
        """The state now. Raises `Unavailable` where the store does not answer, its file is gone, or it takes
        no writes.
        """
        if time.monotonic() >= self._until:
            self._store = dict(await self._service.store.check())
            self._boards = await self._service.store.boards()
            await self._survey()
            self._until = time.monotonic() + VALID_SECONDS
        if self._store.get("in_place") is False:
            raise Unavailable(
                "the database's file is no longer where it was: what is stored now would be lost. Stop the "
                "server and put the file back"
            )
        if self._store.get("replica") is True:
            raise Unavailable(
                "the database is a standby, which takes no writes: name its primary, or promote it"
            )
        off = self._guarantees.off
        return State(
            self._store,
            {row.name: off[row.name] for row in self._boards if off.get(row.name)},
            sum(row.name not in off for row in self._boards),
        )

    async def _survey(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(VALID_SECONDS):
                for name in self._due():
                    self._surveyed += name not in self._guarantees.off or name not in self._asked
                    self._asked.pop(name, None)
                    self._asked[name] = None  # the last to have its turn again
                    with contextlib.suppress(BlackboardError):  # too new or damaged: it stays unchecked
                        self._guarantees.see(name, await self._service.query(name, _SURVEYOR, ask.GetBoard()))

    def _due(self) -> list[str]:
        """Boards that nobody has asked yet, then those that others have moved on, in turn."""
        off, heads = self._guarantees.off, self._guarantees.heads
        room = max(0, self._service.settings.live_boards // 2 - self._surveyed)
        due = [row.name for row in self._boards if row.name not in off][:room]
        if self._service.store.shared:
            moved = {row.name for row in self._boards if heads.get(row.name, row.head) < row.head}
            due += [name for name in self._asked if name in moved]
            due += sorted(moved.difference(self._asked))[: max(0, room - len(due))]
        return due[:SURVEYED]
