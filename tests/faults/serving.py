"""A real `blackboard serve` in a process of its own, to be killed and started again on the same database."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

START_SECONDS = 30.0


def free_port() -> int:
    """A port that stays free while a server is down: none that the kernel gives to outgoing connections."""
    while True:
        port = random.randrange(15_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


class Serving:
    """One server on one database and one port. Ends only the process that it started.

    `url` names the database; without it, it is the file `db`. `PROGRAM` is what Python runs.
    """

    PROGRAM: tuple[str, ...] = ("-m", "blackboard")

    def __init__(self, place: Path, *flags: str, url: str | None = None) -> None:
        place.mkdir(exist_ok=True)
        self.db = place / "board.db"
        self._database = url or str(self.db)
        self.state_dir = place / "state"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self._flags = flags
        self._errors = place / "stderr.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it accepts connections."""
        command = [sys.executable, *self.PROGRAM, "serve", "--port", str(self.port)]
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, "--state-dir", str(self.state_dir), *self._flags],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                # Not a flag: the URL of a database has a password in it, and every user sees the flags.
                env=os.environ | {"PYTHONWARNINGS": "default", "BLACKBOARD_DB": self._database},
            )
        self.starts += 1
        until = time.monotonic() + START_SECONDS
        while not self._accepts():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the server did not start: {self.errors}")
            time.sleep(0.01)

    def _accepts(self) -> bool:
        # The socket listens before the server is ready to answer; the announcement comes after.
        told = self._errors.read_text(encoding="utf-8", errors="replace")
        return told.count("serve: ready") == self.starts

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        self._process = None

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.terminate()
        try:
            return process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
            raise

    @property
    def errors(self) -> str:
        """What it said on stderr so far."""
        return self._errors.read_text(encoding="utf-8", errors="replace")

    @property
    def operator_token(self) -> str:
        """The token that a server on loopback makes for its operator."""
        return (self.state_dir / "operator.token").read_text(encoding="ascii").strip()
