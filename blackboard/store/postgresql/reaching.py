"""The one place where a connection is made, and where it is said why there is none."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import asyncpg

from blackboard.errors import BlackboardError
from blackboard.store.postgresql.address import Address
from blackboard.store.postgresql.faults import DRIVER_ERRORS, REFUSED_USER, state_of, translated

NO_FILE = f"{os.devnull}/none"
"""For the driver, which warns programmers of a password file that it does not read: there is none to see."""


async def reach(address: Address, **how: Any) -> asyncpg.Connection:
    """A connection, made as `asyncpg.connect` is told. Raises what `faults.translated` makes of a server that
    cannot be reached or refuses us.
    """
    passed_over = None if "passfile=" in address.dsn else _open_password_file()
    if passed_over is not None:
        how["passfile"] = NO_FILE
    try:
        return await asyncpg.connect(address.dsn, **how)
    except (*DRIVER_ERRORS, ValueError) as error:
        told = translated(error, address.shown, "connect")
        if passed_over is None or state_of(error) not in REFUSED_USER:
            raise told from error
        raise _with(told, passed_over) from error


def _with(told: BlackboardError, passed_over: Path) -> BlackboardError:
    more = f"the password file {passed_over} can be read by others, so it is not used: chmod 600 it"
    return type(told)(f"{told.detail}; {more}", members=told.members)


def _open_password_file() -> Path | None:
    """The password file, where it is passed over because others can read it, as by PostgreSQL's programs."""
    try:
        path = Path(os.environ.get("PGPASSFILE") or Path.home() / ".pgpass")
        return path if stat.S_IMODE(path.stat().st_mode) & 0o077 else None
    except (OSError, RuntimeError):  # no file, no home
        return None
