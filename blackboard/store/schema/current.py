from __future__ import annotations

import asyncio

from msgspec import Struct

from blackboard.errors import SchemaMismatch
from blackboard.store.engines import connected, look
from blackboard.store.revision import NEWEST, check_works


class Current(Struct, frozen=True):
    """At which revision the tables are (None: there are none), the newest that this release knows, and
    whether this release serves the database as it is.
    """

    revision: str | None
    newest: str
    served: bool


async def current(url: str) -> Current:
    """See `Current`. Raises `SchemaMismatch` for another application's database, `Unavailable`."""
    found = await asyncio.to_thread(connected, url, look, read_only=True)
    try:
        check_works(*found, url)
    except SchemaMismatch:
        return Current(found.revision, NEWEST, served=False)
    return Current(found.revision, NEWEST, served=True)
