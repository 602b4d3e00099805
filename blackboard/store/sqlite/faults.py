"""The one seam where what SQLite raises becomes an error of the tree.

SQLite's result codes: https://www.sqlite.org/rescode.html
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Literal

from blackboard.errors import (
    BlackboardError,
    IntegrityFailure,
    Malformed,
    OutcomeUnknown,
    SchemaMismatch,
    StoreBusy,
    Unavailable,
)

Doing = Literal["read", "write"]
Taken = Literal["seq", "command"]

DRIVER_ERRORS = (sqlite3.Error, UnicodeEncodeError, OverflowError, ValueError)
"""What the driver raises: SQLite's errors, values that it cannot bind, and a connection that is gone."""

RETRY_SECONDS = 1

HARMLESS = {sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL}
"""After these the connection is as good as before; after any other it is opened anew."""


class Moved(sqlite3.OperationalError):
    """The path leads to another file than the one that is open: what is written there would be lost."""


class WrongCount(sqlite3.DatabaseError):
    """SQLite reported another number of rows than it was given."""


class Gap(sqlite3.IntegrityError):
    """The rows do not continue the log: what they were decided on is not there."""


def breaks(error: BaseException) -> bool:
    """Whether the connection that raised `error` is better replaced."""
    return (
        isinstance(error, sqlite3.Error)
        and not isinstance(error, (Gap, Moved))
        and _primary(error) not in HARMLESS
    )


def taken(error: sqlite3.IntegrityError) -> Taken | None:
    """Which key of the log a row violates, None for another constraint."""
    if isinstance(error, Gap):
        return "seq"
    said = str(error)
    if "events.command_id" in said:
        return "command"
    if "events.seq" in said or "events.revision" in said or "boards.id" in said:
        return "seq"
    return None


def translated(error: BaseException, path: Path, doing: Doing) -> BlackboardError:
    """What a caller is told. A write that failed was not stored, except after `OutcomeUnknown`."""
    if isinstance(error, UnicodeEncodeError):
        return Malformed("text with a lone surrogate is neither stored nor found", value=ascii(error.object))
    if isinstance(error, OverflowError):
        return Malformed("an integer beyond 64 bits is neither stored nor found")
    if not isinstance(error, sqlite3.Error):
        return closed(path)
    return _translated(error, _primary(error), path, doing)


def closed(path: Path) -> Unavailable:
    """The store was closed, or its connection is being replaced."""
    return Unavailable(f"the database {path} is not open", members={"retry_after": RETRY_SECONDS})


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF


def _translated(error: sqlite3.Error, code: int, path: Path, doing: Doing) -> BlackboardError:
    said = f"SQLite says: {error}"
    stored = "nothing was stored; " if doing == "write" else ""
    if isinstance(error, WrongCount):
        return _unknown(f"{path} did not take what it was given", said)
    if isinstance(error, Moved):
        return Unavailable(
            f"{path} was moved, replaced or deleted while it was open; {stored}put it back, or restart to "
            "use what is there now"
        )
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(
                f"another connection holds the lock of {path}; {stored}close what else writes to this file, "
                f"then try again ({said})",
                members={"retry_after": RETRY_SECONDS},
            )
        case sqlite3.SQLITE_FULL:
            return _unavailable(f"no space is left for {path}; {stored}free some: writing then goes on", said)
        case sqlite3.SQLITE_IOERR if doing == "write":
            return _unknown(f"the disk failed while {path} was written", said)
        case sqlite3.SQLITE_IOERR:
            return _unavailable(f"{path} could not be read; check the disk", said)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_FORMAT:
            return IntegrityFailure(
                f"{path} is damaged or is no SQLite database; {stored}keep a copy of it and restore a backup "
                f"({said})"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH | sqlite3.SQLITE_CANTOPEN:
            return _unavailable(
                f"{path} cannot be {'written' if doing == 'write' else 'opened'}; {stored}"
                "check that it exists and what its permissions and its directory's are",
                said,
            )
        case sqlite3.SQLITE_ERROR if "no such table" in str(error) or "no such column" in str(error):
            return SchemaMismatch(
                f"{path} has not this release's tables; run `blackboard db upgrade` ({said})"
            )
        case _ if "Could not decode to UTF-8" in str(error):  # by the driver: what it quotes is no help
            return IntegrityFailure(
                f"{path} holds text that is not UTF-8: it is damaged; keep a copy of it and restore a backup"
            )
        case sqlite3.SQLITE_ERROR if "already exists" in str(error):
            return SchemaMismatch(
                f"{path} has tables of these names and no schema revision: it is damaged, or another "
                f"application's; keep a copy of it and restore a backup, or name another file ({said})"
            )
        case _:
            return _unavailable(f"the database {path} cannot be used now; {stored}try again", said)


def _unavailable(what: str, said: str) -> Unavailable:
    return Unavailable(f"{what} ({said})", members={"retry_after": RETRY_SECONDS})


def _unknown(what: str, said: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{what}: it may or may not have been stored. Check the disk, then send it again with the same "
        f"idempotency key ({said})",
        members={"retry_after": RETRY_SECONDS},
    )
