"""How a board becomes the parts of a stored snapshot, a slice at a time."""

from __future__ import annotations

import asyncio

from blackboard.events.envelope import Tip
from blackboard.projections import snapshot
from blackboard.store.folding import snapshot_digest

PART_BYTES = 1024 * 1024
"""A part is one statement of its own, so that commits of other boards come between: one blob of 50 MB
would hold the writing connection for a third of a second."""


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
