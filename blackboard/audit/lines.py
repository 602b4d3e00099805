"""An event as a line of JSON, as logs are printed and served, and the row that it was."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from blackboard import canonical
from blackboard.errors import Malformed
from blackboard.events.envelope import Row

MAX_BYTES: Final = 16 * 1024 * 1024
"""The longest line that is read: several times the largest command."""

DEPTH: Final = 2 * canonical.EXACT_DEPTH
"""How deep a body may nest: a record, which goes deepest, and what is around it."""


class _Line(Struct, forbid_unknown_fields=True):
    """`EventView`, with its body as it stands."""

    board: str
    seq: int
    kind: str
    version: int
    actor: str
    recorded_at: int
    command_id: str
    body_digest: str
    hash: str
    body: msgspec.Raw = msgspec.Raw(b"null")
    turn: int | None = None
    key: str | None = None
    revision: int | None = None
    request_digest: str | None = None
    salt: str | None = None


_DECODER: Final = msgspec.json.Decoder(_Line)


def read_row(line: bytes) -> Row:
    """The row of an event, from its JSON. Raises `Malformed`.

    The body's bytes are its canonical JSON, however the line writes it: what is stored is that, always.
    """
    if len(line) > MAX_BYTES:
        raise Malformed(f"an event has at most {MAX_BYTES} bytes as JSON", member="event")
    try:
        found = _DECODER.decode(line)
        body = msgspec.json.decode(found.body)
        return Row(
            found.board,
            found.seq,
            found.kind,
            found.version,
            found.actor,
            found.turn,
            found.command_id,
            _digest(found.request_digest),
            found.key,
            found.revision,
            found.recorded_at,
            None if body is None else canonical.encode(body, depth=DEPTH).decode(),
            _digest(found.salt),
            bytes.fromhex(found.body_digest),
            bytes.fromhex(found.hash),
        )
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(
            f"this is no event as `blackboard log --json` prints it: {error}", member="event"
        ) from error


def _digest(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
