"""Every operation over HTTP: routes come from OPERATIONS, replies are those of the messages."""

import json
from urllib.parse import quote, urlencode

import msgspec
import pytest

from blackboard.messages import replies as say
from blackboard.messages.operations import BY_NAME, OPERATIONS, Operation
from tests.server.support import BOARD, Answer, Driven, path_of

WRITE = BY_NAME["write"]
ENTRY = f"/v1/boards/{BOARD}/entries/"


async def prepared(server: Driven, operation: Operation) -> tuple[str, str]:
    """What an operation's example needs before it works: its path and who sends it."""
    who = "executor" if "agent" in operation.roles else "ops"
    names: dict[str, str] = {}
    if operation.name == "open_board":
        names["board"] = "another"
    if operation.name in ("accept", "refuse"):
        await server.ask("PUT", path_of(BY_NAME["set_mode"]), BY_NAME["set_mode"].example, who="ops")
        body = BY_NAME["propose"].example
        made = await server.ask("POST", path_of(BY_NAME["propose"]), body, who="executor")
        names["proposal"] = quote(made.json()["proposal"])
        who = "planner"
        await server.ask("GET", path_of(BY_NAME["proposals"]), who=who)
    if operation.name == "write":
        for revision in (1, 2):
            write = {"writes": [{"key": "task/B", "revision": revision, "value": "running"}]}
            await server.ask("POST", path_of(WRITE), write, who="executor")
    if operation.name == "certificate_valid":
        body = BY_NAME["certificate"].example
        made = await server.ask("POST", path_of(BY_NAME["certificate"]), body, who="executor")
        names["certificate"] = quote(made.json()["id"])
    if operation.name in ("show_agent", "keep"):
        await server.ask("GET", ENTRY + "x", who="executor")
    if operation.name == "revoke_token":
        listed = (await server.ask("GET", "/v1/tokens", who="ops")).json()["tokens"]
        names["id"] = next(one["id"] for one in listed if one["name"] == "hook")
    return path_of(operation, **names), who


async def asked(server: Driven, operation: Operation) -> Answer:
    path, who = await prepared(server, operation)
    if operation.method == "GET":
        return await server.ask("GET", f"{path}?{urlencode(operation.example)}", who=who)
    return await server.ask(operation.method, path, operation.example or None, who=who)


@pytest.mark.parametrize("operation", [row for row in OPERATIONS if not row.stream], ids=lambda row: row.name)
async def test_every_operation_answers_its_example(server: Driven, operation: Operation) -> None:
    answer = await asked(server, operation)
    assert answer.status in (200, 201), answer.body
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-length"] == str(len(answer.body))
    reply = msgspec.json.decode(answer.body, type=operation.reply)
    if isinstance(reply, say.Reply):
        assert {"seq", "head", "standing", "notices", "moved", "signals", "guarantee"} <= answer.json().keys()


async def test_the_answer_names_who_the_token_says_is_acting(server: Driven) -> None:
    answer = await server.ask("GET", ENTRY + "x", who="executor")
    assert answer.headers["blackboard-actor"] == "agent:executor"


async def test_opening_a_board_is_created_once_and_then_found(server: Driven) -> None:
    first = await server.ask("PUT", "/v1/boards/new", who="ops")
    again = await server.ask("PUT", "/v1/boards/new", {}, who="ops")
    assert (first.status, again.status) == (201, 200)
    other = await server.ask("PUT", "/v1/boards/new", {"policy": {"demotion": "off"}}, who="ops")
    assert other.status == 409
    assert other.problem()["code"] == "policy-differs"


@pytest.mark.parametrize(
    ("in_path", "key"),
    [
        ("task/B", "task/B"),
        ("task%2FB", "task/B"),
        ("a%20b%25", "a b%"),
        ("/leading", "/leading"),
        ("trailing/", "trailing/"),
        ("%C3%A9", "é"),
        ("..%2F..", "../.."),
    ],
)
async def test_keys_in_paths_may_hold_slashes_plain_or_encoded(
    server: Driven, in_path: str, key: str
) -> None:
    answer = await server.ask("GET", ENTRY + in_path)
    assert answer.status == 200
    assert answer.json()["entry"]["key"] == key


async def test_board_names_may_hold_what_is_percent_encoded(server: Driven) -> None:
    for name in ("a/b", "release 42", "é", "policy", "boards"):
        opened = await server.ask("PUT", f"/v1/boards/{quote(name, safe='')}", {}, who="ops")
        assert opened.json()["name"] == name
        assert (await server.ask("GET", f"/v1/boards/{quote(name, safe='')}/policy")).status == 200


