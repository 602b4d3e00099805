"""Whether what is acknowledged survives power loss, from what a store tells of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_LOSING: Final[Mapping[str, frozenset[object]]] = {
    # PostgreSQL: nothing waits for the disk, or a commit does not.
    "fsync": frozenset({"off"}),
    "synchronous_commit": frozenset({"off"}),
    # SQLite: its log is not on the disk when a commit returns.
    "synchronous": frozenset({"off", "normal"}),
    # Memory: there is no disk.
    "durable": frozenset({False}),
}


def at_risk(figures: Mapping[str, object]) -> list[str]:
    """The settings by which an acknowledged event can be lost, as `name=value`; none: it is safe.

    `figures` are those of `Store.check`.
    """
    return [
        f"{name}={_written(figures[name])}"
        for name, losing in _LOSING.items()
        if name in figures and figures[name] in losing
    ]


def _written(value: object) -> str:
    return str(value).lower()
