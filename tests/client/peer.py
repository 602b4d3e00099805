"""A second process with an embedded board, told over a pipe what to call: one line of JSON each way."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

import blackboard
from blackboard import BlackboardError, SyncBoard, WriteRejected
from blackboard.config import Settings

SECONDS = 60


class Storm(msgspec.Struct):
    """What one process did to a counter: the seqs of its writes, and how often it was refused."""

    written: list[int]
    refused: int


class Peer:
    """The other process, for the process that started it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, name: str, *args: Any, **named: Any) -> Any:
        """Call a method of its board; the reply as plain data, or `{"error": code}`."""
        self.tell({"name": name, "args": args, "named": named})
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the other process has ended with {self._process.wait(SECONDS)}"
        return json.loads(line)

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait(SECONDS)

    def tell(self, message: Any) -> None:
        """Have it called without waiting for what comes of it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


@contextlib.contextmanager
def peer(url: str, settings: dict[str, Any] | None = None, **options: Any) -> Iterator[Peer]:
    """A process that connects to `url` with these options of `connect`, told to end when the block does."""
    command = [sys.executable, "-m", "tests.client.peer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        other = Peer(process)
        try:
            # Not on the command line, which everybody can read: the URL holds a password.
            other.tell({"url": url, "settings": {"db": url} | (settings or {}), "options": options})
            yield other
            if process.poll() is None:
                process.communicate(timeout=SECONDS)
                assert process.returncode == 0
        finally:
            process.kill()


def storm(board: SyncBoard, rounds: int) -> Storm:
    """Count up an entry against others who do so too: read it, write one more, read again when refused."""
    done = Storm([], 0)
    while len(done.written) < rounds:
        entry = board.read("counter")
        try:
            ack = board.write("counter", (entry.value or 0) + 1, revision=entry.revision + 1)
        except WriteRejected:
            done.refused += 1
        else:
            done.written.append(ack.entries[0].seq)
    return done


def heard(board: SyncBoard, through: int) -> list[list[Any]]:
    """Seq and hash of every event that the feed brings, up to a seq."""
    found = []
    for event in board.follow():
        found.append([event.seq, event.hash])
        if event.seq >= through:
            break
    return found


_OWN = {"storm": storm, "heard": heard}


def main() -> None:
    """Serve one caller until it says no more."""
    start = json.loads(sys.stdin.readline())
    settings = Settings(**start["settings"])
    with blackboard.connect_sync(start["url"], settings=settings, **start["options"]) as board:
        for line in sys.stdin:
            print(json.dumps(_answer(board, **json.loads(line))), flush=True)


def _answer(board: SyncBoard, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    try:
        if name in _OWN:
            return msgspec.to_builtins(_OWN[name](board, *args, **named))
        return msgspec.to_builtins(getattr(board, name)(*args, **named))
    except BlackboardError as error:
        return {"error": error.code, "detail": error.detail}


if __name__ == "__main__":
    main()
