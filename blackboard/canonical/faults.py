"""What is wrong with a value, and how its place is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blackboard.errors import Malformed

__all__ = ["Fault", "pointer"]

_SEGMENT = 80


class Fault:
    """One thing that is wrong: `what` completes the sentence "<place>: ...".

    `limit` and `value` are those of `Malformed`. Strict parsing leaves a fault in the place of the part
    that has it; whoever walks the result knows the place.
    """

    __slots__ = ("limit", "value", "what")

    def __init__(self, what: str, *, limit: Any = None, value: Any = None) -> None:
        self.what = what
        self.limit = limit
        self.value = value

    def at(self, path: Iterable[str | int] = (), member: str = "") -> Malformed:
        """Return the error that says so of the place `path` under `member`, a pointer ("" is all)."""
        member += pointer(path)
        detail = f"{member or 'the document'}: {self.what}"
        return Malformed(detail, member=member, limit=self.limit, value=self.value)


def pointer(path: Iterable[str | int]) -> str:
    """Return the RFC 6901 pointer of `path`, fit to print: long segments cut, lone surrogates escaped."""
    return "".join("/" + _escaped(str(segment)) for segment in path)


def _escaped(segment: str) -> str:
    shown = segment if len(segment) <= _SEGMENT else segment[: _SEGMENT - 1] + "…"
    printable = shown.encode("utf-8", "backslashreplace").decode()
    return printable.replace("~", "~0").replace("/", "~1")
