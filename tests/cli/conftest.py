"""The command, run in this process or in one of its own, and a live server for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from blackboard.cli.app import run

COMMAND = (sys.executable, "-m", "blackboard")


class Ran(NamedTuple):
    """What one run of the command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Cli = Callable[..., Ran]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run the command in this process; no run may show a traceback or end with 1."""

    def call(*argv: str) -> Ran:
        capsys.readouterr()
        code = run(argv)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert code != 1
        return Ran(code, said.out, said.err)

    return call


@pytest.fixture
def spawn() -> Cli:
    """Run the command in a process of its own."""

    def call(*argv: str, stdin: str | None = None, **environment: str) -> Ran:
        done = subprocess.run(
            [*COMMAND, *argv],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | environment,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def board(tmp_path: Path, cli: Cli) -> tuple[str, ...]:
    """The options that name an open board in a file."""
    where = ("--db", str(tmp_path / "board.db"), "--board", "release-42")
    assert cli("board", "open", *where).code == 0
    return where


class Server(NamedTuple):
    """A server on a free port of loopback."""

    url: str
    state_dir: Path
    database: Path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`blackboard serve` in a process of its own, stopped at the end."""
    state = tmp_path_factory.mktemp("server")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BLACKBOARD_")}
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--state-dir", str(state)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=state,
    )
    try:
        yield Server(_ready(process, state), state, state / "blackboard.db")
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said


def _ready(process: subprocess.Popen[str], state: Path) -> str:
    announced = state / "server.json"
    deadline = time.monotonic() + 30
    while not announced.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    url: str = json.loads(announced.read_text())["url"]
    return url
