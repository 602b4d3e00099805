"""At which revision a database's tables are, without Alembic: opening must be quick.

What is asked is written once, for every driver: `stored` is a generator that yields SQL and is sent the rows
that it found. `answered` and `answered_async` drive it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, NamedTuple

from blackboard import __version__
from blackboard.errors import SchemaMismatch

KNOWN = ("0001", "0002", "0003", "0004")
"""Every revision that this release knows, oldest first; a test holds it and `migrations/` together."""

NEWEST = KNOWN[-1]
"""The newest revision in `migrations/`."""

OLDEST = "0003"
"""The oldest revision that this release serves as it is: from here on there is what its statements name."""

EXPANDED = "0003"
"""What lies above takes away what the release before still uses: see `blackboard db upgrade --expand`."""

TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgresql": (
        "SELECT c.relname FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT 1 "
        "FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid "
        "AND d.deptype = 'e')"
    ),
}
"""How an engine lists the tables of a database; those that a PostgreSQL extension made are its own affair."""

Rows = Sequence[Sequence[Any]]
Asking = Generator[str, Rows, "Stored"]


class Stored(NamedTuple):
    """What a database says of its tables: their revision (None: there are none), and the oldest revision
    whose code may work on them (None: it does not say).
    """

    revision: str | None
    works_from: str | None


def stored(engine: str) -> Asking:
    """Ask a database of this engine ("sqlite", "postgresql") for what `Stored` holds.

    Raises `SchemaMismatch` where tables stand that no migration of this project has made, or where some
    are missing.
    """
    names = {str(row[0]) for row in (yield TABLES[engine])}
    found = (yield "SELECT version_num FROM alembic_version") if "alembic_version" in names else ()
    revision = str(found[0][0]) if found else None
    _check_tables(names - {"alembic_version"}, revision)
    if revision is None or "revisions" not in names:
        return Stored(revision, None)
    said = {str(row[0]): str(row[1]) for row in (yield "SELECT revision, works_from FROM revisions")}
    return Stored(revision, said.get(revision))


def _check_tables(names: set[str], revision: str | None) -> None:
    missing = {"boards", "events", "formats", "tokens"} - names
    listed = ", ".join(sorted(names)[:3])
    if names and len(missing) == 4:
        raise SchemaMismatch(
            f"this database holds other tables ({listed}) and no board: name another database"
        )
    if revision is None and names:
        raise SchemaMismatch(
            f"this database has tables of these names ({listed}) and no schema revision: it is damaged, or "
            "another application's; keep a copy of it and restore a backup, or name another database"
        )
    if revision is not None and missing:
        raise SchemaMismatch(
            f"this database says that it is at schema revision {revision!r}, and its tables "
            f"{', '.join(sorted(missing))} are missing: keep a copy of it and restore a backup",
            members={"revision": revision, "newest": NEWEST},
        )


def answered(asking: Asking, fetch: Callable[[str], Rows]) -> Stored:
    """Drive `asking` with a function that carries out one statement."""
    try:
        sql = next(asking)
        while True:
            sql = asking.send(fetch(sql))
    except StopIteration as done:
        found: Stored = done.value
        return found


async def answered_async(asking: Asking, fetch: Callable[[str], Awaitable[Rows]]) -> Stored:
    """The same with a coroutine function, such as `fetch` of an asyncpg connection."""
    try:
        sql = next(asking)
        while True:
            sql = asking.send(await fetch(sql))
    except StopIteration as done:
        found: Stored = done.value
        return found


def stored_schema(connection: sqlite3.Connection) -> Stored:
    """`stored`, asked of an SQLite file."""
    return answered(stored("sqlite"), lambda sql: connection.execute(sql).fetchall())


def stored_revision(connection: sqlite3.Connection) -> str | None:
    """The revision that an SQLite file says it is at, None for an empty one. Raises `SchemaMismatch`."""
    return stored_schema(connection).revision


def check_known(revision: str | None, where: str) -> None:
    """Raise `SchemaMismatch` where the database is ahead of this release, which cannot migrate it then.

    `where` names the database in messages, without a password.
    """
    if revision is not None and revision not in KNOWN:
        raise SchemaMismatch(
            f"{where} is at schema revision {revision!r}, ahead of release {__version__}, which goes up to "
            f"{NEWEST}: run a newer release, or take the database down with one (`blackboard db downgrade`)",
            members={"revision": revision, "newest": NEWEST},
        )


def check_readable(revision: str | None, works_from: str | None, where: str) -> None:
    """Raise `SchemaMismatch` where this release cannot read the log: it is the same at all revisions that
    this release knows, and at one that it does not know where that says itself that code of `NEWEST` may
    still work on it. `where` names the database in messages, without a password.
    """
    if revision not in KNOWN and works_from in KNOWN:
        return
    check_known(revision, where)
    if revision is None:
        raise _older(revision, where)


def check_works(revision: str | None, works_from: str | None, where: str) -> None:
    """Raise `SchemaMismatch` where this release cannot serve the database as it is: below `OLDEST`, or where
    it cannot even read the log.
    """
    check_readable(revision, works_from, where)
    if revision in KNOWN[: KNOWN.index(OLDEST)]:
        raise _older(revision, where)


def _older(revision: str | None, where: str) -> SchemaMismatch:
    run = "run `blackboard db upgrade`"
    if revision is not None and "://" in where:  # a file has one owner; a server's database may have others
        run = (
            "run `blackboard db upgrade --expand` while servers of an earlier release use it, or "
            "`blackboard db upgrade` when none does"
        )
    return SchemaMismatch(
        f"{where} is at schema revision {revision or 'none'}, this release needs {OLDEST} to {NEWEST}: {run}",
        members={"revision": revision, "newest": NEWEST},
    )
