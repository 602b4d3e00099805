"""Connections and their limits: what uvicorn leaves open to those who send too much, or too slowly.

A request must be complete `REQUEST_SECONDS` after its first byte, and a new connection must have sent one by
then; headers end within `HEAD_BYTES`; who does not read what it asked for is cut off after `STALL_SECONDS`.
What is not HTTP at all is answered with a problem document too.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from blackboard.server.corked import CorkedTransport
from blackboard.server.problems import HttpProblem, problem

__all__ = ["Connection", "HttpServer"]

HEAD_BYTES: Final = 64 * 1024
MESSAGE_BYTES: Final = 32 * 1024 * 1024
REQUEST_SECONDS: Final = 30.0
STALL_SECONDS: Final = 60.0
LINGER_SECONDS: Final = 2.0
KEEP_ALIVE_SECONDS: Final = 75
SWEEP_TICKS: Final = 10
"""How many of uvicorn's ticks (0.1 s) lie between two looks at the connections."""


class Connection(HttpToolsProtocol):
    """One connection. `waiting_since` and `stalled_since` are the loop's time, None while all is well.

    `_received` counts what came for a message in the chunks after the one that it began in.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """See `asyncio.Protocol`."""
        self.waiting_since: float | None = self.loop.time()
        self.stalled_since: float | None = None
        self._in_head, self._begun, self._refused = True, False, False
        self._received = self._chunk = 0
        super().connection_made(CorkedTransport(transport, self.loop))

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self._refused:
            return
        if self._received > (HEAD_BYTES if self._in_head else MESSAGE_BYTES):
            self.refuse(
                431, "headers-too-large", f"the headers have more than {HEAD_BYTES} bytes", HEAD_BYTES
            )
            return
        self._chunk = len(data)
        HttpToolsProtocol.data_received(self, data)
        self._received += self._chunk

    def on_message_begin(self) -> None:
        """A request has begun."""
        HttpToolsProtocol.on_message_begin(self)
        self._in_head, self._begun, self._received = True, True, -self._chunk
        if self.waiting_since is None:
            self.waiting_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """Its headers are complete."""
        self._in_head = False
        HttpToolsProtocol.on_headers_complete(self)

    def on_message_complete(self) -> None:
        """It is complete."""
        self.waiting_since = None
        self._begun, self._received = False, -self._chunk
        HttpToolsProtocol.on_message_complete(self)

    def pause_writing(self) -> None:
        """The client does not read."""
        self.stalled_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It reads again."""
        self.stalled_since = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """What came is not HTTP."""
        self.refuse(400, "not-http", "what was sent is not an HTTP/1.1 request")

    def refuse(self, status: int, code: str, detail: str, limit: Any = None) -> None:
        """End the connection, with a word where none is being said already.

        What still comes is read and dropped for a while: closing at once would take the word back.
        """
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        speaking = getattr(self.cycle, "response_started", False)  # before any request there is no cycle
        if not speaking or self.cycle.response_complete:
            _, headers, body = problem(HttpProblem(status, code, detail, limit=limit))
            lines = [STATUS_LINE[status]]
            lines += [b"%b: %b\r\n" % header for header in (*headers, (b"connection", b"close"))]
            self.transport.write(b"".join([*lines, b"\r\n", body]))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def eof_received(self) -> None:
        """The client has said everything."""
        if self._refused:
            self.transport.close()

    def look(self, now: float) -> None:
        """End this connection if it has taken too long."""
        if self.stalled_since is not None and now - self.stalled_since > STALL_SECONDS:
            self.transport.abort()
        elif self.waiting_since is not None and now - self.waiting_since > REQUEST_SECONDS:
            if not self._begun:
                self.transport.close()
                return
            seconds = round(REQUEST_SECONDS)
            self.refuse(408, "request-timeout", f"the request was not complete after {seconds} s", seconds)


class HttpServer(uvicorn.Server):
    """uvicorn's server, with our way to stop: `on_stop` is called first, then no connection is accepted,
    requests under way are finished, and `serve` returns. A second signal ends it without waiting.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as a wish to stop, and leave nothing of it behind."""
        loop = asyncio.get_running_loop()
        taken = []
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.handle_exit, number, None)
            except (NotImplementedError, RuntimeError, ValueError):  # not the main thread, or not POSIX
                continue
            taken.append(number)
        try:
            yield
        finally:
            for number in taken:
                loop.remove_signal_handler(number)

    def handle_exit(self, sig: int, frame: object) -> None:
        """Stop; when asked again, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, beside what uvicorn does."""
        if counter % SWEEP_TICKS == 0:
            now = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.look(now)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        for server in self.servers:
            server.close()
        self._on_stop()
        await super().shutdown(sockets)
