"""Alembic, driven from code: up to the newest revision, or down to an earlier one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

import blackboard
from blackboard.errors import Malformed, SchemaMismatch
from blackboard.store.engines import sync_engine
from blackboard.store.sqlite.faults import DRIVER_ERRORS, translated

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


def migrate(path: Path) -> None:
    """Take the file's tables to the newest revision. The caller owns the file."""
    _run(path, lambda config: command.upgrade(config, "head"))


def take_down(path: Path, revision: str) -> None:
    """Take the file's tables down to `revision`. The caller owns the file. Raises `Malformed`."""
    try:
        _run(path, lambda config: command.downgrade(config, revision))
    except CommandError as error:
        raise Malformed(f"cannot go down to revision {revision!r}: {error}", member="revision") from error


def _run(path: Path, work: Callable[[Config], Any]) -> None:
    config = Config()
    config.set_main_option("script_location", str(directory()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    engine = sync_engine(f"sqlite:///{path}")
    try:
        with _one_at_a_time, engine.connect() as connection:
            config.attributes["connection"] = connection
            work(config)
    except DBAPIError as error:
        raise translated(error.orig or error, path, "write") from error
    except DRIVER_ERRORS as error:
        raise translated(error, path, "write") from error
    finally:
        engine.dispose()
