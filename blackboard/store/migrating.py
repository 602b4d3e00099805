"""Alembic, driven from code: up to the newest revision, or down to an earlier one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

import blackboard
from blackboard.errors import Malformed, SchemaMismatch
from blackboard.store.engines import connected, look, shown
from blackboard.store.revision import NEWEST, check_known

_one_at_a_time = threading.Lock()
"""Alembic keeps the migration under way in module globals, and databases are opened in several threads."""


def directory() -> Path:
    """Where the migrations are: inside an installed package, beside it in a checkout.

    Raises `SchemaMismatch` where neither is there.
    """
    package = Path(blackboard.__file__).parent
    for place in (package / "_migrations", package.parent / "migrations"):
        if (place / "env.py").is_file():
            return place
    raise SchemaMismatch(f"the migrations are missing from {package}: install the package again")


def migrate(url: str, revision: str = NEWEST, *, citus: bool = False) -> str | None:
    """Take the tables up to `revision`, an empty database's from nothing; what is above is left as it is.

    The caller owns an SQLite file; a PostgreSQL database is locked here, and may be in use. One transaction:
    whatever ends it early leaves the database as it was. Blocks, and must not run where an event loop does.
    `citus`: distribute the tables by board. Returns the revision before.

    Raises `SchemaMismatch` where the database is another application's, is damaged, or ahead of this
    release, `Conflict` where Citus is asked for and not there.
    """
    return _run(url, lambda config: command.upgrade(config, revision), citus=citus)


def take_down(url: str, revision: str) -> None:
    """Take the tables down to `revision`, likewise. Raises `Malformed`."""
    try:
        _run(url, lambda config: command.downgrade(config, revision))
    except CommandError as error:
        raise Malformed(f"cannot go down to revision {revision!r}: {error}", member="revision") from error


def _run(url: str, work: Callable[[Config], None], *, citus: bool = False) -> str | None:
    before: list[str | None] = []

    def locked(connection: Connection) -> None:
        found = look(connection)
        check_known(found.revision, shown(url))
        before.append(found.revision)

    def configured(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(directory()).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        config.attributes.update(connection=connection, locked=locked, citus=citus)
        with _one_at_a_time:
            work(config)

    connected(url, configured)
    return before[-1]
