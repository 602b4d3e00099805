"""Whatever is sent: no answer is a 5xx, every error is a problem document, and the board stays whole."""

import asyncio
import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blackboard.errors import Malformed
from blackboard.events.envelope import GENESIS, verify_row
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.operations import OPERATIONS, Operation
from blackboard.server.endpoint import Endpoint
from tests.server.support import BOARD, Answer, Driven, driven, path_of

WHO = st.sampled_from(["ops", "kim", "planner", "executor", "elsewhere", "bb_nobody", None])
ROUTES = [row for row in OPERATIONS if not row.stream]
COMMANDS = [row for row in ROUTES if row.method in ("POST", "PUT")]
QUERIES = [row for row in ROUTES if row.method == "GET"]
OPERATION = st.sampled_from(ROUTES)

numbers = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -1, 1, 2**53 - 1, 2**53, -(2**53), 2**63, 2**64, 10**30, 1e16, 0.1, -0.0]),
)
texts = st.one_of(st.text(max_size=20), st.sampled_from(["k", "task/B", "open", "*", "proposal:9", "\x00"]))
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted({name for row in OPERATIONS for name in row.message.__struct_fields__} | {"key", "value"})
objects = st.dictionaries(st.sampled_from(NAMES) | texts, values, max_size=5)


class Fuzzed:
    """A server in an event loop of its own, for all examples of this file."""

    def __init__(self, runner: asyncio.Runner, server: Driven) -> None:
        self.runner = runner
        self.server = server

    def ask(self, *arguments: Any, **named: Any) -> Answer:
        return self.runner.run(self.server.ask(*arguments, **named))

    def check(self, answer: Answer) -> None:
        assert answer.status < 500, answer
        if answer.status >= 400:
            answer.problem()


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    with asyncio.Runner() as runner:
        context = driven()
        server = runner.run(context.__aenter__())
        yield Fuzzed(runner, server)
        runner.run(whole(server))
        runner.run(context.__aexit__(None, None, None))


async def whole(server: Driven) -> None:
    """The log's chain holds, and the board still answers."""
    previous, count = GENESIS.hash, 0
    async for rows in server.store.scan(BOARD):
        for row in rows:
            count += 1
            assert row.seq == count
            assert verify_row(row, previous)
            previous = row.hash
    assert count == await server.head()
    assert (await server.ask("GET", f"/v1/boards/{BOARD}", who="ops")).status == 200


fuzz = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@given(operation=st.sampled_from(COMMANDS), body=st.binary(max_size=200), who=WHO)
@fuzz
def test_random_bytes(fuzzed: Fuzzed, operation: Operation, body: bytes, who: str | None) -> None:
    fuzzed.check(fuzzed.ask(operation.method, path_of(operation), body, who=who))


@given(operation=st.sampled_from(COMMANDS), body=objects | values, who=WHO)
@fuzz
def test_random_json(fuzzed: Fuzzed, operation: Operation, body: Any, who: str | None) -> None:
    fuzzed.check(fuzzed.ask(operation.method, path_of(operation), json.dumps(body).encode(), who=who))


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Operation, bytes]:
    """An example with something in it replaced, removed or added, or its text damaged."""
    operation = draw(st.sampled_from(COMMANDS))
    body: Any = copy.deepcopy(operation.example)
    for _ in range(draw(st.integers(0, 3))):
        body = draw(one_change(body))
    raw = json.dumps(body).encode()
    damage = draw(st.sampled_from(["none", "none", "cut", "flip", "double", "append"]))
    place = draw(st.integers(0, max(0, len(raw) - 1)))
    if damage == "cut":
        raw = raw[:place]
    elif damage == "flip" and raw:
        raw = raw[:place] + bytes([draw(st.integers(0, 255))]) + raw[place + 1 :]
    elif damage == "double" and body:
        raw = raw[:-1] + b"," + raw[1:]
    elif damage == "append":
        raw += draw(st.binary(max_size=5))
    return operation, raw


