"""A transport that sends what is written in one turn of the event loop at once.

uvicorn writes the head and the body of an answer one after the other, and each write is a system call: on the
hot path two of them cost more than the gate does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

__all__ = ["CorkedTransport"]


class CorkedTransport(asyncio.Transport):
    """Writes to `transport`, at the end of the turn or before anything that must come after the writes."""

    __slots__ = ("_loop", "_transport", "_written")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._written: list[bytes | bytearray | memoryview] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """See `asyncio.WriteTransport`; the bytes leave when this turn of the loop ends."""
        if not self._written:
            self._loop.call_soon(self._flush)
        self._written.append(data)

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """See `asyncio.WriteTransport`."""
        for data in list_of_data:
            self.write(data)

    def _flush(self) -> None:
        written, self._written = self._written, []
        if written and not self._transport.is_closing():
            self._transport.write(b"".join(written))

    def close(self) -> None:
        """Send what was written, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once; what was written is lost."""
        self._written = []
        self._transport.abort()

    def write_eof(self) -> None:
        """See `asyncio.WriteTransport`."""
        self._flush()
        self._transport.write_eof()

    def can_write_eof(self) -> bool:
        """See `asyncio.WriteTransport`."""
        return self._transport.can_write_eof()

    def get_write_buffer_size(self) -> int:
        """See `asyncio.WriteTransport`."""
        return self._transport.get_write_buffer_size() + sum(map(len, self._written))

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """See `asyncio.WriteTransport`."""
        return self._transport.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """See `asyncio.WriteTransport`."""
        self._transport.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        """See `asyncio.ReadTransport`."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """See `asyncio.ReadTransport`."""
        self._transport.resume_reading()

    def is_reading(self) -> bool:
        """See `asyncio.ReadTransport`."""
        return self._transport.is_reading()

    def is_closing(self) -> bool:
        """See `asyncio.BaseTransport`."""
        return self._transport.is_closing()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """See `asyncio.BaseTransport`."""
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """See `asyncio.BaseTransport`."""
        return self._transport.get_protocol()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """See `asyncio.BaseTransport`."""
        return self._transport.get_extra_info(name, default)
