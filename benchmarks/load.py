"""The load: many agents over HTTP, from a process of its own that costs little.

`python -m benchmarks.load` reads one plan (JSON, one line), then one line for each turn; it answers each with
a line. Every agent has its own connection, token and keys, writes the right revisions, waits for the answer
before it sends the next request, and says with each what it has seen, as the client library does. Of an
answer only the status, the length and the head are looked at, but of every answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import Counter
from functools import partial

import msgspec
from msgspec import Struct

from benchmarks.logs import value
from benchmarks.run import runner

OPEN_SECONDS = 20
DRAIN_SECONDS = 20


class Agent(Struct):
    """One agent: its token, and the keys that are its own."""

    token: str
    keys: list[str]


class Plan(Struct):
    """What to send where. Every request is one batch that writes all keys of its agent."""

    host: str
    port: int
    board: str
    agents: list[Agent]


class Turn(Struct):
    """One stretch: how long, in seconds."""

    seconds: float


class Outcome(Struct):
    """What came of a turn. Only answers with status 200 count as requests; latencies in microseconds."""

    requests: int
    writes: int
    seconds: float
    cpu: float
    refused: dict[str, int]
    p50: float
    p99: float
    sample: str = ""


class Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, plan: Plan, agent: Agent, load: Load) -> None:
        self._load = load
        self._head = (
            f"POST /v1/boards/{plan.board}/writes HTTP/1.1\r\nhost: {plan.host}:{plan.port}\r\n"
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


def _same(client: Client) -> Client:
    return client


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
        self._clients: list[Client] = []
        self._active = 0
        self._resting = asyncio.Event()

    async def open(self, plan: Plan) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(OPEN_SECONDS):
            for agent in plan.agents:
                client = Client(plan, agent, self)
                await loop.create_connection(partial(_same, client), plan.host, plan.port)
                self._clients.append(client)

    def rest(self) -> None:
        """A client has ended its turn."""
        self._active -= 1
        if self._active <= 0:
            self._resting.set()

    async def turn(self, seconds: float, writes: int) -> Outcome:
        """Everybody writes for so long; requests under way at the end are awaited, and counted."""
        self.latencies.clear()
        self.refused.clear()
        self._resting.clear()
        self.running, self._active = True, len(self._clients)
        cpu, begun = time.process_time(), time.perf_counter()
        for client in self._clients:
            client.send()
        await asyncio.sleep(seconds)
        self.running = False
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._resting.wait(), DRAIN_SECONDS)
        taken, used = time.perf_counter() - begun, time.process_time() - cpu
        ordered = sorted(self.latencies) or [0.0]
        return Outcome(
            len(self.latencies),
            len(self.latencies) * writes,
            taken,
            used,
            dict(self.refused),
            ordered[len(ordered) // 2] * 1e6,
            ordered[len(ordered) * 99 // 100] * 1e6,
            self.sample,
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
