"""Head and body of an answer leave together; what must come after them does."""

import asyncio
from typing import Any

from blackboard.server.corked import CorkedTransport


class Recorder(asyncio.Transport):
    """Remembers what was done to it, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[Any] = []
        self.closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def write_eof(self) -> None:
        self.done.append("eof")

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.closing = True
        self.done.append("close")

    def abort(self) -> None:
        self.closing = True
        self.done.append("abort")

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return 100

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return name


def corked() -> tuple[CorkedTransport, Recorder]:
    recorder = Recorder()
    return CorkedTransport(recorder, asyncio.get_running_loop()), recorder


async def test_what_is_written_in_one_turn_is_sent_at_once() -> None:
    transport, recorder = corked()
    transport.write(b"head")
    transport.writelines([b"body", bytearray(b"!")])
    assert recorder.done == []
    assert transport.get_write_buffer_size() == 109
    await asyncio.sleep(0)
    assert recorder.done == [b"headbody!"]
    transport.write(b"next")
    await asyncio.sleep(0)
    assert recorder.done == [b"headbody!", b"next"]


async def test_closing_and_half_closing_come_after_what_was_written() -> None:
    transport, recorder = corked()
    transport.write(b"a")
    assert transport.can_write_eof()
    transport.write_eof()
    transport.write(b"b")
    transport.close()
    await asyncio.sleep(0)
    assert recorder.done == [b"a", "eof", b"b", "close"]
    assert transport.is_closing()


async def test_aborting_loses_what_was_written() -> None:
    transport, recorder = corked()
    transport.write(b"a")
    transport.abort()
    await asyncio.sleep(0)
    assert recorder.done == ["abort"]
    assert transport.get_extra_info("peername") == "peername"
