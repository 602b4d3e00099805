"""A real server in a process of its own, on a free port of loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from blackboard.server import find_server, read_operator_token

START_SECONDS = 30.0
SERVE = """
import sys
from blackboard.config import load
from blackboard.server import run_server
place = dict(zip(("state_dir", "db"), sys.argv[2:]))
sys.exit(run_server(load(place | {"port": int(sys.argv[1]), "durability": "normal"})))
"""


class LiveServer:
    """One database, served by one process at a time, always on the same port.

    `db` is its URL; without one it is a file in `directory`.
    """

    def __init__(self, directory: Path, db: str | None = None) -> None:
        self.directory = directory
        self.db = db
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def token(self) -> str:
        """The local operator's token."""
        token = read_operator_token(self.directory)
        assert token is not None
        return token

    def start(self) -> None:
        """Return once it accepts connections."""
        log = (self.directory / "server.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(self.port), str(self.directory), *filter(None, [self.db])],
                env={name: value for name, value in os.environ.items() if not name.startswith("BLACKBOARD_")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + START_SECONDS
        while not self._ready():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < until, f"the server did not start:\n{self.log()}"
            time.sleep(0.02)

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def log(self) -> str:
        """What it said."""
        return (self.directory / "server.log").read_text(encoding="utf-8", errors="replace")

    def _ready(self) -> bool:
        running = find_server(self.directory)
        if self._process is None or running is None or running.pid != self._process.pid:
            return False
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._process = None


@contextlib.contextmanager
def serving(directory: Path, db: str | None = None) -> Iterator[LiveServer]:
    """A running server whose state is in `directory`, on the database `db` where it is given."""
    directory.mkdir(parents=True, exist_ok=True)
    server = LiveServer(directory, db)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
