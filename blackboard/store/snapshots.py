"""How a board becomes the parts of a stored snapshot, a slice at a time."""

from __future__ import annotations

import asyncio

from blackboard.events.envelope import Tip
from blackboard.projections import snapshot
from blackboard.store.folding import snapshot_digest

PART_BYTES = 256 * 1024
"""A part is a statement of its own, so that commits come between. Measured: one blob of 50 MB holds the
writing connection for half a second and more, the longest of its parts of 1 MiB for a tenth of that."""


async def encoded(captured: snapshot.Captured, tip: Tip) -> tuple[bytes, list[bytes]]:
    """The digest and the parts of a captured board. Yields to the loop after every slice."""
    parts: list[bytes] = []
    gathered = bytearray()
    for piece in snapshot.encode(captured):
        gathered += piece
        while len(gathered) >= PART_BYTES:
            parts.append(bytes(gathered[:PART_BYTES]))
            del gathered[:PART_BYTES]
        await asyncio.sleep(0)
    parts.append(bytes(gathered))
    return await asyncio.to_thread(snapshot_digest, tip, parts), parts
