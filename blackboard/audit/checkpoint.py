"""Checkpoints: how far a log had come, and the root over all of it. Source: C2SP `tlog-checkpoint`.

A checkpoint that is kept where nobody who can write the database can, holds the whole log before it in place:
whatever is changed, removed, reordered or put back there, the log no longer has that root at that size.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct

from blackboard.audit import note
from blackboard.audit.merkle import EMPTY, HASH_BYTES
from blackboard.errors import Malformed, shorten
from blackboard.gate.actions.signing import PrivateKey

PREFIX: Final = "blackboard/"

_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")


class Checkpoint(Struct, frozen=True):
    """The board's log had `size` events, and `root` over their chain hashes."""

    board: str
    size: int
    root: bytes

    @property
    def origin(self) -> str:
        """The name of the log; see `origin_of`."""
        return origin_of(self.board)


def origin_of(board: str) -> str:
    """The name of a board's log: `blackboard/<board>`, what a name of a key cannot hold percent-encoded.

    Boards of two databases may share it: their keys tell them apart.
    """
    return PREFIX + quote(board, safe="/:@!$&'()*,;=")


def board_of(origin: str) -> str:
    """The board whose log has this name. Raises `Malformed` where there can be none."""
    board = unquote(origin.removeprefix(PREFIX), errors="replace")
    if not board or origin_of(board) != origin:
        raise Malformed(
            f"{shorten(origin)} is no log of a board; those are named {PREFIX}<board>", member="origin"
        )
    return board


def text_of(checkpoint: Checkpoint) -> str:
    """The three lines that are signed."""
    return f"{checkpoint.origin}\n{checkpoint.size}\n{note.base64_text(checkpoint.root)}\n"


def read_text(text: str) -> Checkpoint:
    """The checkpoint in the text of a note; lines behind the third are not ours and say nothing.

    Raises `Malformed`, saying what is wrong.
    """
    lines = text[:-1].split("\n")
    if len(lines) < 3 or not all(lines):
        raise _malformed("its text is origin, size and root, a line each, and no line is empty")
    origin, size, encoded = lines[:3]
    root = note.base64_bytes(encoded)
    if not _SIZE.fullmatch(size):
        raise _malformed(f"{shorten(size)} is no size")
    if root is None or len(root) != HASH_BYTES:
        raise _malformed(f"{shorten(encoded)} is no root: that is {HASH_BYTES} bytes in Base64")
    if size == "0" and root != EMPTY:
        raise _malformed("an empty log has the root of an empty tree")
    return Checkpoint(board_of(origin), int(size), root)


def signed(checkpoint: Checkpoint, key: PrivateKey) -> str:
    """The checkpoint as a note, signed under the name of its log."""
    return note.encode(note.sign(text_of(checkpoint), key, checkpoint.origin))


def opened(data: bytes, public_key: str | bytes) -> Checkpoint:
    """The checkpoint in a note that the holder of this key has signed.

    The key is given in any form that `note.read_key` takes. Raises `Malformed` for what is no checkpoint, no
    key or not signed by it, `IntegrityFailure` where the signature is not that of the text.
    """
    found = note.parse(data)
    checkpoint = read_text(found.text)
    note.verify(found, note.read_key(public_key, checkpoint.origin))
    return checkpoint


def _malformed(what: str) -> Malformed:
    return Malformed(f"this is no checkpoint: {what}", member="note")
