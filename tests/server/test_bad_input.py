"""What must not get in: a problem names the member and the limit, nothing is stored, the server goes on.

Two attempts are logged because the specification says so: a write without a revision, and one that the gate
refuses.
"""

import json
from typing import Any

import pytest

from blackboard.messages.operations import BY_NAME
from tests.server.support import BOARD, Driven, driven, path_of

WRITES = path_of(BY_NAME["write"])
MOST = 2**53 - 1


def write(**members: Any) -> dict[str, Any]:
    return {"writes": [{"key": "k", "revision": 1, "value": 1, **members}]}


def nested(depth: int) -> str:
    """A command that is so deep: the value stands in an object in an array in an object."""
    value = "[" * (depth - 3) + "]" * (depth - 3)
    return f'{{"writes":[{{"key":"k","revision":1,"value":{value}}}]}}'


async def refused(server: Driven, body: Any, *, path: str = WRITES, who: str = "planner") -> dict[str, Any]:
    """The problem that `body` gets; nothing is stored, and the next request is answered."""
    before = await server.head()
    raw = body.encode() if isinstance(body, str) else body
    answer = await server.ask("POST", path, raw, who=who)
    assert answer.status in (404, 413, 422), answer
    found = answer.problem()
    assert await server.head() == before, "nothing was stored"
    assert (await server.ask("GET", f"/v1/boards/{BOARD}", who=who)).status == 200, "the server goes on"
    return found


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ("", "/writes"),
        ("{}", "/writes"),
        ("null", ""),
        ("[]", ""),
        ("1", ""),
        ('"x"', ""),
        ("{", ""),
        ('{"writes":[]}x', ""),
        ("\ufeff{}", ""),
        ('{"writes":[{"key":"k","revision":1,"value":NaN}]}', "/writes/0/value"),
        ('{"writes":[{"key":"k","revision":1,"value":Infinity}]}', "/writes/0/value"),
        ('{"writes":[{"key":"k","revision":1,"value":[-Infinity]}]}', "/writes/0/value/0"),
        ('{"writes":[{"key":"k","key":"j","revision":1}]}', "/writes/0"),
        ('{"writes":[{"key":"k","revision":1,"value":{"a":1,"a":2}}]}', "/writes/0/value"),
        ('{"writes":[],"writes":[]}', ""),
        ('{"writes":[{"key":"\\ud800","revision":1,"value":1}]}', "/writes/0/key"),
        ('{"writes":[{"key":"k","revision":1,"value":"\\udc00"}]}', "/writes/0/value"),
        ('{"writes":[{"key":"k","revision":1,"value":12345678901234567890}]}', "/writes/0/value"),
        ('{"writes":[{"key":"k","revision":1,"value":0.12345678901234567890123}]}', "/writes/0/value"),
        ('{"writes":[{"key":"k","revision":1,"value":1e999}]}', "/writes/0/value"),
        (write(key=7), "/writes/0/key"),
        (write(key=None), "/writes/0/key"),
        (write(key=["k"]), "/writes/0/key"),
        (write(key=""), "/writes/0/key"),
        (write(key="a\x00b"), "/writes/0/key"),
        (write(key="a\nb"), "/writes/0/key"),
        (write(key="x" * 257), "/writes/0/key"),
        (write(revision=0), "/writes/0/revision"),
        (write(revision=-1), "/writes/0/revision"),
        (write(revision=MOST + 1), "/writes/0/revision"),
        (write(revision=1.5), "/writes/0/revision"),
        (write(revision=1e3), "/writes/0/revision"),
        (write(revision="1"), "/writes/0/revision"),
        (write(revision=True), "/writes/0/revision"),
        (write(revision=None), "/writes/0/revision"),
        (write(confidence=1.5), "/writes/0/confidence"),
        (write(confidence=-0.1), "/writes/0/confidence"),
        (write(confidence="high"), "/writes/0/confidence"),
        (write(confidence=True), "/writes/0/confidence"),
        (write(deleted="yes"), "/writes/0/deleted"),
        (write(deleted=True), "/writes/0/value"),
        (write(basis=[]), "/writes/0/basis"),
        (write(basis={"a": -1}), "/writes/0/basis/a"),
        (write(basis={"a": 1.5}), "/writes/0/basis/*"),
        (write(basis={"": 1}), "/writes/0/basis"),
        (write(payload_hash="00"), "/writes/0/payload_hash"),
        (write(compacted=False), "/writes/0/compacted"),
        (write(seen_hash="x"), "/writes/0/seen_hash"),
        ({**write(), "baseline": 4}, "/baseline"),
        ({**write(), "agent": "executor"}, "/agent"),
        ({**write(), "board": "other"}, "/board"),
        ({**write(), "turn": -1}, "/turn"),
        ({**write(), "turn": 1.5}, "/turn"),
        ({**write(), "turn": MOST + 1}, "/turn"),
        ({"writes": []}, "/writes"),
        ({"writes": {}}, "/writes"),
        ({"writes": None}, "/writes"),
        ({"writes": [1]}, "/writes/0"),
        ({"writes": [{"key": "k", "revision": 1}, {"key": "k", "revision": 2}]}, "/writes/1/key"),
    ],
    ids=str,
)
async def test_a_malformed_write_is_refused_and_names_the_member(
    server: Driven, body: Any, member: str
) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    found = await refused(server, raw)
    assert found["member"] == member, found
    assert found["code"] in ("malformed", "payload-hash-mismatch", "too-large")


