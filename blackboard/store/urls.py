"""Which store a URL names: one row of `STORES` each. Engines are imported when they are first used."""

from __future__ import annotations

import os.path
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from blackboard.config import Settings
from blackboard.errors import Malformed, shorten
from blackboard.store.contract import Store

SCHEME = "://"


class Opener(NamedTuple):
    """How one scheme is served. `identity` makes equal what names the same database."""

    identity: Callable[[str], str]
    open: Callable[[str, Settings, bool], Awaitable[Store]]


async def open_store(url: str, settings: Settings, *, read_only: bool = False) -> Store:
    """Open the database at `url`: `sqlite:///relative`, `sqlite:////absolute`, a path,
    `postgresql://user:password@host/database`, or `memory://`.

    An SQLite file is made where it is missing, migrated, and owned by this process until `close`.
    `read_only` opens it beside its owner: nothing is made or migrated, and what appends is refused.

    Raises `Malformed` for a URL that names no store, `StoreBusy` where another owner has the file,
    `SchemaMismatch` where it is not at this release's schema, `Unavailable` where it cannot be opened.
    """
    return await _opener(url).open(url, settings, read_only)


def identity(url: str) -> str:
    """The one spelling of a database's URL. Raises `Malformed` for a URL that names no store."""
    return _opener(url).identity(url)


def sqlite_path(url: str) -> Path:
    """The absolute path of the file that an SQLite URL or a bare path names, symbolic links resolved.

    Raises `Malformed` for a URL of another kind, or one that names no file.
    """
    scheme, separator, rest = url.partition(SCHEME)
    if not separator:
        path = url
    elif scheme == "sqlite" and rest.startswith("/"):
        path = rest[1:]
    else:
        raise _not_a_file(url)
    if path in {"", ":memory:"} or "\0" in path:
        raise _not_a_file(url)
    return Path(os.path.realpath(Path(path).expanduser()))


def _not_a_file(url: str) -> Malformed:
    scheme, separator, _ = url.partition(SCHEME)
    # Of another URL no more than its scheme: it may hold a password.
    shown = f"{scheme}{SCHEME}..." if separator and scheme != "sqlite" else shorten(url)
    return Malformed(
        f"{shown} names no database: write sqlite:///board.db, sqlite:////absolute/board.db or a path, or "
        "postgresql://user@host/database; memory:// keeps a board in memory",
        member="db",
    )


async def _open_sqlite(url: str, settings: Settings, read_only: bool) -> Store:
    from blackboard.store.sqlite.opening import open_sqlite  # noqa: PLC0415 - SQLAlchemy takes its time

    return await open_sqlite(sqlite_path(url), settings, read_only=read_only)


async def _open_postgresql(url: str, settings: Settings, read_only: bool) -> Store:
    from blackboard.store.postgresql.opening import open_postgresql  # noqa: PLC0415 - as above

    return await open_postgresql(url, settings, read_only=read_only)


def _postgresql(url: str) -> str:
    from blackboard.store.postgresql.address import parse  # noqa: PLC0415 - a package of its own

    return parse(url).shown


async def _open_memory(url: str, _settings: Settings, read_only: bool) -> Store:
    from blackboard.store.memory import MemoryStore  # noqa: PLC0415 - only where it is asked for

    if read_only:
        raise Malformed(
            "memory:// keeps a board in one store alone: there is nothing to read beside it", member="db"
        )
    return MemoryStore(url)


STORES: dict[str, Opener] = {
    "sqlite": Opener(lambda url: f"sqlite:///{sqlite_path(url)}", _open_sqlite),
    "postgresql": Opener(_postgresql, _open_postgresql),
    "postgres": Opener(_postgresql, _open_postgresql),
    "memory": Opener(lambda url: url, _open_memory),
}
"""Scheme -> store. A new store is one module and one row."""


def _opener(url: str) -> Opener:
    scheme, separator, _ = url.partition(SCHEME)
    if not separator:
        return STORES["sqlite"]
    if scheme not in STORES:
        known = ", ".join(f"{name}://" for name in STORES)
        raise Malformed(
            f"no store speaks {shorten(scheme + SCHEME)}: a database is a path or a URL that begins with "
            f"one of {known}",
            member="db",
        )
    return STORES[scheme]
