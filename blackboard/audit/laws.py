"""What holds of the rows of every log, beside their digests and what they fold to.

Somebody who rewrites a log and its chain can break these without breaking a hash. They are looked at once the
rows have been verified, so that every member has the type that it should have.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Final

from blackboard.events.envelope import Row
from blackboard.events.kinds import EntryWritten
from blackboard.store.schema import Flaw

REDACTED: Final = "content.redacted"
"""The kind of the events that name, as `seqs`, those whose bodies were taken out."""

Command = tuple[str, str]
"""Actor and command id."""


class Laws:
    """The rows of one board, one slice after another.

    Remembers the revision of every key, and eight bytes of each command: whether two share an id shows in
    the end.
    """

    def __init__(self, board: str) -> None:
        self._board = board
        self._revisions: dict[str, int] = {}
        self._commands = array("q")
        self._last: Row | None = None

    def take(self, rows: Sequence[Row]) -> list[Flaw]:
        """What is wrong with the next rows."""
        flaws: list[Flaw] = []
        last, written, revisions = self._last, EntryWritten.KIND, self._revisions
        self._commands.extend([hash((row[4], row[6])) for row in rows if row[7] is not None])
        for row in rows:
            if row[7] is None and (last is None or row[4:7] != last[4:7]):
                flaws.append(self._flaw(row, "it continues a command that the event before it is no part of"))
            if last is not None and row[10] < last[10]:
                flaws.append(self._flaw(row, "it is recorded before the event that comes before it"))
            key, revision = row[8], row[9]
            if row[2] != written:
                if key is not None or revision is not None:
                    flaws.append(self._flaw(row, f"only {written} has a key and a revision"))
            elif key is not None and revision is not None:  # which folding it has made sure of
                before = revisions.get(key, 0)
                if revision > before:
                    revisions[key] = revision
                else:
                    what = f"it writes revision {revision} of {key!r}, which was at {before} already"
                    flaws.append(self._flaw(row, what))
            last = row
        self._last = last
        return flaws

    def repeated(self) -> set[int]:
        """What stands for command ids that seem to be there twice: nearly always nothing."""
        return {one for one, next_one in pairwise(sorted(self._commands)) if one == next_one}

    async def doubles(self, slices: AsyncIterator[list[Row]]) -> list[Flaw]:
        """The commands whose id an earlier one of the same actor has; `slices` are all rows once more."""
        suspects = self.repeated()
        if not suspects:
            return []
        flaws: list[Flaw] = []
        first: dict[Command, int] = {}
        async for rows in slices:
            for row in rows:
                command = (row.actor, row.command_id)
                if row.request_digest is None or hash(command) not in suspects:
                    continue
                if (seq := first.setdefault(command, row.seq)) != row.seq:
                    flaws.append(self._flaw(row, f"its command has the id of the one at event {seq}"))
        return flaws

    def _flaw(self, row: Row, what: str) -> Flaw:
        return Flaw(self._board, row.seq, f"event {row.seq} of board {self._board!r}: {what}")


def unexplained(board: str, gone: Sequence[int], named: set[int]) -> list[Flaw]:
    """A body that is gone breaks no hash: only what the log says of it tells a redaction from an erasure."""
    return [
        Flaw(
            board,
            seq,
            f"event {seq} of board {board!r}: its body is gone, and no event says that it was redacted",
        )
        for seq in gone
        if seq not in named
    ]