async def test_bytes_that_are_not_utf8_are_no_json(server: Driven) -> None:
    found = await refused(server, b'{"writes":"\xff"}')
    assert found["limit"] == "UTF-8"


@pytest.mark.parametrize("depth", [33, 40, 200, 50_000])
async def test_nesting_has_a_limit(server: Driven, depth: int) -> None:
    found = await refused(server, nested(depth))
    assert isinstance(found["limit"], int)
    assert "deep" in found["detail"]


async def test_nesting_up_to_the_limit_is_accepted(server: Driven) -> None:
    assert (await server.ask("POST", WRITES, nested(32).encode())).status == 200


async def test_sizes_have_limits_that_the_answer_names(server: Driven) -> None:
    value = await refused(server, json.dumps(write(value="x" * 70_000)))
    assert (value["code"], value["member"], value["limit"]) == ("too-large", "/writes/0/value", 64 * 1024)
    body = await refused(server, json.dumps(write(value=["x" * 60_000] * 3)))
    assert (body["code"], body["member"], body["limit"]) == ("too-large", "body", 128 * 1024)
    many = {"writes": [{"key": str(number), "revision": 1} for number in range(1001)]}
    count = await refused(server, json.dumps(many))
    assert (count["code"], count["member"], count["limit"]) == ("too-large", "/writes", 1000)


async def test_limits_are_settings() -> None:
    async with driven(value_bytes=100, key_bytes=10, writes_per_batch=2, command_bytes=1000) as server:
        assert (await refused(server, json.dumps(write(value="x" * 101))))["limit"] == 100
        assert (await refused(server, json.dumps(write(key="x" * 11))))["limit"] == 10
        many = {"writes": [{"key": str(number), "revision": 1} for number in range(3)]}
        assert (await refused(server, json.dumps(many)))["limit"] == 2
        assert (await refused(server, json.dumps(write(value="x" * 1001))))["limit"] == 1000


async def test_a_write_without_a_revision_is_refused_and_logged(server: Driven) -> None:
    before = await server.head()
    answer = await server.ask("POST", WRITES, {"writes": [{"key": "k", "value": 1}]})
    found = answer.problem()
    assert (answer.status, found["code"]) == (422, "revision-missing")
    assert found["seq"] > before
    events = await server.ask("GET", f"/v1/boards/{BOARD}/events?after={before}", who="kim")
    assert "write.rejected" in {event["kind"] for event in events.json()["events"]}
    ledger = await server.ask("GET", f"/v1/boards/{BOARD}/ledger", who="kim")
    assert ledger.json()["entries"] == []


@pytest.mark.parametrize("who", ["planner", "ops", "kim"])
async def test_an_unknown_board_is_404_and_is_not_made(server: Driven, who: str) -> None:
    for name in ("events", "proposals", "agents"):
        answer = await server.ask("GET", f"/v1/boards/none/{name}", who=who)
        assert (answer.status, answer.problem()["code"]) == (404, "unknown-board")
    assert await server.store.tip("none") is None


@pytest.mark.parametrize("name", ["%00", "a%0Ab", "x" * 129, "%7F", "%E2%80%A8"])
async def test_a_name_that_no_board_can_have_is_refused(server: Driven, name: str) -> None:
    answer = await server.ask("PUT", f"/v1/boards/{name}", {}, who="ops")
    assert answer.status == 422
    assert answer.problem()["member"] == "board"


async def test_a_path_that_is_not_utf8_is_refused(server: Driven) -> None:
    for path, member in (("/v1/boards/%FF", "board"), (f"/v1/boards/{BOARD}/entries/%C3", "key")):
        answer = await server.ask("GET", path)
        assert answer.status == 422
        assert answer.problem()["member"] == member


