"""What `doctor` and `/readyz` say about a PostgreSQL database."""

from __future__ import annotations

from functools import partial

from blackboard.store.postgresql.connecting import Connection, Pool
from blackboard.store.postgresql.figures import Figures, look, own_session
from blackboard.store.revision import NEWEST, answered_async, stored


async def check(reading: Pool, writing: Pool) -> Figures:
    """See `contract.Store.check`. Raises the driver's errors, and `Unavailable`."""
    found = await reading.run(_look)
    found["open_connections"] = reading.open + writing.open
    if found["pooled"]:
        # With a connection of each, so that none waits for the other's.
        found["own_session"] = await reading.run(lambda one: writing.run(partial(own_session, one)))
    return found


async def _look(connection: Connection) -> Figures:
    found = await look(connection)
    revision = (await answered_async(stored("postgresql"), connection.fetch)).revision
    return found | {"revision": revision or "none", "newest_revision": NEWEST}
