"""Opening an SQLite file: own it, bring its schema up, connect."""

from __future__ import annotations

import asyncio
from pathlib import Path

from blackboard.config import Settings
from blackboard.errors import Malformed, Unavailable
from blackboard.store.revision import KNOWN, NEWEST, Stored, check_readable, check_works, stored_schema
from blackboard.store.sqlite.connecting import peek
from blackboard.store.sqlite.lock import OwnerLock
from blackboard.store.sqlite.store import SqliteStore


async def open_sqlite(path: Path, settings: Settings, *, read_only: bool) -> SqliteStore:
    """See `urls.open_store`."""
    _check_place(path)
    if read_only:
        check_works(*await asyncio.to_thread(peek, path, stored_schema), str(path))
        return await _connected(path, settings, None)
    lock = OwnerLock.acquire(path)
    try:
        await asyncio.to_thread(bring_up, path)
        return await _connected(path, settings, lock)
    except BaseException:
        lock.release()
        raise


async def open_to_check(path: Path, settings: Settings) -> SqliteStore:
    """Open a file read-only at any revision whose log this release reads."""
    check_readable(*await asyncio.to_thread(peek, path, stored_schema), str(path))
    return await _connected(path, settings, None)


async def _connected(path: Path, settings: Settings, lock: OwnerLock | None) -> SqliteStore:
    store = SqliteStore(path, settings, lock)
    try:
        await store.open()
    except BaseException:
        await store.close()
        raise
    return store


def bring_up(path: Path) -> None:
    """Make the file where it is missing and take it to the newest revision. The caller owns it.

    One that is ahead of this release is left as it is, where it says that this release may use it.
    """
    found = peek(path, stored_schema) if path.exists() else Stored(None, None)
    if found.revision not in (None, *KNOWN):
        check_works(*found, str(path))
    elif found.revision != NEWEST:
        from blackboard.store.migrating import migrate  # noqa: PLC0415 - Alembic takes its time

        migrate(str(path))


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise Malformed(f"{path} is a directory; name a file in it", member="db")
    if not path.parent.is_dir():
        raise Unavailable(f"the directory {path.parent} does not exist: make it, or name another file")
