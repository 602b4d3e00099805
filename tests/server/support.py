"""The application driven as an ASGI server drives it, without a socket; and short ways to speak."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from blackboard.config import Settings
from blackboard.messages import commands as ask
from blackboard.messages.operations import Operation
from blackboard.messages.principal import Grants, Principal
from blackboard.messages.problem import ProblemDocument
from blackboard.messages.replies import TokenReply
from blackboard.server import Application
from blackboard.service import Service
from blackboard.store.contract import Store
from blackboard.store.memory import MemoryStore

BOARD = "demo"
ROOT = Principal(role="operator", name="root")
Headers = Iterable[tuple[str, str | bytes]]


class Answer(NamedTuple):
    """What came back. `headers` by name in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def problem(self) -> dict[str, Any]:
        """The problem document, which must be one."""
        assert self.headers["content-type"] == "application/problem+json", self
        msgspec.json.decode(self.body, type=ProblemDocument)
        found: dict[str, Any] = self.json()
        assert found["status"] == self.status
        assert found["type"] == f"urn:blackboard:problem:{found['code']}"
        assert found["title"]
        assert found["detail"]
        return found


class Driven:
    """An application over a service and a store, with a token for each role."""

    def __init__(self, store: Store, service: Service, app: Application) -> None:
        self.store = store
        self.service = service
        self.app = app
        self.tokens: dict[str, str] = {}

    async def token(self, role: str, name: str, **members: Any) -> str:
        command = ask.CreateToken(role=role, name=name, **members)  # type: ignore[arg-type]  # a role
        reply = await self.app.tokens.create(ROOT, command)
        assert isinstance(reply, TokenReply)
        assert reply.token is not None
        self.tokens[name] = reply.token
        return reply.token

    async def ask(
        self, method: str, path: str, body: Any = None, *, who: str | None = "planner", headers: Headers = ()
    ) -> Answer:
        """One exchange. `who` names a token made before (or is one); `body` is JSON, or bytes as they are."""
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = [(name.lower().encode(), _bytes(value)) for name, value in headers]
        if who is not None:
            sent.append((b"authorization", b"Bearer " + self.tokens.get(who, who).encode()))
        if raw:
            sent.append((b"content-length", b"%d" % len(raw)))
        return await exchange(self.app, method, path.encode("utf-8"), raw, sent)

    async def head(self) -> int:
        """The seq of the board's last event."""
        tip = await self.store.tip(BOARD)
        return 0 if tip is None else tip.seq


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin-1")


def scope_of(method: str, target: bytes, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    raw_path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(raw_path).decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 4),
        "server": ("127.0.0.1", 8377),
        "state": {},
    }


async def exchange(
    app: Application, method: str, target: bytes, body: bytes, headers: list[tuple[bytes, bytes]]
) -> Answer:
    """One request and its whole answer. The body arrives in two parts where it has two bytes."""
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        told.append(dict(message))

    await app(scope_of(method, target, headers), receive, send)
    start, *rest = told
    assert start["type"] == "http.response.start"
    assert all(message["type"] == "http.response.body" for message in rest)
    got = {name.decode(): value.decode("utf-8") for name, value in start["headers"]}
    return Answer(start["status"], got, b"".join(message["body"] for message in rest))


@asynccontextmanager
async def driven(
    store: Store | None = None, *, local: bool = True, opened: bool = True, **settings: Any
) -> AsyncIterator[Driven]:
    """An application with a board that is open, and tokens: ops, kim (auditor), planner, executor, coder."""
    store = MemoryStore() if store is None else store
    made = Settings(**settings)
    service = Service(store, made)
    server = Driven(store, service, Application(service, made, local=local))
    await server.token("operator", "ops")
    await server.token("auditor", "kim")
    for name in ("planner", "executor"):
        await server.token("agent", name, grants=Grants(records=["policy"]))
    await server.token("agent", "elsewhere", boards=["other-*"])
    await server.token("agent", "hook", grants=Grants(report_peers=True))
    try:
        if opened:
            answer = await server.ask("PUT", f"/v1/boards/{BOARD}", {}, who="ops")
            assert answer.status == 201, answer
        yield server
    finally:
        server.app.stop()
        await service.close()


def path_of(operation: Operation, **names: str) -> str:
    """The operation's path with its parameters filled in, percent-encoded names given as they are."""
    known = {"board": BOARD, "key": "task/B", "agent": "executor", "proposal": "proposal:9", "id": "token-0"}
    path = operation.path
    for name, value in {**known, **names}.items():
        path = path.replace("{" + name + "}", value)
    return path


async def eventually(condition: Callable[[], bool], within: float = 15.0) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)


class Stream:
    """A stream under way: frames as they come, and a way to hang up."""

    def __init__(self, app: Application, path: str, token: str, headers: Headers = ()) -> None:
        sent = [(b"authorization", f"Bearer {token}".encode())]
        sent += [(name.lower().encode(), _bytes(value)) for name, value in headers]
        self.status = 0
        self.headers: dict[str, str] = {}
        self.ended = asyncio.Event()
        self.reading = asyncio.Event()
        self.reading.set()
        self._gone = asyncio.Event()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = b""
        scope = scope_of("GET", path.encode(), sent)
        self.task = asyncio.create_task(self._run(app, scope))

    async def _run(self, app: Application, scope: dict[str, Any]) -> None:
        await app(scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.reading.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        self._chunks.put_nowait(message.get("body", b""))
        if not message.get("more_body", False):
            self.ended.set()

    async def frame(self, within: float = 5.0) -> str:
        """The next frame or comment."""
        while b"\n\n" not in self._rest:
            async with asyncio.timeout(within):
                self._rest += await self._chunks.get()
        frame, _, self._rest = self._rest.partition(b"\n\n")
        return frame.decode()

    async def event(self, within: float = 5.0) -> dict[str, str]:
        """The next frame that is an event; heartbeats and hints are passed over."""
        while True:
            members = dict(line.partition(": ")[::2] for line in (await self.frame(within)).split("\n"))
            if "event" in members:
                return members

    async def until_caught_up(self) -> list[dict[str, str]]:
        """The events up to `caught-up`, without it."""
        found: list[dict[str, str]] = []
        while (event := await self.event())["event"] != "caught-up":
            found.append(event)
        return found

    async def hang_up(self) -> None:
        self._gone.set()
        await asyncio.wait_for(self.task, 5)
