from __future__ import annotations

import asyncio
import contextlib

from sqlalchemy import Connection, func, select

from blackboard.errors import Conflict, Malformed
from blackboard.store.engines import connected, is_postgresql, look, shown
from blackboard.store.revision import KNOWN, check_known
from blackboard.store.schema.current import Current, current
from blackboard.store.sqlite.lock import OwnerLock
from blackboard.store.tables import events
from blackboard.store.urls import sqlite_path

BASE = "base"
"""The revision below the first: no tables."""


async def downgrade(url: str, revision: str, *, discard_log: bool = False) -> Current:
    """Take the tables down to `revision`: one of the known, `-n` for so many steps, or `base`.

    Down to `base` drops the log: refused with `Conflict` while there are events, unless `discard_log`.
    Raises `Malformed` for a revision that is not below, `SchemaMismatch` for a database ahead of this
    release. Servers that the lower revision does not serve are to be stopped before.
    """
    with contextlib.nullcontext() if is_postgresql(url) else _owned(url):
        await asyncio.to_thread(_downgrade, url, revision, discard_log=discard_log)
        return await current(url)


def _owned(url: str) -> contextlib.AbstractContextManager[object]:
    lock = OwnerLock.acquire(sqlite_path(url))
    held = contextlib.ExitStack()
    held.callback(lock.release)
    return held


def _downgrade(url: str, revision: str, *, discard_log: bool) -> None:
    from blackboard.store.migrating import take_down  # noqa: PLC0415 - Alembic takes its time

    stored = connected(url, look, read_only=True).revision
    check_known(stored, shown(url))
    target = _below(stored, revision)
    if target == BASE and not discard_log and stored is not None:
        _check_empty(url)
    take_down(url, target)


def _check_empty(url: str) -> None:
    count = connected(url, _count, read_only=True)
    if count:
        raise Conflict(
            f"going down to {BASE!r} drops all tables, and {shown(url)} holds {count} events: keep a copy of "
            "the database, then say that its log is to be discarded",
            members={"events": count},
        )


def _count(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(events)) or 0


def _below(stored: str | None, revision: str) -> str:
    """The revision that `revision` means, as Alembic names it."""
    steps = (BASE, *KNOWN)
    at = 0 if stored is None else steps.index(stored)
    if revision in steps:
        wanted = steps.index(revision)
    elif revision.startswith("-") and revision[1:].isdecimal():
        wanted = at - int(revision[1:])
    else:
        wanted = -1
    if not 0 <= wanted <= at:
        raise Malformed(
            f"{revision!r} is not below the database's revision {steps[at]!r}: name one of "
            f"{', '.join(steps[: at + 1])}, or -1 for one step down",
            member="revision",
            value=revision,
        )
    return steps[wanted]