async def test_one_entry_carries_its_revision_as_etag_and_is_never_304(server: Driven) -> None:
    absent = await server.ask("GET", ENTRY + "task/A")
    assert absent.headers["etag"] == '"0"'
    write = {"writes": [{"key": "task/A", "revision": 1, "value": 1}]}
    assert (await server.ask("POST", path_of(WRITE), write)).status == 200
    before = await server.head()
    for tag in ('"1"', "*", 'W/"1"'):
        answer = await server.ask("GET", ENTRY + "task/A", headers=[("If-None-Match", tag)])
        assert (answer.status, answer.headers["etag"]) == (200, '"1"')
        assert answer.headers["cache-control"] == "no-store"
    assert await server.head() == before + 3, "each was a served read, and is recorded"


async def test_an_absent_key_is_an_entry_and_no_error(server: Driven) -> None:
    entry = (await server.ask("GET", ENTRY + "nothing")).json()["entry"]
    assert (entry["value"], entry["revision"], entry["id"]) == (None, 0, None)


async def test_a_rejection_is_409_with_rules_evidence_and_remedy(server: Driven) -> None:
    await server.ask("POST", path_of(WRITE), {"writes": [{"key": "k", "revision": 1, "value": 1}]})
    body = {"writes": [{"key": "k", "revision": 1, "value": 2}]}
    answer = await server.ask("POST", path_of(WRITE), body, who="executor")
    found = answer.problem()
    assert (answer.status, found["code"]) == (409, "revision-not-advancing")
    assert [rule["code"] for rule in found["rules"]] == ["revision-not-advancing", "unseen-revision"]
    assert found["remedy"]["keys"] == ["k"]
    assert found["seq"] == await server.head(), "the attempt is in the log"
    assert found["standing"]["state"] == "active"


async def test_a_repeated_idempotency_key_gets_the_same_answer_and_another_body_is_refused(
    server: Driven,
) -> None:
    write = {"writes": [{"key": "k", "revision": 1, "value": 1}]}
    key = [("Idempotency-Key", "once")]
    first = await server.ask("POST", path_of(WRITE), write, headers=key)
    head = await server.head()
    again = await server.ask("POST", path_of(WRITE), write, headers=key)
    assert again.json()["entries"][0]["seq"] == first.json()["entries"][0]["seq"]
    assert again.json()["replayed"] is True
    assert await server.head() == head
    write["writes"][0]["value"] = 2
    refused = await server.ask("POST", path_of(WRITE), write, headers=key)
    assert refused.status == 422
    assert refused.problem()["code"] == "idempotency-key-reused"


async def test_reads_ignore_the_idempotency_key(server: Driven) -> None:
    key = [("Idempotency-Key", "once")]
    first = await server.ask("POST", path_of(BY_NAME["read"]), {"keys": ["k"]}, headers=key)
    again = await server.ask("POST", path_of(BY_NAME["read"]), {"keys": ["other"]}, headers=key)
    assert again.status == 200
    assert again.json()["seq"] == first.json()["seq"] + 1
    nonsense = [("Idempotency-Key", "x" * 200)]
    assert (await server.ask("GET", ENTRY + "k", headers=nonsense)).status == 200


async def test_seen_travels_as_a_header_and_decides_what_is_told(server: Driven) -> None:
    await server.ask("POST", path_of(BY_NAME["compacted"]), {"cause": "summary"}, who="executor")
    told = await server.ask("GET", ENTRY + "k")
    assert [notice["about"] for notice in told.json()["notices"]] == ["agent:executor"]
    seen = [("Blackboard-Seen", str(told.json()["head"]))]
    assert (await server.ask("GET", ENTRY + "k", headers=seen)).json()["notices"] == []


async def test_members_that_a_path_names_are_no_members_of_the_body(server: Driven) -> None:
    path = path_of(BY_NAME["join"], agent="coder")
    answer = await server.ask("PUT", path, {"agent": "executor", "prefix": "x/"}, who="ops")
    assert answer.status == 422
    assert answer.problem()["member"] == "/agent"
    assert (await server.ask("PUT", path, {"prefix": "x/"}, who="ops")).status == 200
    shown = await server.ask("GET", path, who="kim")
    assert shown.json()["summary"] == {"agent": "coder", "prefix": "x/"}


async def test_an_empty_body_is_an_empty_message(server: Driven) -> None:
    assert (await server.ask("POST", path_of(BY_NAME["compacted"]))).status == 200
    missing = await server.ask("POST", path_of(WRITE))
    assert missing.status == 422
    assert missing.problem()["member"] == "/writes"


async def test_replies_hold_json_values_exactly_as_written(server: Driven) -> None:
    value = {"b": [1, 2.5, None, True, "é\U0001f600"], "a": {}, "n": -(2**53 - 1)}
    await server.ask("POST", path_of(WRITE), {"writes": [{"key": "v", "revision": 1, "value": value}]})
    answer = await server.ask("GET", ENTRY + "v", who="executor")
    assert answer.json()["entry"]["value"] == value
    assert json.dumps(value["n"]) in answer.body.decode()
