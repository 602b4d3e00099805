"""What `doctor` and `/readyz` say about an SQLite file."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from blackboard.errors import Unavailable
from blackboard.store.revision import NEWEST, stored_revision
from blackboard.store.sqlite.place import Place

SYNCHRONOUS = ("off", "normal", "full", "extra")

Figures = dict[str, str | int | bool]


def wal_reset_fixed(version: tuple[int, int, int]) -> bool:
    """Whether this SQLite is free of the WAL-reset fault.

    Older ones can damage a file when two connections commit and checkpoint at once. Fixed in 3.51.3, and
    in the maintained lines 3.50.7 and 3.44.6.
    """
    line, patch = version[:2], version[2]
    return version >= (3, 51, 3) or (line == (3, 50) and patch >= 7) or (line == (3, 44) and patch >= 6)


def require_wal(connection: sqlite3.Connection, path: Path) -> None:
    """Raise `Unavailable` where the file cannot have a write-ahead log."""
    mode = _pragma(connection, "journal_mode")
    if mode != "wal":
        raise Unavailable(
            f"{path} cannot use a write-ahead log (its journal is {mode}): keep it on a local file system"
        )


def look(connection: sqlite3.Connection) -> Figures:
    """What the connection can tell."""
    return {
        "engine": "sqlite",
        "version": sqlite3.sqlite_version,
        "wal_reset_fixed": wal_reset_fixed(_version(sqlite3.sqlite_version_info)),
        "journal_mode": _pragma(connection, "journal_mode"),
        "synchronous": SYNCHRONOUS[_pragma(connection, "synchronous")],
        "wal_autocheckpoint": _pragma(connection, "wal_autocheckpoint"),
        "page_size": _pragma(connection, "page_size"),
        "pages": _pragma(connection, "page_count"),
        "free_pages": _pragma(connection, "freelist_count"),
        "revision": stored_revision(connection) or "none",
        "newest_revision": NEWEST,
    }


def file(place: Place) -> Figures:
    """What the file system can tell."""
    path = place.path
    return {
        "path": str(path),
        "bytes": _size(path),
        "wal_bytes": _size(path.with_name(path.name + "-wal")),
        "disk_free": shutil.disk_usage(path.parent).free,
        "in_place": place.holds(),
    }


def _version(found: tuple[int, ...]) -> tuple[int, int, int]:
    major, minor, patch = found[:3]
    return major, minor, patch


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
