"""The load: many agents over HTTP, from a process of its own that costs little.

`python -m benchmarks.load` reads one plan (JSON, one line), then one line for each turn; it answers each with
a line. Every agent has its own connection, token and keys, writes the right revisions, waits for the answer
before it sends the next request, and says with each what it has seen, as the client library does. Of an
answer only the status, the length and the head are looked at, but of every answer. Followers read the live
feed of a board beside them, and count its events.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import sys
import time
from collections import Counter
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import Struct

from benchmarks.logs import value
from benchmarks.run import runner

P = TypeVar("P", bound=asyncio.Protocol)

OPEN_SECONDS = 20
DRAIN_SECONDS = 20
RECORDED_AT = b'"recorded_at":'


class Agent(Struct):
    """One agent: the server and the board that it writes to, its token, and the keys that are its own."""

    host: str
    port: int
    board: str
    token: str
    keys: list[str]


class Follower(Struct):
    """One reader of a board's live feed, at a server."""

    host: str
    port: int
    board: str
    token: str


class Plan(Struct):
    """Who does what. Every request is one batch that writes all keys of its agent."""

    agents: list[Agent]
    followers: list[Follower] = []


class Turn(Struct):
    """One stretch: how long, in seconds."""

    seconds: float


class Outcome(Struct):
    """What came of a turn. Only answers with status 200 count as requests; latencies in microseconds.

    `served` are the requests by the server's port; `followed` counts the events of all feeds. `lag` is the
    median time from an event's record to a follower, in microseconds, over the newest event of each chunk.
    """

    requests: int
    writes: int
    seconds: float
    cpu: float
    refused: dict[str, int]
    p50: float
    p99: float
    served: dict[int, int] = {}
    followed: int = 0
    lag: float = 0.0
    sample: str = ""


class Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, agent: Agent, load: Load) -> None:
        self.served = 0
        self._load = load
        self._head = (
            f"POST /v1/boards/{agent.board}/writes HTTP/1.1\r\nhost: {agent.host}:{agent.port}\r\n"
            f"authorization: Bearer {agent.token}\r\ncontent-type: application/json\r\n"
        ).encode() + b"blackboard-seen: %d\r\ncontent-length: %d\r\n\r\n"
        self._bodies = [_body(agent.keys, turn) for turn in range(4)]
        self._count = len(agent.keys)
        self._revision = 0
        self._seen = 0
        self._buffer = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as called
        self._transport = transport

    def send(self) -> None:
        """Send the next batch."""
        self._revision += 1
        body = self._bodies[self._revision % 4] % ((self._revision,) * self._count)
        self._sent = time.perf_counter()
        self._transport.write(self._head % (self._seen, len(body)) + body)

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        end = data.find(b"\r\n\r\n")
        at = data.find(b"content-length: ", 0, end) + 16
        if end < 0 or len(data) < end + 4 + int(data[at : data.find(b"\r", at)]):
            self._buffer = data
            return
        self._buffer = b""
        self._answered(data, end)

    def _answered(self, data: bytes, end: int) -> None:
        load = self._load
        if data[9:12] == b"200":
            at = data.find(b'"head":', end) + 7
            self._seen = int(data[at : at + 20].split(b",", 1)[0].split(b"}", 1)[0])
            load.latencies.append(time.perf_counter() - self._sent)
            self.served += 1
        else:
            load.refused[data[9:12].decode()] += 1
            load.sample = data[end + 4 : end + 600].decode()
        if load.running:
            self.send()
        else:
            load.rest()

    def connection_lost(self, error: Exception | None) -> None:
        self._load.refused["connection lost"] += 1
        self._load.rest()


