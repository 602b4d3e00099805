"""`blackboard serve`, in a process of its own: how it starts, what it says, how it stops."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import stat
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from blackboard import config
from blackboard.config import Settings
from blackboard.errors import Malformed, Unavailable
from blackboard.events.envelope import GENESIS, verify_row
from blackboard.server import RunningServer, find_server, read_operator_token, run_server, serve
from blackboard.server.run import _check_binding, _listen, _readiness
from blackboard.store import open_store
from tests.server.serving import Process, process

BOARD = "demo"


def call(url: str, method: str, path: str, token: str, body: Any = None) -> Any:
    request = urllib.request.Request(
        url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


def token_of(served: Process) -> str:
    token = read_operator_token(served.state)
    assert token is not None
    return token


def test_a_server_says_where_it_is_and_local_commands_find_it(tmp_path: Path) -> None:
    with process(tmp_path / "state") as served:
        running = served.ready()
        assert running.url.startswith("http://127.0.0.1:")
        assert not running.url.endswith(":0")
        token_file = Path(str(running.token_file))
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        assert call(running.url, "GET", "/v1/boards", token_of(served)) == {"boards": []}
        served.signal(signal.SIGTERM)
        assert served.wait() == 0
        ready, stopped = served.said().splitlines()
        assert running.url in ready
        assert running.database in ready
        assert "durability normal" in ready
        assert str(token_file) in ready
        assert "stopped" in stopped
        assert find_server(served.state) is None


async def test_a_server_in_this_process_stops_as_one_in_its_own(tmp_path: Path) -> None:
    settings = config.load(
        {"state_dir": str(tmp_path), "port": 0, "durability": "normal", "host": "localhost"}
    )
    ready: asyncio.Future[RunningServer] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(settings, ready=ready.set_result))
    running = await asyncio.wait_for(ready, 30)
    assert running.url.startswith("http://localhost:")
    token = read_operator_token(tmp_path)
    assert token is not None
    assert await asyncio.to_thread(call, running.url, "GET", "/v1/boards", token) == {"boards": []}
    os.kill(os.getpid(), signal.SIGTERM)
    assert await asyncio.wait_for(serving, 30) == 0
    assert find_server(tmp_path) is None


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_that_is_not_here_is_said_so(host: str) -> None:
    with pytest.raises(Unavailable, match=host):
        _listen(Settings(host=host, port=0))


def test_sigint_stops_it_too(tmp_path: Path) -> None:
    with process(tmp_path / "state") as served:
        served.ready()
        served.signal(signal.SIGINT)
        assert served.wait() == 0
        assert "Traceback" not in served.said()


def test_what_was_stored_is_there_again_with_the_same_token(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with process(state) as served:
        running = served.ready()
        token = token_of(served)
        call(running.url, "PUT", f"/v1/boards/{BOARD}", token, {})
        served.signal(signal.SIGTERM)
        served.wait()
    with process(state) as served:
        running = served.ready()
        assert token_of(served) == token
        assert call(running.url, "GET", f"/v1/boards/{BOARD}", token)["head"] == 1


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with process(tmp_path / "state", port=port) as served:
            assert served.wait() == 6
            said = served.said()
    assert f"127.0.0.1:{port} cannot be listened on" in said
    assert "--port" in said
    assert len(said.splitlines()) == 1


def test_a_database_that_another_process_owns_is_said_in_one_line(tmp_path: Path) -> None:
    db = tmp_path / "board.db"
    with process(tmp_path / "one", db=str(db)) as first:
        first.ready()
        with process(tmp_path / "two", db=str(db)) as second:
            assert second.wait() == 6
            assert len(second.said().splitlines()) == 1
            assert find_server(second.state) is None
        assert first.popen.poll() is None


@pytest.mark.parametrize(
    ("settings", "member"),
    [
        ({"host": "0.0.0.0"}, "host"),
        ({"host": "::"}, "host"),
        ({"host": "board.example"}, "host"),
        ({"host": "192.0.2.7"}, "host"),
    ],
)
def test_tokens_do_not_cross_a_network_in_the_clear(
    settings: dict[str, Any], member: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(Malformed) as caught:
        _check_binding(Settings(**settings))
    assert caught.value.member == member
    assert run_server(Settings(**settings, state_dir=str(tmp_path))) == 2
    said = capsys.readouterr().err
    assert "--tls-cert" in said
    assert "--behind-proxy" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"host": "127.0.0.1"},
        {"host": "::1"},
        {"host": "localhost"},
        {"host": "0.0.0.0", "behind_proxy": True},
        {"host": "0.0.0.0", "tls_cert": "c", "tls_key": "k"},
    ],
)
def test_loopback_tls_and_a_proxy_may_be_served(settings: dict[str, Any]) -> None:
    _check_binding(Settings(**settings))


@pytest.mark.parametrize(
    ("database", "shared", "told"),
    [
        ("postgresql://b@db/b?a=1&b=2", True, "make a token: {} --db 'postgresql://b@db/b?a=1&b=2'"),
        ("sqlite:////b.db", False, "make a token, while no server runs: {} --db sqlite:////b.db"),
    ],
)
def test_beyond_loopback_the_command_that_makes_the_first_token_is_told(
    database: str, shared: bool, told: str
) -> None:
    running = RunningServer(url="http://0.0.0.0:1", database=database, durability="full", pid=1, version="1")
    command = "blackboard token create operator NAME"
    assert _readiness(running, shared=shared).endswith(told.format(command))


def test_a_certificate_that_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")
    with process(tmp_path / "state", tls_cert="none.pem", tls_key=str(tmp_path / "key.pem")) as served:
        assert served.wait() == 2
        assert "no TLS with none.pem" in served.said()
        assert "Traceback" not in served.said()
        assert find_server(served.state) is None


STUCK = """
import asyncio, sys
from blackboard import config
from blackboard.server import run_server
from blackboard.service import Service

