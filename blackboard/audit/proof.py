"""Proofs as text: that an event is in a log, and that a log has gone on from an earlier checkpoint.

An inclusion proof has the form of C2SP `tlog-proof`; its extra data are the chain hash before the event, so
that whoever has the event can make its hash. A consistency proof has the form in which C2SP `tlog-witness`
takes one: size of the earlier tree, hashes, and the later checkpoint. Both are read strictly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from blackboard.audit import merkle
from blackboard.audit.checkpoint import Checkpoint
from blackboard.audit.note import MAX_BYTES, base64_bytes, base64_text
from blackboard.errors import IntegrityFailure, Malformed, shorten
from blackboard.events.envelope import Row, verify_row

HEADER: Final = "c2sp.org/tlog-proof@v1"

MOST_HASHES: Final = 63
"""No proof is longer: sizes are below 2^63."""

_INDEX: Final = re.compile(r"index (0|[1-9][0-9]{0,18})")
_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})")


class Inclusion(Struct, frozen=True):
    """Leaf `index` (the event's seq less 1) is in the tree of the checkpoint in `note`.

    `previous` is the chain hash of the event before it.
    """

    index: int
    previous: bytes
    hashes: list[bytes]
    note: str

    def text(self) -> str:
        """The proof as it is written down."""
        extra = f"extra {base64_text(self.previous)}"
        return _written([HEADER, extra, f"index {self.index}"], self.hashes, self.note)

    def check(self, checkpoint: Checkpoint, row: Row) -> None:
        """Accept an event that the log of this checkpoint, which is that of the note, holds at its place.

        Raises `IntegrityFailure` for any other.
        """
        if row.board != checkpoint.board or row.seq != self.index + 1:
            raise IntegrityFailure(
                f"the proof is about event {self.index + 1} of board {checkpoint.board!r}, and this is event "
                f"{row.seq} of board {row.board!r}"
            )
        if row.body is None or not verify_row(row, self.previous):
            raise IntegrityFailure(f"event {row.seq} is not what its digests, and the hash before it, say")
        if not merkle.included(row.hash, self.index, checkpoint.size, self.hashes, checkpoint.root):
            raise IntegrityFailure(f"event {row.seq} is not in the log of the checkpoint")


class Consistency(Struct, frozen=True):
    """The first `size` events of the log in `note`'s checkpoint are those of an earlier checkpoint."""

    size: int
    hashes: list[bytes]
    note: str

    def text(self) -> str:
        """The proof as it is written down."""
        return _written([f"old {self.size}"], self.hashes, self.note)

    def check(self, checkpoint: Checkpoint, since: Checkpoint) -> None:
        """Accept an earlier checkpoint that the one of the note goes on from.

        Raises `IntegrityFailure` for any other.
        """
        if (since.board, since.size) != (checkpoint.board, self.size):
            raise IntegrityFailure(
                f"the proof is about the first {self.size} events of board {checkpoint.board!r}, and the "
                f"earlier checkpoint about {since.size} of board {since.board!r}"
            )
        both = (since.size, since.root, checkpoint.size, checkpoint.root)
        if not merkle.consistent(*both, self.hashes):
            raise IntegrityFailure(
                f"the log of {checkpoint.size} events does not go on from the one of {since.size}: the "
                "earlier events were changed, removed, reordered or put back"
            )


def read_proof(data: bytes) -> Inclusion | Consistency:
    """Read a proof of either kind; the note in it is not verified. Raises `Malformed`."""
    if len(data) > MAX_BYTES:
        raise _malformed(f"it is longer than {MAX_BYTES} bytes")
    try:
        head, blank, note = data.decode("utf-8").partition("\n\n")
    except UnicodeDecodeError as error:
        raise _malformed("it is not UTF-8") from error
    if not blank:
        raise _malformed("no blank line stands between its hashes and a checkpoint")
    first, *rest = head.split("\n")
    if first == HEADER:
        return _read_inclusion(rest, note)
    found = _OLD.fullmatch(first)
    if found is None:
        raise _malformed(f"it begins with {shorten(first)}, and not with `{HEADER}` or `old SIZE`")
    return Consistency(int(found[1]), _hashes(rest), note)


def _read_inclusion(lines: Sequence[str], note: str) -> Inclusion:
    extra, index, *rest = [*lines, "", ""][: max(len(lines), 2)]
    previous = base64_bytes(extra.removeprefix("extra "))
    found = _INDEX.fullmatch(index)
    if not extra.startswith("extra ") or previous is None or len(previous) != merkle.HASH_BYTES:
        raise _malformed(f"its second line is `extra` and the hash before the event, not {shorten(extra)}")
    if found is None:
        raise _malformed(f"its third line is `index` and a number, not {shorten(index)}")
    return Inclusion(int(found[1]), previous, _hashes(rest), note)


def _hashes(lines: Sequence[str]) -> list[bytes]:
    if len(lines) > MOST_HASHES:
        raise _malformed(f"it has more than {MOST_HASHES} hashes")
    found = []
    for line in lines:
        data = base64_bytes(line)
        if data is None or len(data) != merkle.HASH_BYTES:
            raise _malformed(f"{shorten(line)} is no hash in Base64")
        found.append(data)
    return found


def _written(head: Sequence[str], hashes: Sequence[bytes], note: str) -> str:
    return "\n".join([*head, *map(base64_text, hashes), "", note])


def _malformed(what: str) -> Malformed:
    return Malformed(f"this is no proof: {what}", member="proof")
