"""Digests and the step of the hash chain. Their formats are fixed for ever: every log rests on them."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from struct import Struct
from typing import Final

import msgspec

__all__ = [
    "GENESIS",
    "body_digest",
    "chain",
    "digest",
    "framed",
    "framed_command",
    "link",
    "payload_hash",
    "request_digest",
]

GENESIS: Final = bytes(32)
"""What stands for the previous hash in a board's first event."""

_TAG: Final = b"blackboard/event/1\0"
_ABSENT: Final = b"\xff\xff\xff\xff"
_length: Final = Struct(">I").pack
_integer: Final = Struct(">Iq").pack
_integer_length: Final = Struct(">IqI").pack
_quoted: Final = msgspec.json.Encoder().encode


def digest(*parts: bytes) -> bytes:
    """Return the SHA-256 (32 bytes) of the parts, one after another; their borders leave no trace."""
    return sha256(b"".join(parts)).digest()


def body_digest(salt: bytes, body: bytes) -> bytes:
    """Return the digest under which a body stands in the chain; `salt` is the event's 16 random bytes.

    Once both are erased, the digest gives no way to test a guess.
    """
    return sha256(salt + body).digest()


def request_digest(salt: bytes, canonical_command: bytes) -> bytes:
    """Return the digest that binds an idempotency key to a command.

    `salt` is that of the command's first event, `canonical_command` its RFC 8785 bytes without `seen`.
    """
    return sha256(salt + canonical_command).digest()


def payload_hash(  # noqa: PLR0917 - the hashed members
    agent: str,
    key: str,
    revision: int,
    value: bytes,
    deleted: bool = False,
    confidence: bytes | None = None,
) -> bytes:
    """Return the SHA-256 of what an agent writes at a revision.

    Hashed are the RFC 8785 bytes of `{"agent", "key", "revision", "value"}`, with `"deleted": true` only for
    a deletion and `"confidence"` only where one is given. `value` and `confidence` are canonical bytes;
    `agent` and `key` hold no lone surrogates.
    """
    return sha256(
        b'{"agent":%b%b%b,"key":%b,"revision":%d,"value":%b}'
        % (
            _quoted(agent),
            b"" if confidence is None else b',"confidence":' + confidence,
            b',"deleted":true' if deleted else b"",
            _quoted(key),
            revision,
            value,
        )
    ).digest()


def chain(  # noqa: PLR0917 - the envelope, in its order
    previous: bytes,
    board: str,
    seq: int,
    kind: str,
    version: int,
    actor: str,
    turn: int | None,
    command_id: str | None,
    request_digest: bytes | None,
    key: str | None,
    revision: int | None,
    recorded_at: int,
    body_digest: bytes,
) -> bytes:
    """Return the hash of an event: SHA-256 over the tag, the previous hash (32 bytes) and the envelope.

    Each field, in this order, is its length as 4 big-endian bytes and then its bytes: text in UTF-8,
    integers as 8 bytes big-endian two's complement, digests as they are. An absent field is the length
    2^32-1 with nothing behind it.

    Two different envelopes never give the same bytes. Tag and previous hash have a fixed size; from there
    on a reader needs no more than the order of the fields: each length says where its field ends and the
    next begins, so the bytes split in one way only. Within a field, UTF-8 and two's complement are
    one-to-one, and no field is long enough to have the length that means "absent".
    """
    shared = framed_command(kind, version, actor, turn, command_id, request_digest)
    return link(previous, framed(board.encode()), seq, shared, key, revision, recorded_at, body_digest)


def framed_command(  # noqa: PLR0917 - the envelope, in its order
    kind: str,
    version: int,
    actor: str,
    turn: int | None,
    command_id: str | None,
    request_digest: bytes | None,
) -> bytes:
    """Return the frames of the fields that consecutive events of one command share, for `link`."""
    return (
        _framed_actor(kind, version, actor, turn)
        + (_ABSENT if command_id is None else framed(command_id.encode()))
        + (_ABSENT if request_digest is None else framed(request_digest))
    )


@lru_cache(maxsize=4096)
def _framed_actor(kind: str, version: int, actor: str, turn: int | None) -> bytes:
    # A log has few of these, and verifying it meets them again and again.
    return b"".join(
        (
            framed(kind.encode()),
            _integer(8, version),
            framed(actor.encode()),
            _ABSENT if turn is None else _integer(8, turn),
        )
    )


def link(  # noqa: PLR0917 - the envelope, in its order
    previous: bytes,
    board: bytes,
    seq: int,
    command: bytes,
    key: str | None,
    revision: int | None,
    recorded_at: int,
    body_digest: bytes,
) -> bytes:
    """Return what `chain` returns, from `board` by `framed` and `command` by `framed_command`.

    Sealing a batch frames what its events share once.
    """
    return sha256(
        b"".join(
            (
                _TAG,
                previous,
                board,
                _integer(8, seq),
                command,
                _ABSENT if key is None else framed(key.encode()),
                _ABSENT if revision is None else _integer(8, revision),
                _integer_length(8, recorded_at, len(body_digest)),
                body_digest,
            )
        )
    ).digest()


def framed(field: bytes) -> bytes:
    """Return the field behind its length."""
    return _length(len(field)) + field
