"""One thing that was looked at."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "warn", "fail"]


class Finding(Struct, frozen=True):
    """One thing that was looked at. `do` says what helps where it is not ok; `corrupt`: bytes do not fit."""

    what: str
    level: Level
    found: str
    do: str | None = None
    corrupt: bool = False


def ok(what: str, found: str) -> Finding:
    """It is as it should be."""
    return Finding(what, "ok", found)


def warn(what: str, found: str, do: str) -> Finding:
    """It works, and something about it should be known."""
    return Finding(what, "warn", found, do)


def fail(what: str, found: str, do: str | None, *, corrupt: bool = False) -> Finding:
    """Something must be done."""
    return Finding(what, "fail", found, do, corrupt)
