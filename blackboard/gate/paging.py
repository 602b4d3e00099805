"""Pages of a full read: how much one holds, and how the next one is asked for."""

from __future__ import annotations

from blackboard.errors import Malformed

PAGE_BYTES = 1024 * 1024
"""A page of a full read, or of the ledger, ends with the entry or record that crosses this."""

READ_BYTES = 16 * 1024 * 1024
"""The most that a read by keys or ids serves at once."""


def parse_cursor(cursor: str | None) -> tuple[int, str | None]:
    """Page number and what comes before the page. Raises `Malformed`."""
    if cursor is None:
        return 1, None
    page, colon, key = cursor.partition(":")
    if not colon or not key or not page.isascii() or not page.isdigit() or len(page) > 9 or int(page) < 2:
        raise Malformed(
            f"cursor {cursor!r}: send the cursor of the page before, unchanged",
            member="/cursor",
            value=cursor,
        )
    return int(page), key
