"""Whether the store answers, and which boards do not keep the whole guarantee.

Replies tell what a board's policy switches off, so boards in use are known for nothing. The others are asked
when somebody wants to know: a few a second, and no more in all than half of what the service keeps in memory.
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
from blackboard.store.durability import at_risk

__all__ = ["Guarantees", "Readiness", "State"]

VALID_SECONDS: Final = 1.0
SURVEYED: Final = 16
_SURVEYOR: Final = Principal(role="auditor", name="readyz")


class Guarantees:
    """What each board that was seen switches off; an empty list where it keeps everything."""

    def __init__(self) -> None:
        self.off: dict[str, list[str]] = {}

    def see(self, board: str | None, reply: msgspec.Struct) -> None:
        """Learn from a reply about a board."""
        guarantee = getattr(reply, "guarantee", None)
        if guarantee is not None and board is not None:
            self.off[board] = guarantee.off


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
        self._until = 0.0
        self._store: dict[str, Any] = {}
        self._boards: list[str] = []

    async def look(self) -> State:
        """The state now. Raises `Unavailable` where the store does not answer, its file is gone, or it takes
        no writes.
        """
        if time.monotonic() >= self._until:
            self._store = dict(await self._service.store.check())
            self._boards = [row.name for row in await self._service.store.boards()]
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
            {name: off[name] for name in self._boards if off.get(name)},
            sum(name not in off for name in self._boards),
        )

    async def _survey(self) -> None:
        most = min(SURVEYED, self._service.settings.live_boards // 2 - self._surveyed)
        unknown = [name for name in self._boards if name not in self._guarantees.off][: max(0, most)]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(VALID_SECONDS):
                for name in unknown:
                    self._surveyed += 1
                    with contextlib.suppress(BlackboardError):  # too new or damaged: it stays unchecked
                        self._guarantees.see(name, await self._service.query(name, _SURVEYOR, ask.GetBoard()))
