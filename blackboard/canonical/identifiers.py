"""What names may look like: boards, agents, keys, idempotency keys."""

from __future__ import annotations

import re
from typing import Final

from blackboard.errors import Malformed

__all__ = ["check_identifier"]

# C0, DEL, C1, the two line separators that are no control characters by name, and lone surrogates.
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_identifier(text: str, *, member: str, max_bytes: int) -> None:
    """Accept a name of 1 to `max_bytes` bytes of UTF-8 without control characters or lone surrogates.

    Raises `Malformed`, naming `member` and the limit.
    """
    if text.isascii() and text.isprintable() and 0 < len(text) <= max_bytes:
        return
    if not text:
        raise Malformed(f"{member} is empty", member=member, limit="at least 1 character", value=text)
    found = _FORBIDDEN.search(text)
    if found is not None:
        raise Malformed(
            f"{member} holds U+{ord(found[0]):04X} at character {found.start()}, a control character, "
            "line separator or lone surrogate",
            member=member,
            limit="no control characters",
            value=text,
        )
    size = len(text.encode("utf-8"))
    if size > max_bytes:
        raise Malformed(
            f"{member} has {size} bytes in UTF-8; at most {max_bytes} are accepted",
            member=member,
            limit=max_bytes,
            value=text,
        )
