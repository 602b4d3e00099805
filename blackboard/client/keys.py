"""Idempotency keys that sort by time, so that the index they stand in grows at its end."""

from __future__ import annotations

import secrets
import time

from blackboard.errors import Malformed
from blackboard.messages.idempotency import check_idempotency_key

__all__ = ["checked_idempotency_key", "new_idempotency_key"]

_NAME = "Idempotency-Key"


def new_idempotency_key() -> str:
    """A key that nobody has used: milliseconds in 12 hex digits, then 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(10)}"


def checked_idempotency_key(key: str) -> str:
    """Return `key` where it means the same as an argument and as a header. Raises `Malformed`."""
    if not isinstance(key, str):
        raise Malformed(f"an idempotency key is text, not {type(key).__name__}", member=_NAME)
    check_idempotency_key(key)
    if key != key.strip():
        raise Malformed(
            "the idempotency key begins or ends with a space, which a header does not keep",
            member=_NAME,
            limit="no space around it",
            value=key,
        )
    return key
