from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from sqlalchemy import Connection

from blackboard import canonical
from blackboard.config import Settings
from blackboard.events.envelope import Row
from blackboard.events.kinds import FORMAT, KINDS
from blackboard.events.upcast import UPCASTERS
from blackboard.store.contract import Store
from blackboard.store.engines import connected, is_postgresql
from blackboard.store.folding import Fold
from blackboard.store.schema.scanning import Flaw, all_boards, walk
from blackboard.store.urls import sqlite_path


class Checked(Struct):
    """What reading every event found. `opaque` events are of kinds or versions that this release does not
    know, `too_new` the boards whose format it does not know.

    `digest` is the SHA-256 over each board's name and the end of its log, in order of names: two databases
    with the same digest hold the same boards, at whatever revision, on whatever engine.
    """

    boards: int = 0
    events: int = 0
    opaque: int = 0
    redacted: int = 0
    seconds: float = 0.0
    digest: str = ""
    kinds: dict[str, int] = field(default_factory=dict)
    too_new: list[str] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)


async def check(url: str, *, progress: Callable[[int, int], None] | None = None) -> Checked:
    """Decode, verify and fold every event that is stored now, changing nothing. A flaw ends the check of its
    board.

    Works at every revision that this release knows: before an upgrade it tells whether this release reads
    all that there is. The structure of an SQLite file is checked too, and that boards and logs belong
    together.
    """
    started = time.perf_counter()
    store = await _opened(url)
    try:
        boards = await all_boards(store, url)
        checking = _Checking(store, sum(head or 0 for head in boards.values()), progress)
        for name, head in boards.items():
            await checking.board(name, head)
        damage = await asyncio.to_thread(connected, url, _damage, read_only=True)
    finally:
        await store.close()
    checked = checking.checked
    checked.flaws += [Flaw("", 0, found) for found in damage]
    checked.digest, checked.seconds = checking.digest.hexdigest(), time.perf_counter() - started
    return checked


async def _opened(url: str) -> Store:
    # Imported here: each with its driver, where it is asked for.
    if is_postgresql(url):
        from blackboard.store.postgresql.opening import open_to_check as open_postgresql  # noqa: PLC0415

        return await open_postgresql(url, Settings())
    from blackboard.store.sqlite.opening import open_to_check as open_sqlite  # noqa: PLC0415

    return await open_sqlite(sqlite_path(url), Settings())


class _Checking:
    """One check under way."""

    def __init__(self, store: Store, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.checked = Checked()
        self.digest = hashlib.sha256()
        self._store = store
        self._total = total
        self._progress = progress

    async def board(self, name: str, head: int | None) -> None:
        """Check one board up to `head`; None: it is not listed."""
        checked = self.checked
        checked.boards += 1
        fold, flaws = await walk(self._store, name, head, self._take)
        checked.flaws += flaws
        if fold.board.format > FORMAT:
            checked.too_new.append(name)
        end = fold.board.head.to_bytes(8, "big") + fold.hash
        self.digest.update(canonical.framed(name.encode()) + end)

    async def _take(self, fold: Fold, rows: list[Row]) -> None:
        fold.verify(rows)
        self._tally(rows)

    def _tally(self, rows: Sequence[Row]) -> None:
        checked = self.checked
        checked.events += len(rows)
        for row in rows:
            checked.kinds[row.kind] = checked.kinds.get(row.kind, 0) + 1
            known = (row.kind, row.version) in KINDS or (row.kind, row.version) in UPCASTERS
            checked.opaque += not known
            checked.redacted += row.body is None
        if self._progress is not None:
            self._progress(checked.events, self._total)


def _damage(connection: Connection) -> list[str]:
    """What SQLite finds wrong with the file: pages, and indexes that do not fit their tables."""
    if connection.dialect.name != "sqlite":
        return []
    found = [str(said) for (said,) in connection.exec_driver_sql("PRAGMA integrity_check(10)")]
    return [] if found == ["ok"] else found
