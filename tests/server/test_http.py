"""HTTP itself: methods, headers, media types, query parameters. Errors are problem documents, never a 500."""

from typing import Any

import pytest

from blackboard.messages.operations import BY_NAME
from tests.server.support import BOARD, Answer, Driven, driven, exchange, path_of

WRITES = path_of(BY_NAME["write"])
EVENTS = path_of(BY_NAME["events"])
WRITE = {"writes": [{"key": "k", "revision": 1, "value": 1}]}


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v1/boards/",
        "/v1/boards//writes",
        "/v1/boards/demo/nothing",
        "/v1/boards/demo/writes/",
        "/v1/boards/demo/entries",
        "/v1/boards/demo/proposals/p/nothing",
        "/v2/boards",
        "/docs/other",
        "/livez/",
    ],
)
async def test_a_path_that_is_not_there_is_404_and_says_where_the_routes_are(
    server: Driven, path: str
) -> None:
    answer = await server.ask("GET", path, who=None)
    assert answer.status == 404
    assert "/docs" in answer.problem()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", WRITES, {"POST", "OPTIONS"}),
        ("DELETE", f"/v1/boards/{BOARD}", {"GET", "HEAD", "PUT", "OPTIONS"}),
        ("PATCH", "/v1/boards", {"GET", "HEAD", "OPTIONS"}),
        ("POST", f"/v1/boards/{BOARD}/entries/k", {"GET", "OPTIONS"}),
        ("HEAD", f"/v1/boards/{BOARD}/entries/k", {"GET", "OPTIONS"}),
        ("HEAD", f"/v1/boards/{BOARD}/stream", {"GET", "OPTIONS"}),
        ("BREW", WRITES, {"POST", "OPTIONS"}),
        ("POST", "/docs", {"GET", "HEAD"}),
        ("DELETE", "/readyz", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_a_path_does_not_know_is_405_with_allow(
    server: Driven, method: str, path: str, allowed: set[str]
) -> None:
    answer = await server.ask(method, path, who="ops")
    assert answer.status == 405
    assert answer.problem()["code"] == "method-not-allowed"
    assert set(answer.headers["allow"].split(", ")) == allowed


async def test_options_tells_what_is_allowed_without_a_token(server: Driven) -> None:
    answer = await server.ask("OPTIONS", f"/v1/boards/{BOARD}", who=None)
    assert (answer.status, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS, PUT")


async def test_head_is_a_get_of_what_records_nothing(server: Driven) -> None:
    answer = await server.ask("HEAD", f"/v1/boards/{BOARD}")
    assert answer.status == 200
    before = await server.head()
    assert (await server.ask("HEAD", f"/v1/boards/{BOARD}/entries/k")).status == 405
    assert await server.head() == before, "a HEAD serves nothing and must put nothing in a view"


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json;charset="utf-8"',
    ],
)
async def test_a_body_is_json_by_its_type_or_without_one(server: Driven, kind: str | None) -> None:
    headers = [] if kind is None else [("Content-Type", kind)]
    assert (await server.ask("POST", WRITES, WRITE, headers=headers)).status == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Type", "text/plain"),
        ("Content-Type", "application/json; charset=latin-1"),
        ("Content-Type", "application/jsonx"),
        ("Content-Type", ""),
        ("Content-Encoding", "gzip"),
        ("Content-Encoding", "br"),
    ],
)
async def test_a_body_of_another_kind_is_415_and_says_which_to_send(
    server: Driven, name: str, value: str
) -> None:
    answer = await server.ask("POST", WRITES, WRITE, headers=[(name, value)])
    assert answer.status == 415
    found = answer.problem()
    assert (found["code"], found["member"]) == ("unsupported-media-type", name)
    assert found["limit"] in ("application/json", "identity")
    assert await server.head() == 1


@pytest.mark.parametrize(
    ("query", "member"),
    [
        ("nothing=1", "nothing"),
        ("after=1&after=2", "after"),
        ("after=-1", "after"),
        ("after=x", "after"),
        ("after=", "after"),
        ("after=1.5", "after"),
        ("after=9007199254740992", "after"),
        ("after=99999999999999999999999999999", "after"),
        ("limit=0", "limit"),
        ("limit=-5", "limit"),
        ("limit=1000000", "limit"),
        ("limit=99999999999999999999999999", "limit"),
        ("kind=", "kind"),
        ("kind=%00", "kind"),
        ("key=%0A", "key"),
        ("agent=" + "a" * 1000, "agent"),
        ("after", "query"),
        ("&&", "query"),
        ("kind=%FF", "query"),
        ("kind=\xff", "query"),
        ("x=" + "y" * 10_000, "query"),
        ("&".join(f"a{number}=1" for number in range(40)), "query"),
    ],
)
async def test_query_parameters_are_checked_and_named(server: Driven, query: str, member: str) -> None:
    answer = await server.ask("GET", f"{EVENTS}?{query}")
    assert answer.status in (413, 422)
    assert answer.problem()["member"] == member


