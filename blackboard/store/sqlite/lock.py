"""One owner a file: a kernel record lock on `<file>.lock`, which ends with the process that holds it.

Never a pid file: those outlive their process. A record lock belongs to the process and vanishes when the
process closes *any* descriptor of the locked file, so each is opened once and kept in `_held`.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

from blackboard.errors import StoreBusy, Unavailable

_guard = threading.Lock()
_held: dict[Path, tuple[int, int]] = {}
"""Lock file -> (descriptor, pid). A forked child inherits the map, but not the locks."""


class OwnerLock:
    """Ownership of one database file, from `acquire` to `release`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def acquire(cls, database: Path) -> OwnerLock:
        """Own `database` (an absolute, resolved path). Never waits.

        Raises `StoreBusy` where somebody owns it, `Unavailable` where no lock file can be made.
        """
        path = database.with_name(database.name + ".lock")
        with _guard:
            held = _held.get(path)
            if held is not None and held[1] == os.getpid():
                raise StoreBusy(
                    f"{database} is open in this process already, with another store: share that one "
                    "(`blackboard.connect` does) or close it first"
                )
            _held[path] = (_locked(path, database), os.getpid())
        return cls(path)

    def release(self) -> None:
        """Let go. Idempotent; the file stays, since removing it would let two processes own two files."""
        with _guard:
            held = _held.get(self._path)
            if held is not None and held[1] == os.getpid():
                del _held[self._path]
                os.close(held[0])


def _locked(path: Path, database: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(
                f"{path} cannot be made, so {database} cannot be owned; check its directory "
                f"({error.strerror})"
            ) from error
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise _busy(database, error) from error
        if _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)  # somebody removed the file between our opening and locking it


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _busy(database: Path, error: OSError) -> StoreBusy | Unavailable:
    if not isinstance(error, (BlockingIOError, PermissionError)):
        return Unavailable(f"{database} is on a file system that has no record locks ({error.strerror})")
    return StoreBusy(
        f"another process owns {database}: an SQLite file has one owner. Stop that process, or reach the "
        "board through its server (`blackboard serve`; connect with its http:// URL, or --server)",
    )
