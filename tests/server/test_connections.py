"""Real sockets: limits on how much and how slowly somebody may send, and what is not HTTP at all."""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blackboard.server import connections
from tests.server.serving import listening
from tests.server.support import BOARD, Driven, driven, eventually

TLS = Path(__file__).parent / "tls"  # a key of these tests: nothing else trusts its certificate


class Wire(NamedTuple):
    """A connection as bytes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next response."""
        async with asyncio.timeout(10):
            head = await self.reader.readuntil(b"\r\n\r\n")
            status, *lines = head.decode().split("\r\n")[:-2]
            headers = dict(line.lower().split(": ", 1) for line in lines)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(status.split()[1]), headers, body

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                return await self.reader.read()
        return b""


@contextlib.asynccontextmanager
async def wire(port: int, **arguments: object) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **arguments)  # type: ignore[arg-type]  # ssl
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()


def request(server: Driven, path: str = f"/v1/boards/{BOARD}", more: str = "", who: str = "planner") -> bytes:
    token = server.tokens[who]
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{more}\r\n".encode()


def post(server: Driven, body: bytes, more: str = "") -> bytes:
    path, token = f"/v1/boards/{BOARD}/writes", server.tokens["planner"]
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def problem(status: int, headers: dict[str, str], body: bytes) -> str:
    assert headers["content-type"] == "application/problem+json"
    document = json.loads(body)
    assert document["status"] == status
    code: str = document["code"]
    return code


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        b"GET http:// HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_told_so_and_hung_up_on(server: Driven, sent: bytes) -> None:
    async with listening(server.app) as port:
        async with wire(port) as line:
            line.writer.write(sent)
            status, headers, body = await line.answer()
            assert 400 <= status < 500
            problem(status, headers, body)
            assert headers["connection"] == "close"
            assert await line.rest() == b""
        async with wire(port) as line:
            line.writer.write(request(server))
            assert (await line.answer())[0] == 200, "the server goes on"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are looked at ten times a second, and linger for a moment only."""
    monkeypatch.setattr(connections, "SWEEP_TICKS", 1)
    monkeypatch.setattr(connections, "LINGER_SECONDS", 0.3)


@pytest.fixture
async def noisy() -> AsyncIterator[tuple[Driven, int]]:
    async with driven() as server, listening(server.app) as port:
        yield server, port


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[asyncio.Runner, int]]:
    """A server in an event loop of its own, for all examples of one test."""
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()

        async def start() -> int:
            server = await stack.enter_async_context(driven(opened=False))
            return await stack.enter_async_context(listening(server.app))

        yield runner, runner.run(start())
        runner.run(stack.aclose())


pieces = st.sampled_from(
    [
        b"GET ", b"POST ", b"/v1/boards", b"/livez", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"Host: x", b"\x00",
        b"Content-Length: 5", b"Transfer-Encoding: chunked", b"5\r\nhello\r\n", b"0\r\n\r\n",
        b"Connection: close", b"Upgrade: websocket\r\nConnection: upgrade", b"Expect: 100-continue",
        b"\xff\xfe", b" " * 50,
    ]
)  # fmt: skip


@given(sent=st.lists(pieces | st.binary(max_size=20), max_size=12).map(b"".join))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_random_bytes_on_the_wire_never_get_a_5xx(listener: tuple[asyncio.Runner, int], sent: bytes) -> None:
    runner, port = listener

    async def exchange() -> None:
        async with wire(port) as line:
            line.writer.write(sent)
            line.writer.write_eof()
            got = await line.rest()
        for answer in [part for part in got.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]:
            assert answer[:1] in b"1234", got
        async with wire(port) as line:
            line.writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await line.answer())[0] == 200

    runner.run(exchange())


async def test_headers_have_a_size_limit(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    async with wire(port) as line:
        line.writer.write(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            for number in range(200):
                line.writer.write(b"x-%d: %b\r\n" % (number, b"y" * 1000))
                await line.writer.drain()
                await asyncio.sleep(0)
        status, headers, body = await line.answer()
        assert (status, problem(status, headers, body)) == (431, "headers-too-large")
    async with wire(port) as line:
        line.writer.write(request(server))
        assert (await line.answer())[0] == 200


async def test_a_request_that_does_not_end_is_ended(
    noisy: tuple[Driven, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, port = noisy
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    for sent in (b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", post(server, b"x" * 10)[:-3]):
        async with wire(port) as line:
            line.writer.write(sent)
            status, headers, body = await line.answer()
            assert (status, problem(status, headers, body)) == (408, "request-timeout")
            assert await line.rest() == b""


async def test_a_request_that_trickles_in_does_not_get_more_time(
    noisy: tuple[Driven, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, port = noisy
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    async with wire(port) as line:
        answer = asyncio.create_task(line.answer())
        line.writer.write(b"GET / HTTP/1.1\r\n")
        while not answer.done():
            line.writer.write(b"x: y\r\n")
            await asyncio.sleep(0.01)
        assert (await answer)[0] == 408


async def test_a_connection_that_says_nothing_is_closed(
    noisy: tuple[Driven, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, port = noisy
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    async with wire(port) as line:
        assert await line.rest() == b""


async def test_a_connection_between_two_requests_may_rest(
    noisy: tuple[Driven, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, port = noisy
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    async with wire(port) as line:
        for _ in range(2):
            line.writer.write(request(server))
            assert (await line.answer())[0] == 200
            await asyncio.sleep(0.7)


async def test_who_does_not_read_what_it_asked_for_is_cut_off(
    noisy: tuple[Driven, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, port = noisy
    for number in range(60):
        body = {"writes": [{"key": f"k{number}", "revision": 1, "value": "x" * 60_000}]}
        await server.ask("POST", f"/v1/boards/{BOARD}/writes", body)
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.3)
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    place.connect(("127.0.0.1", port))
    place.sendall(request(server, f"/v1/boards/{BOARD}/stream", who="kim"))
    with contextlib.closing(place):
        await eventually(lambda: server.service.metrics.followers == 1)
        await eventually(lambda: server.service.metrics.followers == 0)


async def test_a_stream_ends_on_the_server_when_its_client_hangs_up(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    async with wire(port) as line:
        line.writer.write(request(server, f"/v1/boards/{BOARD}/stream", who="kim"))
        assert b"caught-up" in await line.reader.readuntil(b'{"head":1}')
        assert server.service.metrics.followers == 1
    await eventually(lambda: server.service.metrics.followers == 0)


async def test_requests_in_one_packet_are_answered_in_order(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    keys = [f"k{number}" for number in range(10)]
    async with wire(port) as line:
        paths = [f"/v1/boards/{BOARD}/entries/{key}" for key in keys]
        line.writer.write(b"".join(request(server, path) for path in paths))
        got = [json.loads((await line.answer())[2])["entry"]["key"] for _ in keys]
    assert got == keys


async def test_a_large_body_is_refused_at_once_and_the_connection_goes_on(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    body = b" " * 1_000_000
    async with wire(port) as line:
        line.writer.write(post(server, body)[: -len(body)])
        status, headers, answer = await line.answer()
        assert (status, problem(status, headers, answer)) == (413, "too-large")
        line.writer.write(body)
        line.writer.write(request(server))
        assert (await line.answer())[0] == 200


async def test_a_client_that_asks_before_sending_is_told_without_sending(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    async with wire(port) as line:
        line.writer.write(post(server, b" " * 1_000_000, "Expect: 100-continue\r\n")[:-1_000_000])
        assert (await line.answer())[0] == 413
    async with wire(port) as line:
        body = b'{"writes":[{"key":"k","revision":1,"value":1}]}'
        line.writer.write(post(server, body, "Expect: 100-continue\r\n")[: -len(body)])
        assert await line.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.writer.write(body)
        assert (await line.answer())[0] == 200


async def test_a_chunked_body_is_read_and_has_the_same_limit(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    body = b'{"writes":[{"key":"k","revision":1,"value":1}]}'
    head = post(server, b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    async with wire(port) as line:
        line.writer.write(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        assert (await line.answer())[0] == 200
    async with wire(port) as line:
        line.writer.write(head)
        for _ in range(5):
            line.writer.write(b"10000\r\n%b\r\n" % (b" " * 0x10000))
        assert (await line.answer())[0] == 413


async def test_a_body_in_another_transfer_coding_is_refused(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    coded = post(server, b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: gzip, chunked\r\n")
    head, _, body = coded.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    async with wire(port) as line:
        line.writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        status, headers, answer = await line.answer()
    assert (status, problem(status, headers, answer)) == (415, "unsupported-media-type")
    assert json.loads(answer)["member"] == "Transfer-Encoding"


async def test_an_upgrade_is_not_taken_up(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    async with wire(port) as line:
        line.writer.write(request(server, more="Upgrade: websocket\r\nConnection: upgrade\r\n"))
        assert (await line.answer())[0] == 200


async def test_http_1_0_is_answered_and_closed(noisy: tuple[Driven, int]) -> None:
    server, port = noisy
    async with wire(port) as line:
        line.writer.write(request(server).replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert (await line.answer())[0] == 200
        assert await line.rest() == b""


async def test_tls_is_served_with_the_certificate_that_was_given(server: Driven) -> None:
    context = ssl.create_default_context(cafile=str(TLS / "cert.pem"))
    given = {"tls_cert": str(TLS / "cert.pem"), "tls_key": str(TLS / "key.pem")}
    async with (
        listening(server.app, **given) as port,
        wire(port, ssl=context, server_hostname="localhost") as line,
    ):
        line.writer.write(request(server))
        assert (await line.answer())[0] == 200


# -- several requests on one connection, and what comes after the last


def write(server: Driven, key: str, more: str = "") -> bytes:
    return post(server, json.dumps({"writes": [{"key": key, "revision": 1, "value": 1}]}).encode(), more)


@pytest.mark.parametrize("rest", [b"GARBAGE\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"])
@pytest.mark.parametrize("apart", [False, True], ids=["at once", "apart"])
@pytest.mark.parametrize("before", [1, 2, 5])
async def test_what_is_carried_out_is_answered_before_what_is_refused(
    server: Driven, before: int, apart: bool, rest: bytes
) -> None:
    async with listening(server.app) as port, wire(port) as line:
        for number in range(before):
            line.writer.write(write(server, f"k{number}"))
            if apart:
                await line.writer.drain()
                await asyncio.sleep(0)
        line.writer.write(rest)
        for number in range(before):
            status, _, body = await line.answer()
            assert (status, json.loads(body)["entries"][0]["key"]) == (200, f"k{number}")
        status, headers, body = await line.answer()
        assert (status, problem(status, headers, body)) == (400, "not-http")
        assert await line.rest() == b""


async def test_a_broken_body_is_refused_after_the_answers_before_it(server: Driven) -> None:
    token = server.tokens["planner"]
    head = f"POST /v1/boards/{BOARD}/writes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    broken = f"{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode()
    async with listening(server.app) as port, wire(port) as line:
        line.writer.write(write(server, "a") + write(server, "b") + broken)
        for key in "ab":
            assert json.loads((await line.answer())[2])["entries"][0]["key"] == key
        assert (await line.answer())[0] == 400
        assert await line.rest() == b""
    assert (await server.ask("GET", f"/v1/boards/{BOARD}/entries/b")).json()["entry"]["revision"] == 1


async def test_who_has_said_everything_still_gets_every_answer(server: Driven) -> None:
    async with listening(server.app) as port, wire(port) as line:
        line.writer.write(write(server, "a") + write(server, "b"))
        line.writer.write_eof()
        for key in "ab":
            status, _, body = await line.answer()
            assert (status, json.loads(body)["entries"][0]["key"]) == (200, key)
        assert await line.rest() == b""


async def test_who_stops_in_the_middle_of_a_request_is_hung_up_on(server: Driven) -> None:
    async with listening(server.app) as port, wire(port) as line:
        line.writer.write(write(server, "a")[:-1])
        line.writer.write_eof()
        assert await line.rest() == b""
    assert (await server.ask("GET", f"/v1/boards/{BOARD}/entries/a")).json()["entry"]["revision"] == 0


@pytest.mark.parametrize("offer", ["h2c", "websocket", "TLS/1.3, h2c"])
async def test_an_offer_of_another_protocol_is_passed_over(server: Driven, offer: str) -> None:
    wish = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {offer}\r\nHTTP2-Settings: AAMAAABkAA\r\n"
    async with listening(server.app) as port, wire(port) as line:
        for key in ("a", "b"):
            line.writer.write(write(server, key, wish))
            status, _, body = await line.answer()
            assert (status, json.loads(body)["entries"][0]["key"]) == (200, key)
        line.writer.write(write(server, "c", wish) + request(server, more=wish) + write(server, "d"))
        assert [(await line.answer())[0] for _ in range(3)] == [200, 200, 200]


async def test_an_offer_of_another_protocol_leaves_the_body_its_limits(server: Driven) -> None:
    wish = "Connection: Upgrade\r\nUpgrade: h2c\r\n"
    async with listening(server.app) as port, wire(port) as line:
        sent = write(server, "a", wish)
        for piece in (sent[:40], sent[40:-30], sent[-30:-1], sent[-1:]):
            line.writer.write(piece)
            await asyncio.sleep(0.01)
        assert (await line.answer())[0] == 200
        line.writer.write(post(server, b" " * 200_000, wish))
        status, headers, body = await line.answer()
        assert (status, problem(status, headers, body)) == (413, "too-large")


@pytest.mark.parametrize("trailer", ["Authorization: Bearer x", "Idempotency-Key: k", "Blackboard-Seen: -1"])
async def test_a_trailer_is_no_header(server: Driven, trailer: str) -> None:
    token = server.tokens["planner"]
    head = f"POST /v1/boards/{BOARD}/reads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    chunk = '{"keys":["k"]}'
    body = f"{len(chunk):x}\r\n{chunk}\r\n0\r\n{trailer}\r\n\r\n"
    async with listening(server.app) as port, wire(port) as line:
        line.writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\n{body}".encode())
        assert (await line.answer())[0] == 200
        line.writer.write(request(server))
        assert (await line.answer())[0] == 200
    without = head.replace("Authorization", "X-Other")
    async with listening(server.app) as port, wire(port) as line:
        line.writer.write(f"{without}Transfer-Encoding: chunked\r\n\r\n{body}".encode())
        assert (await line.answer())[0] == 401
