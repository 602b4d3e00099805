"""Server-sent events: bytes in, frames out."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Frame", "FrameTooLong", "Frames"]

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(r"\r\n|\n|\r")
MAX_FRAME = 64 * 1024 * 1024


class FrameTooLong(Exception):
    """A frame does not end: what answers is no feed of events."""


class Frame(NamedTuple):
    """One frame; members that it does not name are empty."""

    event: str
    id: str
    data: str


class Frames:
    """An incremental parser. Comments (heartbeats) make no frame."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that `chunk` completes. Raises `FrameTooLong`."""
        from_ = max(0, len(self._rest) - 3)
        self._rest += chunk
        blocks: list[bytes] = []
        begun = 0
        for end in _END.finditer(self._rest, from_):
            blocks.append(bytes(self._rest[begun : end.start()]))
            begun = end.end()
        del self._rest[:begun]
        if len(self._rest) > MAX_FRAME:
            raise FrameTooLong(f"a frame of more than {MAX_FRAME} bytes")
        return [frame for block in blocks if (frame := _frame(block)) is not None]


def _frame(block: bytes) -> Frame | None:
    members: dict[str, str] = {}
    for line in _LINE.split(block.decode("utf-8", "replace")):
        name, _, value = line.partition(":")
        if name in Frame._fields:
            value = value.removeprefix(" ")
            members[name] = f"{members[name]}\n{value}" if name == "data" and name in members else value
    if not members:
        return None
    return Frame(members.get("event", ""), members.get("id", ""), members.get("data", ""))
