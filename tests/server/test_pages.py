"""What the server tells about itself: alive, ready, metrics, description, reference."""

import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from blackboard.errors import Unavailable
from blackboard.messages.operations import OPERATIONS
from blackboard.server import readiness
from blackboard.service import Metrics
from blackboard.store.contract import Store
from blackboard.store.memory import MemoryStore
from tests.server.support import BOARD, Driven, driven


async def test_livez_answers_without_a_token(server: Driven) -> None:
    answer = await server.ask("GET", "/livez", who=None)
    assert (answer.status, answer.json()["status"]) == (200, "alive")


async def test_readyz_tells_what_the_store_is(server: Driven) -> None:
    answer = await server.ask("GET", "/readyz", who=None)
    assert answer.status == 200
    assert answer.json()["store"] == await server.store.check()
    assert answer.json()["durability"] == "full"
    assert answer.json()["guarantee"] == {
        "intact": True,
        "boards_off": 0,
        "unchecked": 0,
        "off": {},
    }


async def test_readyz_names_boards_whose_policy_switches_a_leg_off(server: Driven) -> None:
    path = f"/v1/boards/{BOARD}/policy"
    await server.ask("PUT", path, {"policy": {"demotion": "off", "require_view": False}}, who="ops")
    told = (await server.ask("GET", "/readyz", who=None)).json()["guarantee"]
    assert told["intact"] is False
    assert told["off"] == {BOARD: ["require_view: false", "demotion: off"]}
    await server.ask("PUT", path, {"policy": {"demotion": "revalidate", "require_view": True}}, who="ops")
    assert (await server.ask("GET", "/readyz", who=None)).json()["guarantee"]["intact"] is True


async def boards_off(store: Store, *names: str) -> None:
    async with driven(store, opened=False) as server:
        for name in names:
            policy = {"policy": {"demotion": "off"}}
            assert (await server.ask("PUT", f"/v1/boards/{name}", policy, who="ops")).status == 201


async def test_readyz_names_boards_that_nobody_has_asked_for_since_the_start() -> None:
    store = MemoryStore()
    await boards_off(store, "a", "b")
    async with driven(store) as server:
        told = (await server.ask("GET", "/readyz", who=None)).json()["guarantee"]
        assert told == {
            "intact": False,
            "boards_off": 2,
            "unchecked": 0,
            "off": {"a": ["demotion: off"], "b": ["demotion: off"]},
        }


async def test_readyz_asks_a_few_boards_at_a_time_and_says_how_many_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = MemoryStore()
    await boards_off(store, *(f"board-{number}" for number in range(40)))
    monkeypatch.setattr(readiness, "VALID_SECONDS", 0.05)
    async with driven(store, live_boards=60) as server:
        counts = []
        for _ in range(4):
            told = (await server.ask("GET", "/readyz", who=None)).json()["guarantee"]
            counts.append((told["boards_off"], told["unchecked"]))
            await asyncio.sleep(0.06)
        assert counts == [(16, 24), (30, 10), (30, 10), (30, 10)], "half of 60 boards, no more"


async def test_readyz_does_not_claim_what_it_has_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    async with driven(store, live_boards=1) as server:
        await server.ask("PUT", "/v1/boards/other", {}, who="ops")
    async with driven(store, live_boards=1, opened=False) as server:
        told = (await server.ask("GET", "/readyz", who=None)).json()["guarantee"]
        assert (told["intact"], told["unchecked"]) == (None, 2)


async def test_where_others_reach_the_server_names_are_for_those_who_may_see_every_board() -> None:
    async with driven(local=False) as server:
        path = f"/v1/boards/{BOARD}/policy"
        await server.ask("PUT", path, {"policy": {"demotion": "off"}}, who="ops")
        await server.token("auditor", "narrow", boards=["other"])
        for who, named in (
            (None, False),
            ("planner", False),
            ("narrow", False),
            ("kim", True),
            ("ops", True),
        ):
            told = (await server.ask("GET", "/readyz", who=who)).json()["guarantee"]
            assert told["boards_off"] == 1
            assert ("off" in told) is named


