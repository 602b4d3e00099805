"""Idempotency keys: what a caller may name a command, so that sending it again is no second command."""

from __future__ import annotations

from blackboard import canonical
from blackboard.errors import Malformed

KEY_CHARACTERS = 128

SERVER_MADE = "~"
"""How the ids that the server makes begin, and no caller's key does."""

_NAME = "Idempotency-Key"


def check_idempotency_key(key: str) -> None:
    """Accept an idempotency key: 1 to 128 characters, no control characters, not one of the server's own.

    Raises `Malformed`.
    """
    canonical.check_identifier(key, member=_NAME, max_bytes=4 * KEY_CHARACTERS)
    if len(key) > KEY_CHARACTERS:
        raise Malformed(
            f"the idempotency key has {len(key)} characters; at most {KEY_CHARACTERS} are accepted",
            member=_NAME,
            limit=KEY_CHARACTERS,
            value=key,
        )
    if key.startswith(SERVER_MADE):
        raise Malformed(
            f"an idempotency key may not begin with {SERVER_MADE!r}: so begin the ids that the server makes",
            member=_NAME,
            value=key,
        )