async def query(self, *arguments):
    print("stuck", file=sys.stderr, flush=True)
    await asyncio.sleep(3600)

Service.query = query
flags = dict(item.split("=", 1) for item in sys.argv[1:])
sys.exit(run_server(config.load(flags)))
"""


@contextlib.asynccontextmanager
async def connected(served: Process) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    running = served.ready()
    host, port = running.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def ask_stuck(served: Process, writer: asyncio.StreamWriter) -> None:
    token = token_of(served)
    writer.write(f"GET /v1/boards HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    while "stuck" not in served.said():  # noqa: ASYNC110 - another process says it
        await asyncio.sleep(0.02)


@pytest.mark.slow
async def test_a_request_that_does_not_end_is_cut_off_with_an_honest_answer(tmp_path: Path) -> None:
    with process(tmp_path / "state", STUCK, shutdown_seconds=1) as served:
        async with connected(served) as (reader, writer):
            await ask_stuck(served, writer)
            served.signal(signal.SIGTERM)
            async with asyncio.timeout(15):
                answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 503")
        document = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert document["code"] == "outcome-unknown"
        assert "Idempotency-Key" in document["detail"]
        assert served.wait() == 0


async def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    with process(tmp_path / "state", STUCK, shutdown_seconds=60) as served:
        async with connected(served) as (_, writer):
            await ask_stuck(served, writer)
            served.signal(signal.SIGTERM)
            await asyncio.sleep(0.5)
            assert served.popen.poll() is None, "it waits for the request"
            began = time.monotonic()
            served.signal(signal.SIGTERM)
            assert served.wait(10) == 2
            assert time.monotonic() - began < 5


class Writer:
    """Writes its own keys one after another, and remembers what was acknowledged."""

    def __init__(self, name: str, token: str) -> None:
        self.name = name
        self.token = token
        self.acknowledged: list[tuple[str, int]] = []
        self.statuses: set[int] = set()

    async def run(self, served: Process) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            async with connected(served) as (reader, writer):
                for number in range(1_000_000):
                    await self._write(reader, writer, f"{self.name}/{number % 7}", number // 7 + 1)

    async def _write(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, revision: int
    ) -> None:
        body = json.dumps({"writes": [{"key": key, "revision": revision, "value": "running"}]}).encode()
        head = (
            f"POST /v1/boards/{BOARD}/writes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode()
        status = int(answer.split()[1])
        length = next(
            int(line.split()[1]) for line in answer.lower().split("\r\n") if "content-length" in line
        )
        told = json.loads(await reader.readexactly(length))
        self.statuses.add(status)
        if status == 200:
            self.acknowledged.append((key, told["entries"][0]["seq"]))


@pytest.mark.slow
async def test_stopping_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with process(tmp_path / "state") as served:
        running = served.ready()
        operator = token_of(served)
        await asyncio.to_thread(call, running.url, "PUT", f"/v1/boards/{BOARD}", operator, {})
        writers = []
        for number in range(8):
            body = {"role": "agent", "name": f"agent-{number}"}
            made = await asyncio.to_thread(call, running.url, "POST", "/v1/tokens", operator, body)
            writers.append(Writer(f"agent-{number}", made["token"]))
        working = [asyncio.create_task(writer.run(served)) for writer in writers]
        await asyncio.sleep(1.0)
        served.signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            await asyncio.gather(*working)
        assert await asyncio.to_thread(served.wait) == 0
        assert "Traceback" not in served.said()
    acknowledged = [one for writer in writers for one in writer.acknowledged]
    assert len(acknowledged) > 100
    assert {status for writer in writers for status in writer.statuses} <= {200, 503}
    stored = await keys_by_seq(running.database)
    for key, seq in acknowledged:
        assert stored[seq] == key


async def keys_by_seq(database: str) -> dict[int, str | None]:
    """What the log holds, its chain checked."""
    store = await open_store(database, Settings())
    try:
        previous, found = GENESIS.hash, {}
        async for rows in store.scan(BOARD):
            for row in rows:
                assert verify_row(row, previous)
                previous = row.hash
                found[row.seq] = row.key
        assert list(found) == list(range(1, len(found) + 1))
        return found
    finally:
        await store.close()
