"""At which revision a database's tables are, without Alembic: opening a file must be quick."""

from __future__ import annotations

import sqlite3

from blackboard import __version__
from blackboard.errors import SchemaMismatch

NEWEST = "0002"
"""The newest revision in `migrations/`; a test holds the two together."""

KNOWN = ("0001", NEWEST)
"""Every revision that this release knows, oldest first."""


def stored_revision(connection: sqlite3.Connection) -> str | None:
    """The revision that is stored, None for an empty database.

    Raises `SchemaMismatch` where tables stand that no migration of this project has made.
    """
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" in names:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        return str(found[0][0]) if found else None
    if names:
        raise SchemaMismatch(
            f"this database holds other tables ({', '.join(sorted(names)[:3])}) and no "
            "board: name another file"
        )
    return None


def check_known(revision: str | None, where: str) -> None:
    """Raise `SchemaMismatch` where the database is ahead of this release."""
    if revision is not None and revision not in KNOWN:
        raise SchemaMismatch(
            f"{where} is at schema revision {revision!r}, ahead of release {__version__}, which goes up to "
            f"{NEWEST}: run a newer release, or take the database down with one (`blackboard db downgrade`)",
            members={"revision": revision, "newest": NEWEST},
        )


def check_current(revision: str | None, where: str) -> None:
    """Raise `SchemaMismatch` where the database is not at this release's revision."""
    check_known(revision, where)
    if revision != NEWEST:
        raise SchemaMismatch(
            f"{where} is at schema revision {revision or 'none'}, this release needs {NEWEST}: run "
            "`blackboard db upgrade`",
            members={"revision": revision, "newest": NEWEST},
        )