async def test_a_store_that_does_not_answer_is_not_ready(
    server: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone() -> Any:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(server.store, "check", gone)
    answer = await server.ask("GET", "/readyz", who=None)
    assert (answer.status, answer.problem()["detail"]) == (503, "the disk is gone")
    assert answer.headers["retry-after"] == "1"
    assert (await server.ask("GET", "/livez", who=None)).status == 200


@pytest.mark.parametrize(
    ("figures", "at_risk"),
    [
        ({"engine": "postgresql", "fsync": "on", "synchronous_commit": "on"}, []),
        ({"engine": "postgresql", "fsync": "on", "synchronous_commit": "remote_apply"}, []),
        ({"engine": "postgresql", "fsync": "off", "synchronous_commit": "on"}, ["fsync=off"]),
        ({"engine": "postgresql", "fsync": "on", "synchronous_commit": "off"}, ["synchronous_commit=off"]),
        ({"engine": "sqlite", "synchronous": "full"}, []),
        ({"engine": "sqlite", "synchronous": "normal"}, ["synchronous=normal"]),
        ({"engine": "memory", "durable": False}, ["durable=false"]),
    ],
)
async def test_readyz_tells_anybody_by_what_an_acknowledged_event_can_be_lost(
    figures: dict[str, Any], at_risk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def told() -> dict[str, Any]:
        return figures | {"connections": 7}

    async with driven(local=False) as server:
        monkeypatch.setattr(server.store, "check", told)
        answer = (await server.ask("GET", "/readyz", who=None)).json()
        assert (answer["at_risk"], answer["store"]) == (at_risk, figures)


async def test_a_database_that_takes_no_writes_is_not_ready(
    server: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def standby() -> dict[str, Any]:
        return {"engine": "postgresql", "replica": True}

    monkeypatch.setattr(server.store, "check", standby)
    answer = await server.ask("GET", "/readyz", who=None)
    assert answer.status == 503
    assert "standby" in answer.problem()["detail"]


async def test_a_database_whose_file_is_gone_is_not_ready(
    server: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def moved() -> dict[str, Any]:
        return {"engine": "sqlite", "in_place": False}

    monkeypatch.setattr(server.store, "check", moved)
    answer = await server.ask("GET", "/readyz", who=None)
    assert answer.status == 503
    assert "no longer where it was" in answer.problem()["detail"]


async def test_the_store_is_asked_at_most_once_a_second(
    server: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def counted() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"engine": "sqlite"}

    monkeypatch.setattr(server.store, "check", counted)
    for _ in range(20):
        assert (await server.ask("GET", "/readyz", who=None)).status == 200
    assert asked == 1


async def test_the_place_of_the_database_is_for_those_who_may_see_every_board(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with driven(local=False) as server:

        async def told() -> dict[str, Any]:
            return {"engine": "sqlite", "path": "/srv/board.db"}

        monkeypatch.setattr(server.store, "check", told)
        for who, named in ((None, False), ("planner", False), ("ops", True)):
            store = (await server.ask("GET", "/readyz", who=who)).json()["store"]
            assert store["engine"] == "sqlite"
            assert ("path" in store) is named


async def test_a_server_that_stops_is_not_ready(server: Driven) -> None:
    server.app.stop()
    assert (await server.ask("GET", "/readyz", who=None)).status == 503
    assert (await server.ask("GET", f"/v1/boards/{BOARD}")).status == 200, "what comes is still answered"


async def test_an_unforeseen_failure_is_503_and_its_details_go_to_the_log(
    server: Driven, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(server.store, "check", broken)
    monkeypatch.setattr(server.service, "query", broken)
    for path in ("/readyz", f"/v1/boards/{BOARD}"):
        caplog.clear()
        answer = await server.ask("GET", path)
        found = answer.problem()
        assert (answer.status, found["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        assert "secret" not in answer.body.decode()
        assert "a secret detail" in caplog.text
        assert "Traceback" in caplog.text


async def metrics(server: Driven) -> dict[str, Any]:
    answer = await server.ask("GET", "/metrics", who="ops")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {family.name: family.samples for family in text_string_to_metric_families(answer.body.decode())}


async def test_metrics_count_requests_by_operation_and_status(server: Driven) -> None:
    body = {"writes": [{"key": "k", "revision": 1, "value": 1}]}
    for _ in range(2):
        await server.ask("POST", f"/v1/boards/{BOARD}/writes", body, who="planner")
        await server.ask("POST", f"/v1/boards/{BOARD}/writes", body, who="executor")
    await server.ask("GET", "/v1/nothing")
    found = await metrics(server)
    counted = {
        (sample.labels["operation"], sample.labels["status"]): sample.value
        for sample in found["blackboard_http_requests"]
    }
    assert counted["write", "200"] == 2
    assert counted["write", "409"] == 2
    assert counted["none", "404"] == 1
    seconds = found["blackboard_http_request_seconds"]
    total = [s for s in seconds if s.name.endswith("_count") and s.labels == {"operation": "write"}]
    assert [sample.value for sample in total] == [4]
    assert {s.labels["code"]: s.value for s in found["blackboard_rejections"]} == {
        "revision-not-advancing": 2
    }


async def test_every_count_of_the_service_is_exported_and_told(server: Driven) -> None:
    found = await metrics(server)
    for name in Metrics.__slots__:
        assert f"blackboard_{name}" in found
    answer = await server.ask("GET", "/metrics", who="ops")
    helps = re.findall(r"^# HELP (blackboard_\w+) (.*)$", answer.body.decode(), re.MULTILINE)
    assert all(len(told) > 5 for _, told in helps)
    told = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    assert [name for name in Metrics.__slots__ if f"`{name}`" not in told] == []


async def test_labels_do_not_grow_with_what_is_stored(server: Driven) -> None:
    for number in range(20):
        await server.ask("PUT", f"/v1/boards/board-{number}", {}, who="ops")
        await server.token("agent", f"agent-{number}")
        await server.ask("GET", f"/v1/boards/board-{number}/entries/key-{number}", who=f"agent-{number}")
        await server.ask("GET", f"/v1/nothing-{number}")
    text = (await server.ask("GET", "/metrics", who="ops")).body.decode()
    assert not re.search(r"(board|agent|key|nothing)-\d", text)


async def test_metrics_need_a_token_where_others_reach_the_server() -> None:
    async with driven(local=False) as server:
        await server.token("operator", "narrow", boards=["a"])
        found = {
            who: await server.ask("GET", "/metrics", who=who) for who in (None, "planner", "narrow", "kim")
        }
        assert {who: answer.status for who, answer in found.items()} == {
            None: 401,
            "planner": 403,
            "narrow": 403,
            "kim": 200,
        }
    async with driven(local=True) as server:
        assert (await server.ask("GET", "/metrics", who=None)).status == 200


class Links(HTMLParser):
    """What a page would load, and where it points."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.points: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href" and tag == "a":
                self.points.append(value or "")
            elif name in ("src", "href", "data", "action", "srcset"):
                self.loads.append(value or "")
            if name == "style" or name.startswith("on"):
                self.inline.append(name)


async def reference(server: Driven) -> Links:
    answer = await server.ask("GET", "/docs", who=None)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    links = Links()
    links.feed(answer.body.decode())
    return links


async def test_the_reference_loads_nothing_but_its_own_style_sheet(server: Driven) -> None:
    links = await reference(server)
    assert links.loads == ["/docs/reference.css"]
    assert not links.tags & {"script", "style", "iframe", "img", "form", "object", "embed"}
    assert links.inline == []
    style = await server.ask("GET", "/docs/reference.css", who=None)
    assert style.headers["content-type"].startswith("text/css")
    assert not re.search(rb"url\(|@import|://", style.body)
    for answer in (style, await server.ask("GET", "/docs", who=None)):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_reference_names_every_operation_and_its_links_lead_somewhere(server: Driven) -> None:
    links = await reference(server)
    assert {operation.name for operation in OPERATIONS} <= set(links.ids)
    assert len(links.ids) == len(set(links.ids))
    within = {point[1:] for point in links.points if point.startswith("#")}
    assert within <= set(links.ids)
    assert {point for point in links.points if not point.startswith("#")} == {"/openapi.json"}


async def test_whoever_comes_without_a_path_is_shown_the_reference(server: Driven) -> None:
    answer = await server.ask("GET", "/", who=None)
    assert (answer.status, answer.headers["location"]) == (307, "/docs")


async def test_pages_answer_head(server: Driven) -> None:
    for path in ("/livez", "/readyz", "/metrics", "/openapi.json", "/docs"):
        assert (await server.ask("HEAD", path, who=None)).status == 200


async def test_the_openapi_description_is_json(server: Driven) -> None:
    answer = await server.ask("GET", "/openapi.json", who=None)
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["openapi"] == "3.1.0"
