"""A TCP proxy that reads the PostgreSQL protocol (version 3) and cuts the connection at a commit.

The commit of an append is the statement that inserts into `events`, where it runs outside of a transaction;
inside one it is the COMMIT that follows. `choose` is asked at each; everything else passes.

before: the server never gets the statement. after: the server has done it, its answer is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Literal, NamedTuple

Fault = Literal["before", "after", "none"]
How = Literal["statement", "transaction"]
"""What ended the append: the statement itself, or the COMMIT of the transaction that it was part of."""
_APPEND = re.compile(rb"\bINSERT\s+INTO\s+\"?events\b", re.IGNORECASE)
_COMMIT = re.compile(rb"\s*(COMMIT|END)\b", re.IGNORECASE)
_CANCEL, _SSL, _GSS = 80877102, 80877103, 80877104
IDLE = b"I"


class Frame(NamedTuple):
    """One message after the start: its type (one byte, or none for what opens a connection), and its body."""

    kind: bytes
    body: bytes

    def encode(self) -> bytes:
        """As on the wire: the length counts itself, not the type."""
        return self.kind + struct.pack("!I", len(self.body) + 4) + self.body


async def read_frame(reader: asyncio.StreamReader, *, typed: bool = True) -> Frame:
    """The next message; raises `asyncio.IncompleteReadError` where the peer has left."""
    kind = await reader.readexactly(1) if typed else b""
    (length,) = struct.unpack("!I", await reader.readexactly(4))
    return Frame(kind, await reader.readexactly(length - 4))


class Appends:
    """Tells from what a client sends when an append is about to be committed."""

    def __init__(self) -> None:
        self.status = IDLE
        self._prepared: set[bytes] = set()
        self._appended = False

    def commits(self, frame: Frame) -> bool:
        """Whether this frame is the first without which the append is not committed."""
        if frame.kind == b"P":
            name, query = frame.body.split(b"\0", 2)[:2]
            (self._prepared.add if _APPEND.search(query) else self._prepared.discard)(name)
        elif frame.kind == b"B":
            return self._append(frame.body.split(b"\0", 2)[1] in self._prepared)
        elif frame.kind == b"Q":
            if self._appended and _COMMIT.match(frame.body):
                return True
            return self._append(_APPEND.search(frame.body) is not None)
        return False

    def ready(self, status: bytes) -> None:
        """The server has answered; `status`: outside of a transaction, in one, or in one that failed."""
        self.status = status
        self._appended = self._appended and status != IDLE

    def _append(self, is_one: bool) -> bool:
        self._appended = self._appended or is_one
        return is_one and self.status == IDLE


class Proxy:
    """In front of one server; see the module. `delay`: seconds that each commit waits before it goes on.

    `faults` tells what was chosen, one after the other; `cuts` counts it.
    """

    def __init__(self, upstream: int, choose: Callable[[], Fault]) -> None:
        self.port = 0
        self.delay = 0.0
        self.faults: list[Fault] = []
        self.cuts = Counter[tuple[How, Fault]]()
        self._upstream = upstream
        self.choose = choose
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, up_writer}
        self._writers |= ends
        link = _Link(reader, writer, up_reader, up_writer)
        tasks = [asyncio.create_task(self._forth(link)), asyncio.create_task(link.back())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._writers -= ends
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for end in ends:
                end.transport.abort()

    def cut(self) -> None:
        """Abort every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _forth(self, link: _Link) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await link.begin()
            while True:
                frame = await read_frame(link.reader)
                if link.appends.commits(frame):
                    fault = self.choose()
                    self.faults.append(fault)
                    self.cuts["transaction" if link.appends.status != IDLE else "statement", fault] += 1
                    await asyncio.sleep(self.delay)
                    if fault == "before":
                        return
                    link.swallowing = fault == "after"
                link.up_writer.write(frame.encode())
                await link.up_writer.drain()


class _Link:
    """A client's connection, and the one to the server that belongs to it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        up_reader: asyncio.StreamReader,
        up_writer: asyncio.StreamWriter,
    ) -> None:
        self.reader, self.writer = reader, writer
        self.up_reader, self.up_writer = up_reader, up_writer
        self.appends = Appends()
        self.swallowing = False

    async def begin(self) -> None:
        """Up to the message that names user and database: encryption is refused, a cancellation goes on."""
        while True:
            frame = await read_frame(self.reader, typed=False)
            (code,) = struct.unpack("!I", frame.body[:4])
            if code not in {_SSL, _GSS}:
                self.up_writer.write(frame.encode())
                await self.up_writer.drain()
                return
            self.writer.write(b"N")

    async def back(self) -> None:
        """What the server says, up to the answer that is swallowed."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                frame = await read_frame(self.up_reader)
                if frame.kind == b"Z":
                    self.appends.ready(frame.body)
                    if self.swallowing:
                        return
                if not self.swallowing:
                    self.writer.write(frame.encode())
                    await self.writer.drain()


@contextlib.asynccontextmanager
async def proxying(upstream: int, choose: Callable[[], Fault] = lambda: "none") -> AsyncIterator[Proxy]:
    """A proxy in front of the server on a port of loopback."""
    proxy = Proxy(upstream, choose)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
        await asyncio.sleep(0)
