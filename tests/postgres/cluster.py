"""PostgreSQL for the tests: one cluster for all workers of a session, an empty database for each test.

`Cluster` is also what the fault tests kill and start again, each test its own. No process outlives the tests,
not even a run that crashes: a keeper (`tests.postgres.keeper`) waits until nobody holds the cluster's lock,
and ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.faults.serving import free_port
from tests.postgres.binaries import (
    GIVEN_URL,
    NoPostgresql,
    find_binaries,
    new_place,
    reachable,
    unprivileged,
)

START_SECONDS = 60.0
ROOT = Path(__file__).resolve().parents[2]
_KEEPERS: list[subprocess.Popen[bytes]] = []
"""Those that outlive this process: they end when the last worker has ended."""
# After a kill, one call for all files instead of opening each of a thousand.
_RECOVERY = {"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}
_ALWAYS = _RECOVERY | {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_senders": "0",
    "wal_level": "minimal",
    "timezone": "UTC",
}
UNSAFE = {"fsync": "off", "full_page_writes": "off"}
"""For tests that do not cut the power: a commit waits for no disk."""


class Cluster:
    """One PostgreSQL server: its own directory, port and password."""

    def __init__(self, place: Path, settings: Mapping[str, str] | None = None) -> None:
        self.place = place
        self.port = free_port()
        self.password = secrets.token_urlsafe(12)
        self.log = place / "log"
        self._settings = _ALWAYS | dict(settings or {})
        self._user = unprivileged()
        self._binaries = reachable(find_binaries(), place)
        self._data = place / "data"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Of the database in which databases are created."""
        return self.url_of("postgres")

    def url_of(self, database: str, port: int | None = None) -> str:
        """As its superuser; `port`: that of a proxy in front of it."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{port or self.port}/{database}"

    def create(self) -> None:
        """Make its files (a second or two)."""
        self._data.mkdir()
        secret = self.place / "password"
        secret.write_text(self.password, encoding="ascii")
        self._give(self._data, secret)
        command = [
            str(self._binaries / "initdb"),
            *("-D", str(self._data), "-U", "postgres"),
            *("--pwfile", str(secret), "--auth", "scram-sha-256"),
            *("--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions"),
            *self._cheap_passwords(),
        ]
        made = subprocess.run(command, **self._as_user(), capture_output=True, text=True, check=False)
        secret.unlink()
        if made.returncode:
            raise NoPostgresql(f"initdb failed: {made.stdout}{made.stderr}")

    def start(self) -> None:
        """Start it, and return when it accepts connections."""
        until = time.monotonic() + START_SECONDS
        while not self._started(until):
            time.sleep(0.05)

    def _started(self, until: float) -> bool:
        """False where the processes of one that was killed are still about to notice that."""
        options = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        before = len(self.told)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._data, "-p", str(self.port), *options],
                **self._as_user(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        while self._status() != "ready":
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                if "pre-existing shared memory" in self.told[before:] and time.monotonic() < until:
                    return False
                raise NoPostgresql(f"postgres did not start: {self.told[before:]}")
            time.sleep(0.01)
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it. SIGINT: fast, in good order; SIGTERM: when all clients have left; SIGQUIT: at once."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise

    def kill(self) -> None:
        """SIGKILL to the server and all its processes, at once: nothing is written any more."""
        process, self._process = self._process, None
        if process is not None:
            _kill(process)

    @property
    def told(self) -> str:
        """What it wrote to its log so far."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def end_from_outside(self) -> None:
        """End it, whoever started it, if it runs at all."""
        command = [
            str(self._binaries / "pg_ctl"),
            "stop",
            "-D",
            str(self._data),
            "-m",
            "immediate",
            "-w",
            "-t",
            "30",
        ]
        subprocess.run(command, **self._as_user(), capture_output=True, check=False)

    def _cheap_passwords(self) -> tuple[str, ...]:
        # The cost of a password guess is not what tests wait for. PostgreSQL 15 cannot choose it.
        told = subprocess.run(
            [self._binaries / "initdb", "--version"],
            **self._as_user(),
            capture_output=True,
            text=True,
            check=True,
        )
        (major,) = re.findall(r"\) (\d+)", told.stdout)
        return ("-c", "scram_iterations=1") if int(major) >= 16 else ()

    def _status(self) -> str:
        # The last line of the file says when it is ready; one that was killed leaves its file behind.
        try:
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            return ""
        ours = self._process is not None and lines[0] == str(self._process.pid)
        return lines[7].strip() if ours and len(lines) > 7 else ""

    def _as_user(self) -> dict[str, Any]:
        # Not the caller's directory: PostgreSQL's user may be shut out of it.
        base: dict[str, Any] = {"cwd": self.place, "env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}}
        if self._user is None:
            return base
        return base | {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def _give(self, *paths: Path) -> None:
        for path in paths:
            path.chmod(0o700)
            if self._user is not None:
                shutil.chown(path, self._user.pw_uid, self._user.pw_gid)


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Its processes lead groups of their own: none of them is reached through the first one's. That one must
    # not start any more while the others are looked for.
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        try:
            for child in _children(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        finally:
            process.kill()
    process.wait(10)


def _children(parent: int) -> list[int]:
    if Path("/proc/self/stat").exists():
        pairs = [pair for stat in Path("/proc").glob("[0-9]*/stat") if (pair := _process_and_parent(stat))]
    else:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
        pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    return [pid for pid, its_parent in pairs if its_parent == parent]


def _process_and_parent(stat: Path) -> tuple[int, ...]:
    # pid (name) state parent ...; the name may hold anything.
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return int(stat.parent.name), int(stat.read_bytes().rpartition(b")")[2].split()[1])
    return ()


class Databases:
    """Makes and drops databases on a server, from any thread and beside any event loop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._thread = ThreadPoolExecutor(1, "postgres-databases")
        self._runner: asyncio.Runner | None = None
        self._connection: Any = None

    def create(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{secrets.token_hex(8)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return f"{self._url.rpartition('/')[0]}/{name}"

    def drop(self, url: str) -> None:
        """Drop one that `create` made, with whoever is still connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement: str) -> None:
        """Run one statement outside of a transaction."""
        self._thread.submit(self._execute, statement).result()

    def close(self) -> None:
        """Disconnect."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _execute(self, statement: str) -> None:
        if self._runner is None:
            self._runner = asyncio.Runner()
            self._connection = self._runner.run(asyncpg.connect(self._url))
        self._runner.run(self._connection.execute(statement))

    def _close(self) -> None:
        if self._runner is not None:
            if self._connection is not None:
                self._runner.run(self._connection.close(timeout=5))
            self._runner.close()


@contextlib.contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Hold a lock on a file; the kernel lets go of it when this process ends, however it ends."""
    with path.open("ab") as file:
        fcntl.flock(file, how)
        yield


@contextlib.contextmanager
def own_cluster(settings: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A running cluster of one's own, durable unless `settings` say otherwise; gone afterwards."""
    cluster = Cluster(new_place(), settings)
    with locked(cluster.place / "held", fcntl.LOCK_SH):
        keeper = keep(cluster.place, cluster.place / "held")
        try:
            cluster.create()
            cluster.start()
            yield cluster
        finally:
            cluster.kill()
    keeper.wait(30)


def keep(place: Path, held: Path, *words: str) -> subprocess.Popen[bytes]:
    """A keeper for the cluster in `place`, which outlives this process; see `tests.postgres.keeper`."""
    with (place / "keeper").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.postgres.keeper", str(place), str(held), *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def session_url(shared: Path) -> str:
    """The URL of the session's server: started by who comes first, found by the others (under a lock)."""
    with locked(shared / "postgres-mutex", fcntl.LOCK_EX):
        known = shared / "postgres.json"
        if not known.exists():
            place = new_place()
            keeper = keep(place, shared / "postgres-held", str(known))
            _KEEPERS.append(keeper)
            until = time.monotonic() + START_SECONDS
            while not known.exists():
                if keeper.poll() is not None or time.monotonic() > until:
                    raise NoPostgresql((place / "keeper").read_text(encoding="utf-8", errors="replace"))
                time.sleep(0.01)
        url: str = json.loads(known.read_text(encoding="utf-8"))
        return url


@pytest.fixture(scope="session")
def postgres_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """Where the tests of this worker have their databases."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with locked(shared / "postgres-held", fcntl.LOCK_SH):
        databases = Databases(GIVEN_URL or session_url(shared))
        yield databases
        databases.close()


@pytest.fixture
def postgres_url(postgres_databases: Databases) -> Iterator[str]:
    """The URL of an empty database on PostgreSQL, dropped after the test."""
    url = postgres_databases.create()
    yield url
    postgres_databases.drop(url)


def database_at(cluster: Cluster) -> str:
    """The URL of a new, empty database of this cluster."""
    databases = Databases(cluster.url)
    try:
        return databases.create()
    finally:
        databases.close()
