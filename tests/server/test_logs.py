"""The log over HTTP: JSON, NDJSON or a batch of CloudEvents, by Accept."""

import json
from datetime import datetime
from typing import Any

import pytest

from blackboard.messages.operations import BY_NAME
from tests.server.support import BOARD, Answer, Driven, path_of

EVENTS = path_of(BY_NAME["events"])


async def written(server: Driven, *keys: str) -> None:
    for key in keys:
        body = {"writes": [{"key": key, "revision": 1, "value": {"n": 1.5}}]}
        assert (await server.ask("POST", path_of(BY_NAME["write"]), body)).status == 200


async def got(server: Driven, accept: str | None, query: str = "") -> Answer:
    headers = [] if accept is None else [("Accept", accept)]
    answer = await server.ask("GET", EVENTS + query, who="kim", headers=headers)
    assert answer.status == 200
    assert answer.headers["vary"] == "accept"
    return answer


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/*", "application/json"),
        ("text/html", "application/json"),
        ("nonsense", "application/json"),
        ("", "application/json"),
        (";;q=,", "application/json"),
        ("application/x-ndjson", "application/x-ndjson"),
        ("Application/X-NDJSON; charset=utf-8", "application/x-ndjson"),
        ("application/json;q=0.5, application/x-ndjson", "application/x-ndjson"),
        ("application/x-ndjson;q=0.1, application/json;q=0.2", "application/json"),
        ("application/x-ndjson;q=0", "application/json"),
        ("application/x-ndjson;q=nan, application/cloudevents-batch+json;q=x", "application/json"),
        ("text/html, application/cloudevents-batch+json", "application/cloudevents-batch+json"),
    ],
)
async def test_the_form_is_the_one_that_was_asked_for_or_json(
    server: Driven, accept: str | None, media: str
) -> None:
    assert (await got(server, accept)).headers["content-type"] == media


async def test_all_forms_tell_the_same_events(server: Driven) -> None:
    await written(server, "a", "b/é")
    plain = (await got(server, None)).json()["events"]
    lines = (await got(server, "application/x-ndjson")).body.decode().splitlines()
    assert [json.loads(line) for line in lines] == plain
    cloud = (await got(server, "application/cloudevents-batch+json")).json()
    assert [int(event["id"]) for event in cloud] == [event["seq"] for event in plain]
    assert [event["data"] for event in cloud] == [event["body"] for event in plain]


async def test_a_cloud_event_has_the_attributes_that_the_specification_requires(server: Driven) -> None:
    await written(server, "task/A")
    event = (await got(server, "application/cloudevents-batch+json", "?after=1")).json()[0]
    assert event["specversion"] == "1.0"
    assert event["type"] == "blackboard.entry.written"
    assert event["source"] == f"/v1/boards/{BOARD}"
    assert event["subject"] == "task/A"
    assert event["datacontenttype"] == "application/json"
    assert datetime.fromisoformat(event["time"]).tzinfo is not None
    extensions = event.keys() - {"specversion", "type", "source", "id", "subject", "time", "data"}
    assert all(name.isalnum() and name == name.lower() for name in extensions), extensions
    opened = (await got(server, "application/cloudevents-batch+json")).json()[0]
    assert "subject" not in opened


async def test_pages_follow_one_another_in_every_form(server: Driven) -> None:
    await written(server, *"abcdefg")
    for media in ("application/json", "application/x-ndjson", "application/cloudevents-batch+json"):
        found: list[int] = []
        after: int | str | None = 0
        while after is not None:
            answer = await got(server, media, f"?after={after}&limit=3")
            page, after = read(answer)
            assert len(page) <= 3
            found += page
        assert found == list(range(1, 9))


def read(answer: Answer) -> tuple[list[int], int | str | None]:
    media = answer.headers["content-type"]
    if media == "application/json":
        told = answer.json()
        assert told["head"] == 8
        return [event["seq"] for event in told["events"]], told["next"]
    assert answer.headers["blackboard-head"] == "8"
    events: list[Any] = (
        [json.loads(line) for line in answer.body.splitlines()]
        if media == "application/x-ndjson"
        else [{"seq": int(event["id"])} for event in answer.json()]
    )
    return [event["seq"] for event in events], answer.headers.get("blackboard-next")


async def test_filters_are_by_kind_agent_and_key(server: Driven) -> None:
    await written(server, "a", "b")
    for query, expected in (
        ("?kind=entry.written", [2, 3]),
        ("?key=b", [3]),
        ("?agent=planner", [2, 3]),
        ("?agent=executor", []),
        ("?kind=entry.written&key=a&agent=planner&after=1&limit=1", [2]),
    ):
        found = (await got(server, None, query)).json()["events"]
        assert [event["seq"] for event in found] == expected
