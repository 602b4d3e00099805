"""Connections and their limits: what uvicorn leaves open to those who send too much, or too slowly.

A request must be complete `REQUEST_SECONDS` after its first byte, and a new connection must have sent one by
then; headers end within `HEAD_BYTES`; who does not read what it asked for is cut off after `STALL_SECONDS`.
What is not HTTP at all is answered with a problem document too, after the answers to what came before it.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

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

    `_received` counts what came for a message in the chunks after the one that it began in, `_unanswered` the
    requests whose answers are not complete; `_refusal` is the last word, while it waits for those.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """See `asyncio.Protocol`."""
        self.waiting_since: float | None = self.loop.time()
        self.stalled_since: float | None = None
        self._in_head, self._begun, self._refused = True, False, False
        self._passing_over = False
        self._refusal: bytes | None = None
        self._received = self._chunk = self._unanswered = 0
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
        self._unset_keepalive_if_required()
        self._feed(data)
        self._received += self._chunk

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as wish:
            self._pass_over(data[wish.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("")

    def _pass_over(self, rest: bytes) -> None:
        """Take a request that wishes for another protocol (some clients offer HTTP/2 with each) as if it did
        not: to the parser, its body would be the other protocol's.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        head = [b"%b %b HTTP/%b\r\n" % (method, self.url, version)]
        head += [b"%b: %b\r\n" % (name, value) for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self._passing_over = False
        self._feed(b"".join([*head, b"\r\n", rest]))

    def on_message_begin(self) -> None:
        """A request has begun."""
        HttpToolsProtocol.on_message_begin(self)
        self._in_head, self._begun, self._received = True, True, -self._chunk
        if self.waiting_since is None:
            self.waiting_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """Its headers are complete."""
        self._in_head = False
        if self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT":
            self._passing_over = True
            return
        HttpToolsProtocol.on_headers_complete(self)
        self.headers = []  # what comes behind the body is a trailer, and no header of the request
        self._unanswered += 1

    def on_message_complete(self) -> None:
        """It is complete."""
        if self._passing_over:
            return
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
        """End the connection with a word, which comes after the answers to all complete requests.

        Nothing is said where another answer has begun, or to a request that has been answered already.
        """
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        silent = False
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)  # before any request there is none
        if cycle is not None and cycle.response_complete:
            silent = cycle.more_body
        elif cycle is not None and (cycle.more_body or cycle.response_started):
            silent = cycle.response_started
            self._drop(cycle)
        if not silent:
            _, headers, body = problem(HttpProblem(status, code, detail, limit=limit))
            lines = [STATUS_LINE[status]]
            lines += [b"%b: %b\r\n" % header for header in (*headers, (b"connection", b"close"))]
            self._refusal = b"".join([*lines, b"\r\n", body])
        if silent or not self._unanswered:
            self._hang_up()

    def _drop(self, cycle: RequestResponseCycle) -> None:
        """Answer the newest request no more: it is not complete, or its answer cannot be."""
        self._unanswered -= 1
        cycle.disconnected = True
        cycle.message_event.set()
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()

    def on_response_complete(self) -> None:
        """A request has been answered."""
        self._unanswered -= 1
        HttpToolsProtocol.on_response_complete(self)
        if self._refused and not self._unanswered:
            self._hang_up()

    def _hang_up(self) -> None:
        """What still comes is read and dropped for a while: closing at once would take the last word back."""
        if self.transport.is_closing():
            return
        if self._refusal is not None:
            self.transport.write(self._refusal)
            self._refusal = None
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def eof_received(self) -> bool:  # type: ignore[override]  # as in asyncio
        """The client has said everything. What it has asked for whole is answered, where it can still listen:
        not over TLS. A stream that has begun ends.
        """
        waits = self._unanswered > 0 and self.scheme == "http"
        if waits and not self._refused:
            waits = not self.cycle.more_body and not self.cycle.response_started
            self.cycle.keep_alive = False
        if not waits:
            self.transport.close()
        return waits

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
