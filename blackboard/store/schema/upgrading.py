from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from blackboard.config import Settings
from blackboard.errors import BlackboardError, Malformed
from blackboard.store.contract import Store
from blackboard.store.engines import is_postgresql, shown
from blackboard.store.revision import EXPANDED, NEWEST, check_known
from blackboard.store.schema.current import current
from blackboard.store.urls import open_store, sqlite_path


class Upgraded(Struct, frozen=True):
    """What an upgrade did: revisions before and after, boards whose snapshot was built, and boards whose
    could not be, with the reason.
    """

    before: str | None
    revision: str
    snapshots: list[str]
    skipped: dict[str, str]


async def upgrade(
    url: str,
    settings: Settings | None = None,
    *,
    expand: bool = False,
    citus: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Upgraded:
    """Take the tables to the newest revision, making the file where it is missing, and build the snapshots
    that this release would otherwise build while serving.

    `expand` (PostgreSQL) stops before the first migration that takes away what the release before uses.
    `citus` (PostgreSQL) spreads the tables over the nodes of a Citus cluster, by board.

    Raises `SchemaMismatch` for a database of another application or ahead of this release, `Malformed` for
    an option that means nothing on SQLite.
    """
    chosen = settings if settings is not None else Settings()
    if is_postgresql(url):
        before, revision = await _migrated(url, expand=expand, citus=citus)
    else:
        _check_options(expand=expand, citus=citus)
        before, revision = await _of_file(url), NEWEST
    store = await open_store(url, chosen)
    try:
        made, skipped = await _prebuild(store, chosen.snapshot_every, progress)
    finally:
        await store.close()
    return Upgraded(before, revision, made, skipped)


async def _migrated(url: str, *, expand: bool, citus: bool) -> tuple[str | None, str]:
    from blackboard.store.migrating import migrate  # noqa: PLC0415 - Alembic takes its time

    before = await asyncio.to_thread(migrate, url, EXPANDED if expand else NEWEST, citus=citus)
    after = await current(url)
    return before, after.revision or NEWEST


async def _of_file(url: str) -> str | None:
    """The revision of the file; opening it migrates it."""
    if not sqlite_path(url).exists():
        return None
    before = (await current(url)).revision
    check_known(before, shown(url))
    return before


def _check_options(*, expand: bool, citus: bool) -> None:
    for name, given in (("expand", expand), ("citus", citus)):
        if given:
            raise Malformed(
                f"--{name} is for a PostgreSQL database that several servers share; an SQLite file has one "
                "owner, which takes it to the newest revision when it opens it: leave the option out",
                member=name,
            )


async def _prebuild(
    store: Store, snapshot_every: int, progress: Callable[[int, int], None] | None
) -> tuple[list[str], dict[str, str]]:
    boards = [row for row in await store.boards() if row.head >= snapshot_every]
    done, total = 0, sum(row.head for row in boards)
    made: list[str] = []
    skipped: dict[str, str] = {}
    for row in boards:
        try:
            loaded = await store.load(row.name)
            if loaded is not None and loaded.replayed >= snapshot_every:
                await store.snapshot(loaded.board, loaded.tip)
                made.append(row.name)
        except BlackboardError as error:
            skipped[row.name] = error.detail
        done += row.head
        if progress is not None:
            progress(done, total)
    return made, skipped