async def test_turns_go_forward(server: Driven) -> None:
    await server.ask("POST", WRITES, {**write(), "turn": 7})
    found = await refused(server, json.dumps({"writes": [{"key": "k", "revision": 2}], "turn": 6}))
    assert found["code"] == "turn-out-of-order"
    await server.ask("POST", f"/v1/boards/{BOARD}/turns", {"turn": 7})
    ended = await refused(server, json.dumps({"writes": [{"key": "k", "revision": 2}], "turn": 7}))
    assert ended["code"] == "turn-out-of-order"


@pytest.mark.parametrize(
    "proposal", ["proposal:99", "proposal:1", "nonsense", "entry:1", "%20", "proposal:-1"]
)
async def test_an_unknown_proposal_is_404(server: Driven, proposal: str) -> None:
    for what in ("accept", "refuse"):
        path = f"/v1/boards/{BOARD}/proposals/{proposal}/{what}"
        assert (await refused(server, b"{}", path=path))["code"] == "unknown-proposal"


async def test_a_proposal_is_decided_once(server: Driven) -> None:
    mode = {"mode": "single-writer", "coordinator": "planner"}
    await server.ask("PUT", f"/v1/boards/{BOARD}/mode", mode, who="ops")
    made = await server.ask("POST", f"/v1/boards/{BOARD}/proposals", write(), who="executor")
    await server.ask("GET", f"/v1/boards/{BOARD}/proposals")
    path = f"/v1/boards/{BOARD}/proposals/{made.json()['proposal']}/accept"
    assert (await server.ask("POST", path, {})).status == 200
    before = await server.head()
    for again in (path, path.replace("/accept", "/refuse")):
        answer = await server.ask("POST", again, {})
        assert (answer.status, answer.problem()["code"]) == (409, "proposal-closed")
    assert await server.head() == before


@pytest.mark.parametrize(
    ("path", "body", "member"),
    [
        ("reads", {}, "/keys"),
        ("reads", {"keys": []}, "/keys"),
        ("reads", {"keys": ["a"], "all": True}, "/keys"),
        ("reads", {"keys": [""]}, "/keys/0"),
        ("reads", {"keys": ["a"] * 1001}, "/keys"),
        ("reads", {"all": True, "limit": 0}, "/limit"),
        ("reads", {"all": True, "limit": 1001}, "/limit"),
        ("reads", {"keys": ["a"], "cursor": "x"}, "/cursor"),
        ("compactions", {"cause": "boredom"}, "/cause"),
        ("compactions", {"base_seq": -1}, "/base_seq"),
        ("compactions", {"kept": "all"}, "/kept"),
        ("compactions", {"agents": []}, "/agents"),
        ("compactions", {"kept": ["x\x00"]}, "/kept/0"),
        ("messages", {"text": ""}, "/text"),
        ("messages", {"text": "x" * 16_385}, "/text"),
        ("messages", {"text": "x", "recipients": [7]}, "/recipients/0"),
        ("turns", {}, "/turn"),
        ("turns", {"turn": "7"}, "/turn"),
        ("proposals", {"writes": []}, "/writes"),
    ],
    ids=str,
)
async def test_other_commands_are_checked_alike(
    server: Driven, path: str, body: dict[str, Any], member: str
) -> None:
    found = await refused(server, json.dumps(body), path=f"/v1/boards/{BOARD}/{path}")
    assert found["member"] == member, found


async def test_a_compaction_base_beyond_the_head_is_refused(server: Driven) -> None:
    path = f"/v1/boards/{BOARD}/compactions"
    before = await server.head()
    answer = await server.ask("POST", path, {"base_seq": 9999})
    assert answer.status == 422
    assert answer.problem()["member"] == "/base_seq"
    assert await server.head() == before


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"policy": {"revisions": "whatever"}}, "revisions"),
        ({"policy": {"nothing": 1}}, "nothing"),
        ({"policy": {"completion_window": 0}}, "completion_window"),
        ({"policy": {"signals": {"nonsense": "flag"}}}, "nonsense"),
        ({"policy": {"signals": {"write-breadth": "shout"}}}, "signals"),
        ({"policy": {"status_pointer": "status"}}, "status_pointer"),
        ({"policy": {"finished": [""]}}, "finished"),
        ({}, "policy"),
    ],
    ids=str,
)
async def test_a_policy_that_is_none_is_refused(server: Driven, body: dict[str, Any], part: str) -> None:
    before = await server.head()
    answer = await server.ask("PUT", f"/v1/boards/{BOARD}/policy", body, who="ops")
    assert answer.status == 422
    assert part in json.dumps(answer.problem())
    assert await server.head() == before