async def test_query_parameters_may_be_percent_encoded(server: Driven) -> None:
    await server.ask("POST", WRITES, {"writes": [{"key": "a b/é", "revision": 1, "value": 1}]})
    for query in ("key=a+b%2F%C3%A9", "key=a%20b/%c3%a9&limit=1&after=0"):
        found = (await server.ask("GET", f"{EVENTS}?{query}")).json()["events"]
        assert [event["key"] for event in found] == ["a b/é"]


async def test_a_post_takes_no_query(server: Driven) -> None:
    answer = await server.ask("POST", f"{WRITES}?turn=7", WRITE)
    assert answer.status == 422
    assert answer.problem()["member"] == "turn"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Blackboard-Seen", "x"),
        ("Blackboard-Seen", "-1"),
        ("Blackboard-Seen", "1.0"),
        ("Blackboard-Seen", ""),
        ("Blackboard-Seen", "9007199254740992"),
        ("Blackboard-Seen", "9" * 400),
        ("Blackboard-Seen", b"\xd9\xa1"),
        ("Idempotency-Key", ""),
        ("Idempotency-Key", "x" * 129),
        ("Idempotency-Key", "a\x7fb"),
        ("Idempotency-Key", b"\xff\xfe"),
        ("Idempotency-Key", "\xe2\x80\xa8"),
    ],
)
async def test_headers_are_checked_and_named(server: Driven, name: str, value: str | bytes) -> None:
    answer = await server.ask("POST", WRITES, WRITE, headers=[(name, value)])
    assert answer.status == 422
    assert answer.problem()["member"] == name
    assert await server.head() == 1, "nothing was stored"


@pytest.mark.parametrize("name", ["Idempotency-Key", "Blackboard-Seen", "Content-Type"])
async def test_a_header_that_has_one_value_is_not_sent_twice(server: Driven, name: str) -> None:
    value = "application/json" if name == "Content-Type" else "1"
    answer = await server.ask("POST", WRITES, WRITE, headers=[(name, value), (name, value)])
    assert answer.status == 422
    assert answer.problem()["member"] == name.lower()


async def test_two_tokens_are_not_one(server: Driven) -> None:
    second = [("Authorization", f"Bearer {server.tokens['ops']}")]
    answer = await server.ask("POST", WRITES, WRITE, headers=second)
    assert answer.status == 422
    assert answer.problem()["member"] == "authorization"


async def test_too_many_headers_are_431(server: Driven) -> None:
    headers = [(f"x-{number}", "y") for number in range(120)]
    answer = await server.ask("POST", WRITES, WRITE, headers=headers)
    assert answer.status == 431
    assert answer.problem()["limit"] == 100


async def test_a_body_that_says_it_is_too_large_is_refused_unread() -> None:
    async with driven(command_bytes=1000) as server:
        token = server.tokens["planner"]

        async def never() -> Any:
            raise AssertionError("the body was read")

        told: list[Any] = []

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-length", b"1001")]
        scope = {"type": "http", "method": "POST", "path": WRITES, "raw_path": WRITES.encode()}
        await server.app({**scope, "query_string": b"", "headers": headers}, never, send)
        assert told[0]["status"] == 413


async def test_a_body_that_grows_too_large_is_refused_and_the_limit_named() -> None:
    async with driven(command_bytes=1000) as server:
        token = f"Bearer {server.tokens['planner']}".encode()
        answer = await exchange(server.app, "POST", WRITES.encode(), b" " * 1001, [(b"authorization", token)])
        found = answer.problem()
        assert (answer.status, found["code"]) == (413, "too-large")
        assert (found["member"], found["limit"]) == ("body", 1000)
        assert await server.head() == 1


async def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_no_trace(server: Driven) -> None:
    told: list[object] = []
    parts = [
        {"type": "http.request", "body": b'{"writes":', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        told.append(message)

    headers = [(b"authorization", f"Bearer {server.tokens['planner']}".encode())]
    scope = {"type": "http", "method": "POST", "path": WRITES, "raw_path": WRITES.encode()}
    await server.app({**scope, "query_string": b"", "headers": headers}, receive, send)
    assert told == []
    assert await server.head() == 1


async def test_every_error_says_what_it_is_and_may_not_be_stored(server: Driven) -> None:
    answers: list[Answer] = [
        await server.ask("GET", "/v1/boards/none"),
        await server.ask("GET", "/v1/boards", who=None),
        await server.ask("PUT", f"/v1/boards/{BOARD}", {}),
        await server.ask("GET", "/nowhere"),
    ]
    assert [answer.status for answer in answers] == [404, 401, 403, 404]
    for answer in answers:
        answer.problem()
        assert answer.headers["cache-control"] == "no-store"


async def test_a_websocket_is_closed(server: Driven) -> None:
    told: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        told.append(message)

    await server.app({"type": "websocket", "path": "/v1/boards"}, receive, send)
    assert [message["type"] for message in told] == ["websocket.close"]