class Feed(asyncio.Protocol):
    """One live feed, from the board's end on. Its events are told apart by the lines that carry their seq."""

    def __init__(self, follower: Follower, load: Load) -> None:
        self._load = load
        self._request = (
            f"GET /v1/boards/{follower.board}/stream HTTP/1.1\r\nhost: {follower.host}:{follower.port}\r\n"
            f"authorization: Bearer {follower.token}\r\n\r\n"
        ).encode()
        self._left = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as called
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        load = self._load
        data = self._left + data
        cut = data.rfind(b"\n\n") + 2
        whole, self._left = data[:cut], data[cut:]
        events = whole.count(b"\nid: ") + whole.startswith(b"id: ")
        if events:
            load.followed += events
            at = whole.rfind(RECORDED_AT) + len(RECORDED_AT)
            load.lags.append(time.time() - int(whole[at : at + 20].split(b",", 1)[0]) / 1e6)

    def connection_lost(self, error: Exception | None) -> None:
        if self._load.running:
            self._load.refused["feed lost"] += 1


def _same(protocol: P) -> P:
    return protocol


def _body(keys: list[str], turn: int) -> bytes:
    """A batch that writes these keys; only the revisions are still to be filled in."""
    task = msgspec.json.encode(value(turn)).replace(b"%", b"%%")
    writes = [b'{"key":"%b","revision":%%d,"value":%b}' % (key.encode(), task) for key in keys]
    return b'{"writes":[%b]}' % b",".join(writes)


class Load:
    """All clients, and what they count together."""

    def __init__(self) -> None:
        self.running = False
        self.latencies: list[float] = []
        self.refused: Counter[str] = Counter()
        self.sample = ""
        self.lags: list[float] = []
        self.followed = 0
        self._clients: list[Client] = []
        self._ports: list[int] = []
        self._active = 0
        self._resting = asyncio.Event()

    async def open(self, plan: Plan) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(OPEN_SECONDS):
            for agent in plan.agents:
                client = Client(agent, self)
                await loop.create_connection(partial(_same, client), agent.host, agent.port)
                self._clients.append(client)
                self._ports.append(agent.port)
            for follower in plan.followers:
                feed = Feed(follower, self)
                await loop.create_connection(partial(_same, feed), follower.host, follower.port)

    def rest(self) -> None:
        """A client has ended its turn."""
        self._active -= 1
        if self._active <= 0:
            self._resting.set()

    async def turn(self, seconds: float, writes: int) -> Outcome:
        """Everybody writes for so long; requests under way at the end are awaited, and counted."""
        self._clear()
        self.running, self._active = True, len(self._clients)
        cpu, begun = time.process_time(), time.perf_counter()
        for client in self._clients:
            client.send()
        await asyncio.sleep(seconds)
        self.running = False
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._resting.wait(), DRAIN_SECONDS)
        taken, used = time.perf_counter() - begun, time.process_time() - cpu
        return self._outcome(taken, used, writes)

    def _clear(self) -> None:
        for counted in (self.latencies, self.refused, self.lags):
            counted.clear()
        self.followed = 0
        for client in self._clients:
            client.served = 0
        self._resting.clear()

    def _outcome(self, seconds: float, cpu: float, writes: int) -> Outcome:
        ordered = sorted(self.latencies) or [0.0]
        served: Counter[int] = Counter()
        for client, port in zip(self._clients, self._ports, strict=True):
            served[port] += client.served
        return Outcome(
            requests=len(self.latencies),
            writes=len(self.latencies) * writes,
            seconds=seconds,
            cpu=cpu,
            refused=dict(self.refused),
            p50=ordered[len(ordered) // 2] * 1e6,
            p99=ordered[len(ordered) * 99 // 100] * 1e6,
            served=dict(served),
            followed=self.followed,
            lag=statistics.median(self.lags or [0.0]) * 1e6,
            sample=self.sample,
        )


async def main() -> None:
    """Plan, then turn after turn until the input ends."""
    plan = msgspec.json.decode(await _line(), type=Plan)
    load = Load()
    await load.open(plan)
    _say({"connected": len(plan.agents)})
    while line := await _line():
        turn = msgspec.json.decode(line, type=Turn)
        _say(await load.turn(turn.seconds, len(plan.agents[0].keys)))


async def _line() -> bytes:
    return await asyncio.to_thread(sys.stdin.buffer.readline)


def _say(what: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    with runner() as loops:
        loops.run(main())
