"""A real server and a real load, each a process of its own on loopback, ended by their process ids."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from benchmarks.load import Agent, Outcome, Plan, Turn
from benchmarks.logs import agent_name
from benchmarks.machine import cpu_seconds_of

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 30
STOP_SECONDS = 30


class Server:
    """`blackboard serve` on a free port, with durability full."""

    def __init__(self, place: Path, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._place = place
        self.url = self._announced()
        self._operator = (place / "operator.token").read_text(encoding="ascii").strip()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        where = urlsplit(self.url)
        return str(where.hostname), where.port or 0

    def open(self, *boards: str) -> None:
        """Open these boards."""
        for board in boards:
            self._ask("PUT", f"/v1/boards/{board}", {})

    @property
    def cpu(self) -> float:
        """The CPU seconds that the server has used."""
        return cpu_seconds_of(self.process.pid)

    def token(self, name: str, role: str = "agent") -> str:
        """A fresh token for every board."""
        asked = {"role": role, "name": name, "boards": ["*"]}
        token: str = self._ask("POST", "/v1/tokens", asked)["token"]
        return token

    def _announced(self) -> str:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            if (self._place / "server.json").exists():
                url: str = msgspec.json.decode((self._place / "server.json").read_bytes())["url"]
                return url
            time.sleep(0.02)
        raise RuntimeError(f"the server did not start; see {self._place / 'stderr'}")

    def _ask(self, method: str, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self.url + path,
            msgspec.json.encode(body),
            {"authorization": f"Bearer {self._operator}", "content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return msgspec.json.decode(answer.read())


@contextmanager
def serving(place: Path, db: str | None = None, *flags: str) -> Iterator[Server]:
    """A server whose files lie in `place`, the database too where no URL is given. It is told to stop at the
    end, and has to.
    """
    place.mkdir()
    command = [sys.executable, "-m", "blackboard", "serve", "--port", "0"]
    command += ["--state-dir", str(place), "--durability", "full", *flags]
    # A URL has a password in it, which a list of processes would show.
    named = environment() | {"BLACKBOARD_DB": db or str(place / "served.db")}
    with (place / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=place, env=named, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
        )
    try:
        yield Server(place, process)
    except RuntimeError as error:
        raise RuntimeError(f"{error}\n{(place / 'stderr').read_text(errors='replace')}") from error
    finally:
        end(process)


class Loaded:
    """The load process, turn by turn."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def turn(self, seconds: float) -> Outcome:
        """One turn. Raises `RuntimeError` where an answer was not 200."""
        self._send(Turn(seconds))
        outcome = msgspec.json.decode(self._answer(), type=Outcome)
        if outcome.refused:
            raise RuntimeError(f"not every write was accepted: {outcome.refused} {outcome.sample}")
        return outcome

    def begin(self, plan: Plan) -> None:
        """Connect everybody."""
        self._send(plan)
        self._answer()

    def _send(self, what: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(what) + b"\n")
        self._process.stdin.flush()

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the load ended early")
        return line


@contextmanager
def loading(plan: Plan) -> Iterator[Loaded]:
    """The load of a plan, connected."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        load = Loaded(process)
        load.begin(plan)
        yield load
    finally:
        assert process.stdin is not None
        process.stdin.close()
        end(process)


def agents(server: Server, board: str, indexes: Iterable[int], batch: int = 1) -> list[Agent]:
    """Agents at a server, each of them with `batch` keys of its own."""
    host, port = server.address
    return [
        Agent(
            host,
            port,
            board,
            server.token(agent_name(index)),
            [f"task/{index:03d}/{one:03d}" for one in range(batch)],
        )
        for index in indexes
    ]


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def environment() -> dict[str, str]:
    """The caller's environment without settings of its own; what runs is the checkout beside this file."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("BLACKBOARD_")}
    return kept | {"PYTHONPATH": str(ROOT)}
