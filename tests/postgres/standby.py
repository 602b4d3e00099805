"""A synchronous standby of a cluster, and a failover to it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import subprocess
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from tests.postgres.binaries import new_place
from tests.postgres.cluster import Cluster, keep, locked

STREAMED = {"wal_level": "replica", "max_wal_senders": "4"}
"""What a cluster needs that is to have a standby."""

NAME = "standby"


class Standby(Cluster):
    """A copy of a running cluster that follows it; as a cluster, with the primary's password."""

    def __init__(self, primary: Cluster) -> None:
        super().__init__(new_place(), STREAMED)
        self.password = primary.password
        self._primary = primary

    def create(self) -> None:
        """Copy the primary's files (a second or two)."""
        self._data.mkdir()
        self._give(self._data)
        where = f"host=127.0.0.1 port={self._primary.port} user=postgres password={self.password}"
        self._call("pg_basebackup", "-R", "-c", "fast", "--no-sync", "-d", f"{where} application_name={NAME}")

    def promote(self) -> None:
        """Make it a primary, and return when it is one."""
        self._call("pg_ctl", "promote", "-w")

    def _call(self, program: str, *words: str) -> None:
        command = [str(self._binaries / program), *words, "-D", str(self._data)]
        done = subprocess.run(command, **self._as_user(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@contextlib.asynccontextmanager
async def standby_of(primary: Cluster) -> AsyncIterator[Standby]:
    """A running standby without which the primary acknowledges nothing; gone afterwards."""
    standby = Standby(primary)
    with locked(standby.place / "held", fcntl.LOCK_SH):
        keeper = keep(standby.place, standby.place / "held")
        try:
            await asyncio.to_thread(standby.create)
            await asyncio.to_thread(standby.start)
            await ask(primary.url, f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'")
            await ask(primary.url, "SELECT pg_reload_conf()")
            await _follows(primary)
            yield standby
        finally:
            standby.kill()
    await asyncio.to_thread(keeper.wait, 30)


async def _follows(primary: Cluster) -> None:
    for _ in range(1_500):
        if await ask(primary.url, "SELECT sync_state FROM pg_stat_replication") == "sync":
            return
        await asyncio.sleep(0.02)
    raise TimeoutError(primary.told)


def both(primary: Cluster, standby: Standby, database: str) -> str:
    """The URL that finds whichever of the two is the primary."""
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    return f"postgresql://postgres:{primary.password}@{hosts}/{database}?target_session_attrs=read-write"


async def ask(url: str, question: str) -> Any:
    """The first value of an answer."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()
