"""Two servers on one database: tokens, streams, readiness and figures, whichever of them is asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from blackboard.server import readiness
from blackboard.server import tokens as module
from tests.server.support import BOARD, Driven, Stream, driven, eventually
from tests.service.sharing import Database, Hints, SharedStore, lost, prompt

WRITES = f"/v1/boards/{BOARD}/writes"
POLICY = f"/v1/boards/{BOARD}/policy"


@asynccontextmanager
async def two_servers(hints: Hints = prompt, **settings: Any) -> AsyncIterator[tuple[Driven, Driven]]:
    """Two servers on one database, and a board that the first one has opened. Both know the same tokens."""
    database = Database(hints=hints)
    settings = {"poll_seconds": 0.02, **settings}
    first, second = SharedStore(database), SharedStore(database)
    database.stores += [first, second]
    async with driven(first, **settings) as one, driven(second, opened=False, **settings) as two:
        yield one, two


def written(key: str, revision: int = 1) -> dict[str, Any]:
    return {"writes": [{"key": key, "revision": revision, "value": 1}]}


async def test_a_token_made_at_one_server_counts_at_the_other_at_once() -> None:
    async with two_servers() as (one, two):
        secret = await one.token("agent", "coder")
        answer = await two.ask("POST", WRITES, written("k"), who=secret)
        assert answer.status == 200
        assert answer.headers["blackboard-actor"] == "agent:coder"


async def test_a_token_revoked_at_one_server_ends_at_the_other_within_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert module.REMEMBERED_SECONDS == 2
    monkeypatch.setattr(module, "REMEMBERED_SECONDS", 0.1)
    async with two_servers() as (one, two):
        secret = one.tokens["planner"]
        assert (await two.ask("POST", WRITES, written("k"), who=secret)).status == 200
        listed = (await one.ask("GET", "/v1/tokens", who="ops")).json()["tokens"]
        for token in listed:
            if token["name"] == "planner":
                await one.ask("DELETE", f"/v1/tokens/{token['id']}", who="ops")
        assert (await one.ask("POST", WRITES, written("l"), who=secret)).status == 401
        await asyncio.sleep(0.11)
        assert (await two.ask("POST", WRITES, written("l"), who=secret)).status == 401


@pytest.mark.parametrize("hints", [prompt, lost], ids=lambda one: one.__name__)
async def test_streams_of_both_servers_send_every_event_once_and_in_order(hints: Hints) -> None:
    async with two_servers(hints) as (one, two):
        streams = [
            Stream(server.app, f"/v1/boards/{BOARD}/stream", server.tokens["kim"]) for server in (one, two)
        ]
        for stream in streams:
            await stream.until_caught_up()
        for number in range(10):
            for server, key in ((one, f"a{number}"), (two, f"b{number}")):
                assert (await server.ask("POST", WRITES, written(key))).status == 200
        for stream in streams:
            seqs: list[str] = []
            while len(seqs) < 20:
                event = await stream.event()
                if event["event"] != "caught-up":
                    seqs.append(event["id"])
            assert seqs == [str(seq) for seq in range(2, 22)]
            await stream.hang_up()


async def test_a_stream_can_go_on_at_another_server_where_it_was_cut() -> None:
    async with two_servers() as (one, two):
        for number in range(5):
            await one.ask("POST", WRITES, written(f"k{number}"))
        cut = Stream(one.app, f"/v1/boards/{BOARD}/stream", one.tokens["kim"])
        last = [await cut.event() for _ in range(3)][-1]["id"]
        await cut.hang_up()
        goes_on = Stream(two.app, f"/v1/boards/{BOARD}/stream", two.tokens["kim"], [("Last-Event-ID", last)])
        assert [event["id"] for event in await goes_on.until_caught_up()] == ["4", "5", "6"]
        await goes_on.hang_up()


async def test_a_stream_of_a_log_put_back_ends_with_a_problem() -> None:
    async with two_servers(lost) as (one, two):
        for number in range(5):
            await one.ask("POST", WRITES, written(f"k{number}"))
        stream = Stream(two.app, f"/v1/boards/{BOARD}/stream", two.tokens["kim"])
        await stream.until_caught_up()
        assert isinstance(two.store, SharedStore)
        two.store.database.put_back(BOARD, 3)
        event = await stream.event()
        assert event["event"] == "problem"
        assert "put back to an earlier state" in event["data"]
        await stream.hang_up()


async def test_an_answer_is_the_same_whichever_server_gives_it() -> None:
    async with two_servers(lost) as (one, two):
        key = [("Idempotency-Key", "one")]
        first = await one.ask("POST", WRITES, written("k"), headers=key)
        again = await two.ask("POST", WRITES, written("k"), headers=key)
        assert (first.status, again.status) == (200, 200)
        assert again.json()["seq"] == first.json()["seq"]
        other = await two.ask("POST", WRITES, written("k", 2), headers=key)
        assert other.problem()["code"] == "idempotency-key-reused"


async def guarantee(server: Driven) -> dict[str, Any]:
    """What is told when it is looked up anew."""
    server.app._told._readiness._until = 0.0
    told: dict[str, Any] = (await server.ask("GET", "/readyz", who=None)).json()["guarantee"]
    return told


async def test_readyz_learns_what_was_switched_off_at_another_server() -> None:
    async with two_servers(lost) as (one, two):
        assert (await guarantee(two))["intact"] is True
        await one.ask("PUT", POLICY, {"policy": {"demotion": "off"}}, who="ops")
        told = await guarantee(two)
        assert (told["intact"], told["off"]) == (False, {BOARD: ["demotion: off"]})
        await one.ask("PUT", POLICY, {"policy": {"demotion": "revalidate"}}, who="ops")
        assert (await guarantee(two))["intact"] is True


async def test_readyz_asks_boards_that_others_have_moved_on_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "SURVEYED", 2)
    async with two_servers(lost, live_boards=12) as (one, two):
        names = [BOARD, *(f"board-{number}" for number in range(4))]
        for name in names[1:]:
            await one.ask("PUT", f"/v1/boards/{name}", {}, who="ops")
        assert [(await guarantee(two))["unchecked"] for _ in range(3)] == [3, 1, 0]
        for name in names:
            await one.ask("PUT", f"/v1/boards/{name}/policy", {"policy": {"demotion": "off"}}, who="ops")
        assert [(await guarantee(two))["boards_off"] for _ in range(3)] == [2, 4, 5]


async def test_readyz_brings_no_more_boards_into_memory_than_half_of_those_kept() -> None:
    async with two_servers(lost, live_boards=4) as (one, two):
        for number in range(6):
            await one.ask("PUT", f"/v1/boards/board-{number}", {}, who="ops")
            await two.ask("PUT", f"/v1/boards/board-{number}", {}, who="ops")
        for number in range(6):
            off = {"policy": {"demotion": "off"}}
            await one.ask("PUT", f"/v1/boards/board-{number}/policy", off, who="ops")
        counts = [(await guarantee(two))["boards_off"] for _ in range(5)]
        assert counts == [1, 1, 1, 1, 1], "one of the two was the board that nobody had asked for"


async def test_metrics_tell_of_other_servers() -> None:
    async with two_servers(prompt) as (one, two):
        assert isinstance(two.store, SharedStore)
        two.store.retries["40001"] += 3
        stream = Stream(two.app, f"/v1/boards/{BOARD}/stream", two.tokens["kim"])
        await stream.until_caught_up()
        await two.ask("GET", f"/v1/boards/{BOARD}/entries/k", who="planner")
        two.store.hear = None
        await one.ask("POST", WRITES, written("k"))
        assert (await two.ask("POST", WRITES, written("l"))).status == 200
        assert (await two.ask("POST", WRITES, written("m"))).status == 200
        await eventually(lambda: two.service.metrics.foreign_events > 0)
        await stream.hang_up()
        text = (await two.ask("GET", "/metrics", who="ops")).body.decode()
        found = {family.name: family.samples for family in text_string_to_metric_families(text)}
        assert [(s.labels, s.value) for s in found["blackboard_retries"]] == [({"sqlstate": "40001"}, 3)]
        for name in ("foreign_events", "lock_commits", "conflicts"):
            assert found[f"blackboard_{name}"][0].value >= 1
        for name in ("feed_lag_seconds", "lock_seconds", "append_seconds", "batch_events"):
            count = [s.value for s in found[f"blackboard_{name}"] if s.name.endswith("_count")]
            assert count[0] >= 1, name
