"""Every error of the tree as a problem document."""

import json
from typing import Any

import pytest

from blackboard.client.problems import restore
from blackboard.errors import (
    ERRORS_BY_CODE,
    BlackboardError,
    Malformed,
    RateLimited,
    RevisionNotAdvancing,
    Unavailable,
)
from blackboard.events.kinds import Remedy, Violation
from blackboard.messages.operations import BY_NAME
from blackboard.messages.replies import Notice, Reply, Standing
from blackboard.server.problems import HttpProblem, problem, unexpected
from blackboard.store.memory import MemoryStore
from tests.server.support import BOARD, driven, path_of


def told(error: BlackboardError | HttpProblem) -> tuple[int, dict[str, str], dict[str, Any]]:
    status, headers, body = problem(error)
    return status, {name.decode(): value.decode() for name, value in headers}, json.loads(body)


@pytest.mark.parametrize("kind", ERRORS_BY_CODE.values(), ids=lambda kind: kind.__name__)
def test_every_error_has_a_document_and_none_is_a_500(kind: type[BlackboardError]) -> None:
    status, headers, document = told(kind("what is wrong"))
    assert headers["content-type"] == "application/problem+json"
    assert headers["cache-control"] == "no-store"
    assert 400 <= status < 500 or status == 503
    code = "unavailable" if kind is BlackboardError else kind.code
    assert document == {
        "type": f"urn:blackboard:problem:{code}",
        "title": code.replace("-", " ").capitalize(),
        "status": status,
        "code": code,
        "detail": "what is wrong",
    }
    assert ("retry-after" in headers) is (status in (429, 503))
    assert ("www-authenticate" in headers) is (status == 401)


def test_a_client_gets_back_the_error_that_was_raised() -> None:
    raised = RevisionNotAdvancing(
        "read again",
        members={
            "rules": (Violation(code="revision-not-advancing", key="k", evidence={"current": 3}),),
            "evidence": {"current": 3},
            "remedy": Remedy(detail="read it", keys=["k"]),
        },
        reply=Reply(
            seq=7,
            head=9,
            standing=Standing(state="compacted", owed=2),
            notices=[Notice(seq=5, about="agent:x", what="compacted", detail="it was")],
        ),
    )
    found = restore(problem(raised)[2])
    assert type(found) is RevisionNotAdvancing
    assert (found.detail, found.seq, found.head) == ("read again", 7, 9)
    assert found.rules[0].evidence == {"current": 3}
    assert found.remedy.keys == ["k"]
    assert found.standing.owed == 2
    assert found.notices[0].about == "agent:x"


def test_members_never_replace_what_the_document_is() -> None:
    _, _, document = told(Malformed("x", members={"status": 200, "type": "mine", "board": "b"}))
    assert (document["status"], document["type"]) == (422, "urn:blackboard:problem:malformed")
    assert document["board"] == "b"


def test_members_that_are_no_json_are_shown_as_text() -> None:
    _, _, document = told(Malformed("x", limit=1j))
    assert document["limit"] == "1j"


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (Unavailable("x"), "1"),
        (Unavailable("x", members={"retry_after": 7}), "7"),
        (Unavailable("x", members={"retry_after": 0.2}), "1"),
        (Unavailable("x", members={"retry_after": "soon"}), "1"),
        (RateLimited("x", members={"retry_after": 30}), "30"),
        (ERRORS_BY_CODE["board-too-new"]("x"), "60"),
        (ERRORS_BY_CODE["integrity-failure"]("x"), "60"),
    ],
)
def test_retry_after_is_what_the_error_says_or_what_fits_it(error: BlackboardError, seconds: str) -> None:
    assert told(error)[1]["retry-after"] == seconds


def test_the_unforeseen_tells_no_details() -> None:
    status, _, body = unexpected()
    assert status == 503
    assert json.loads(body)["code"] == "unavailable"


async def test_refused_writes_beyond_the_rate_are_429_and_not_logged() -> None:
    async with driven(rejections_per_minute=2) as server:
        await server.ask("GET", f"/v1/boards/{BOARD}/entries/k", who="executor")
        path, body = path_of(BY_NAME["write"]), {"writes": [{"key": "k", "revision": 1, "value": 1}]}
        await server.ask("POST", path, body)
        statuses = [(await server.ask("POST", path, body, who="executor")).status for _ in range(2)]
        head = await server.head()
        limited = await server.ask("POST", path, body, who="executor")
        assert statuses == [409, 409]
        assert (limited.status, limited.problem()["code"]) == (429, "rate-limited")
        assert limited.headers["retry-after"] == "1"
        assert await server.head() == head
        assert (await server.ask("POST", path, {"writes": [{"key": "j", "revision": 1}]})).status == 200


async def test_a_store_in_trouble_is_503_and_the_request_may_be_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()

    async def gone(*_: Any) -> Any:
        raise Unavailable("the disk is gone")

    async with driven(store) as server:
        path, body = path_of(BY_NAME["write"]), {"writes": [{"key": "k", "revision": 1, "value": 1}]}
        for name in ("append", "token"):
            with monkeypatch.context() as patched:
                patched.setattr(store, name, gone)
                server.app.tokens._known.clear()
                answer = await server.ask("POST", path, body)
                assert answer.status == 503
                assert int(answer.headers["retry-after"]) >= 1
                answer.problem()
        assert (await server.ask("POST", path, body)).status == 200


async def test_names_beyond_ascii_travel_in_the_actor_header() -> None:
    async with driven() as server:
        await server.token("agent", "éxécuteur-\u4e2d")
        answer = await server.ask("GET", f"/v1/boards/{BOARD}/entries/k", who="éxécuteur-\u4e2d")
        assert answer.headers["blackboard-actor"] == "agent:éxécuteur-\u4e2d"