@st.composite
def one_change(draw: st.DrawFn, node: Any) -> Any:
    deeper: bool = draw(st.booleans())
    changed: bool = draw(st.booleans())
    removed: bool = draw(st.booleans())
    if isinstance(node, dict) and node and deeper:
        name = draw(st.sampled_from(sorted(node)))
        return {**node, name: draw(one_change(node[name]))}
    if isinstance(node, list) and node and deeper:
        place = draw(st.integers(0, len(node) - 1))
        return [*node[:place], draw(one_change(node[place])), *node[place + 1 :]]
    if isinstance(node, dict) and changed:
        if node and removed:
            gone = draw(st.sampled_from(sorted(node)))
            return {name: value for name, value in node.items() if name != gone}
        return {**node, draw(st.sampled_from(NAMES) | texts): draw(values)}
    if isinstance(node, list) and node and changed:
        return node * 2
    return draw(values)


@given(made=mutated(), who=WHO)
@settings(fuzz, max_examples=300)
def test_mutated_examples(fuzzed: Fuzzed, made: tuple[Operation, bytes], who: str | None) -> None:
    operation, body = made
    fuzzed.check(fuzzed.ask(operation.method, path_of(operation), body, who=who))


@given(
    operation=st.sampled_from(QUERIES),
    members=st.lists(st.tuples(st.sampled_from(NAMES) | texts, texts | numbers.map(str)), max_size=4),
    raw=st.binary(max_size=30) | st.none(),
    who=WHO,
)
@fuzz
def test_random_queries(
    fuzzed: Fuzzed, operation: Operation, members: list[tuple[str, str]], raw: bytes | None, who: str | None
) -> None:
    query = urlencode(members, errors="surrogatepass") if raw is None else raw.decode("latin-1")
    fuzzed.check(fuzzed.ask("GET", f"{path_of(operation)}?{query}", who=who))


segments = st.one_of(
    st.text(max_size=12).map(lambda text: quote(text, safe="", errors="surrogatepass")),
    st.binary(max_size=6).map(lambda raw: quote(raw, safe="")),
    st.text(alphabet="%/.?#;:@ a\u00e9\x01", max_size=8),
    st.sampled_from(["v1", "boards", BOARD, "entries", "writes", "", ".", "..", "%2F", "%", "%zz", "%00"]),
)


@given(
    parts=st.lists(segments, max_size=7),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "", "g\u00e9t"]),
    who=WHO,
)
@settings(fuzz, max_examples=200)
def test_random_paths(fuzzed: Fuzzed, parts: list[str], method: str, who: str | None) -> None:
    fuzzed.check(fuzzed.ask(method, "/" + "/".join(parts), who=who))


@given(
    operation=OPERATION,
    name=st.sampled_from(["board", "key", "agent", "proposal", "id"]),
    value=segments,
    who=WHO,
)
@fuzz
def test_random_names_in_paths(
    fuzzed: Fuzzed, operation: Operation, name: str, value: str, who: str | None
) -> None:
    body = operation.example if operation.method in ("POST", "PUT") else None
    fuzzed.check(fuzzed.ask(operation.method, path_of(operation, **{name: value}), body, who=who))


HEADERS = [
    "accept",
    "authorization",
    "blackboard-seen",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
    "range",
    "transfer-encoding",
    "x-http-method-override",
]


@given(
    operation=OPERATION,
    headers=st.lists(
        st.tuples(
            st.sampled_from(HEADERS),
            st.binary(max_size=20)
            | st.sampled_from([b"", b"0", b"-1", b"application/json", b"Bearer x", b"*/*"]),
        ),
        max_size=5,
    ),
    who=WHO,
)
@settings(fuzz, max_examples=200)
def test_random_headers(
    fuzzed: Fuzzed, operation: Operation, headers: list[tuple[str, bytes]], who: str | None
) -> None:
    body = operation.example if operation.method in ("POST", "PUT") else None
    fuzzed.check(fuzzed.ask(operation.method, path_of(operation), body, who=who, headers=headers))


@given(
    operation=st.sampled_from(COMMANDS),
    body=st.binary(max_size=60) | objects.map(lambda o: json.dumps(o).encode()),
)
@fuzz
def test_the_decoder_answers_with_a_message_or_says_what_is_malformed(
    operation: Operation, body: bytes
) -> None:
    endpoint = Endpoint(operation, DEFAULT_LIMITS)
    params = dict.fromkeys(endpoint.path_params, "x")
    with contextlib.suppress(Malformed):
        assert isinstance(endpoint.message(params, b"", body), operation.message)
