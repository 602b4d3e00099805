"""A TCP proxy that loses things: requests before they arrive, answers before they come back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Literal

Fault = Literal["before", "after", "middle", "none"]
_REQUEST = (b"POST ", b"GET ", b"PUT ", b"DELETE ")


class Proxy:
    """In front of one server. `choose` names the fault of each request as it arrives.

    before: the request is lost. after: the server has answered, the answer is lost. middle: half of the
    answer is lost.
    """

    def __init__(self, port: int, choose: Callable[[], Fault]) -> None:
        self._upstream = port
        self._choose = choose
        self._writers: set[asyncio.StreamWriter] = set()
        self.url = ""
        self.faults: list[Fault] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client."""
        self._writers.add(writer)
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(up_writer)
        fault: list[Fault] = ["none"]
        back = asyncio.create_task(self._back(up_reader, writer, fault))
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if data.startswith(_REQUEST):
                    fault[0] = self._choose()
                    self.faults.append(fault[0])
                if fault[0] == "before":
                    writer.transport.abort()
                    break
                up_writer.write(data)
                await up_writer.drain()
        up_writer.close()
        await asyncio.gather(back, return_exceptions=True)
        writer.close()

    async def _back(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: list[Fault]
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if fault[0] == "none":
                    writer.write(data)
                    await writer.drain()
                    continue
                if fault[0] == "middle":
                    writer.write(data[: len(data) // 2])
                    await writer.drain()
                writer.close() if fault[0] == "middle" else writer.transport.abort()
                return
        writer.close()

    def cut(self) -> None:
        """Abort every connection."""
        for writer in self._writers:
            writer.transport.abort()


@contextlib.asynccontextmanager
async def proxying(port: int, choose: Callable[[], Fault]) -> AsyncIterator[Proxy]:
    """A proxy in front of the server on `port`."""
    proxy = Proxy(port, choose)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
        await asyncio.sleep(0)
