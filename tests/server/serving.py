"""A server that listens: in this loop, or in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from blackboard.config import Settings
from blackboard.server import Application, RunningServer, find_server
from blackboard.server.connections import HttpServer
from blackboard.server.run import _config

SCRIPT = """
import sys
from blackboard import config
from blackboard.server import run_server
flags = dict(item.split("=", 1) for item in sys.argv[1:])
sys.exit(run_server(config.load(flags)))
"""


@contextlib.asynccontextmanager
async def listening(app: Application, **settings: Any) -> AsyncIterator[int]:
    """Serve `app` in this loop; yields the port."""
    server = HttpServer(_config(app, Settings(**settings)), app.stop)
    with socket.create_server(("127.0.0.1", 0)) as place:
        place.setblocking(False)
        serving = asyncio.create_task(server.serve(sockets=[place]))
        try:
            yield place.getsockname()[1]
        finally:
            server.should_exit = True
            await asyncio.wait_for(serving, 30)


class Process:
    """A server in a process of its own, and what it says."""

    def __init__(self, state: Path, script: str = SCRIPT, **flags: str | int) -> None:
        self.state = state
        state.mkdir(exist_ok=True)
        given = {"state_dir": state, "port": 0, "durability": "normal", **flags}
        self.log = state / "log"
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-c", script, *(f"{name}={value}" for name, value in given.items())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def ready(self) -> RunningServer:
        """Wait until it has announced itself."""
        until = time.monotonic() + 30
        while (running := find_server(self.state)) is None or running.pid != self.popen.pid:
            assert self.popen.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)
        return running

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def signal(self, number: int) -> None:
        self.popen.send_signal(number)

    def wait(self, seconds: float = 30) -> int:
        return self.popen.wait(seconds)

    def end(self) -> None:
        """Whatever happened, it is gone afterwards."""
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait(10)


@contextlib.contextmanager
def process(state: Path, script: str = SCRIPT, **flags: str | int) -> Iterator[Process]:
    made = Process(state, script, **flags)
    try:
        yield made
    finally:
        made.end()
