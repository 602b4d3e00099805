"""The live feed: what was missed comes from the table, once and in order; then it is live."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from blackboard.messages.replies import EventView
from tests.server.support import BOARD, Driven, Stream, driven

PATH = f"/v1/boards/{BOARD}/stream"


async def written(server: Driven, *keys: str) -> None:
    for key in keys:
        answer = await server.ask("GET", f"/v1/boards/{BOARD}/entries/{key}", who="planner")
        assert answer.status == 200


def following(server: Driven, query: str = "", who: str = "kim", **headers: str) -> Stream:
    sent = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return Stream(server.app, PATH + query, server.tokens[who], sent)


async def test_a_frame_has_seq_kind_and_the_event(server: Driven) -> None:
    stream = following(server)
    first, *_ = await stream.until_caught_up()
    assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert stream.headers["cache-control"] == "no-store"
    assert (first["id"], first["event"]) == ("1", "board.opened")
    view = msgspec.json.decode(first["data"].encode(), type=EventView)
    events = await server.ask("GET", f"/v1/boards/{BOARD}/events", who="kim")
    assert events.json()["events"][0] == json.loads(first["data"])
    assert view.seq == 1
    await stream.hang_up()


async def test_what_there_is_comes_first_then_caught_up_then_what_happens(server: Driven) -> None:
    await written(server, "a", "b")
    stream = following(server, "?after=1")
    assert [event["id"] for event in await stream.until_caught_up()] == ["2", "3"]
    await written(server, "c")
    assert (await stream.event())["id"] == "4"
    await stream.hang_up()


async def test_caught_up_comes_also_when_there_was_nothing(server: Driven) -> None:
    stream = following(server, "?after=1")
    assert await stream.event() == {"event": "caught-up", "data": '{"head":1}'}
    await stream.hang_up()


async def test_last_event_id_goes_on_from_there_and_wins(server: Driven) -> None:
    await written(server, "a", "b", "c")
    stream = following(server, "?after=1", Last_Event_ID="3")
    assert [event["id"] for event in await stream.until_caught_up()] == ["4"]
    await stream.hang_up()


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "", "99999999999999999999"])
async def test_a_last_event_id_that_is_no_seq_is_refused(server: Driven, value: str) -> None:
    headers = [("Last-Event-ID", value)]
    answer = await server.ask("GET", PATH, who="kim", headers=headers)
    assert answer.status == 422
    assert answer.problem()["member"] == "Last-Event-ID"


async def test_beyond_the_head_is_409(server: Driven) -> None:
    for query, headers in (("?after=2", []), ("", [("Last-Event-ID", "2")])):
        answer = await server.ask("GET", PATH + query, who="kim", headers=headers)
        assert (answer.status, answer.problem()["code"]) == (409, "beyond-head")


async def test_a_feed_puts_nothing_in_a_view_and_nothing_in_the_log(server: Driven) -> None:
    await written(server, "a")
    before = await server.head()
    stream = following(server, who="executor")
    await stream.until_caught_up()
    await stream.hang_up()
    assert await server.head() == before
    body = {"writes": [{"key": "a", "revision": 5, "value": 1}]}
    await server.ask("POST", f"/v1/boards/{BOARD}/writes", body, who="planner")
    body["writes"][0]["revision"] = 6
    refused = await server.ask("POST", f"/v1/boards/{BOARD}/writes", body, who="executor")
    assert refused.problem()["code"] == "unseen-revision"


async def test_resuming_again_and_again_under_load_gives_every_event_once(server: Driven) -> None:
    total, seen = 150, [1]

    async def write() -> None:
        for number in range(total):
            await written(server, f"k{number}")

    writing = asyncio.create_task(write())
    while seen[-1] < total + 1:
        stream = following(server, Last_Event_ID=str(seen[-1]))
        for _ in range(20):
            if seen[-1] < total + 1:
                event = await stream.event()
                seen += [int(event["id"])] if "id" in event else []
        await stream.hang_up()
    await writing
    assert seen == list(range(1, total + 2))


async def test_many_followers_each_get_everything(server: Driven) -> None:
    streams = [following(server) for _ in range(20)]
    await written(server, *(f"k{number}" for number in range(30)))
    for stream in streams:
        got: list[str] = []
        while len(got) < 31:
            event = await stream.event()
            got += [event["id"]] if "id" in event else []
        assert got == [str(seq) for seq in range(1, 32)]
    await asyncio.gather(*(stream.hang_up() for stream in streams))


async def test_a_slow_reader_makes_nothing_wait_and_misses_nothing(server: Driven) -> None:
    stream = following(server)
    await stream.until_caught_up()
    stream.reading.clear()
    async with asyncio.timeout(20):
        await written(server, *(f"k{number}" for number in range(300)))
    waiting = stream._chunks.qsize()
    assert waiting <= 2
    stream.reading.set()
    got = [int((await stream.event())["id"]) for _ in range(300)]
    assert got == list(range(2, 302))
    await stream.hang_up()


async def test_a_heartbeat_shows_that_the_stream_lives() -> None:
    async with driven(heartbeat_seconds=0.05) as server:
        stream = following(server)
        await stream.until_caught_up()
        assert await stream.frame() == ": alive"
        assert await stream.frame() == ": alive"
        await stream.hang_up()


async def test_the_token_is_checked_again_at_each_heartbeat() -> None:
    async with driven(heartbeat_seconds=0.05) as server:
        stream = following(server)
        await stream.until_caught_up()
        tokens = (await server.ask("GET", "/v1/tokens", who="ops")).json()["tokens"]
        kim = next(one["id"] for one in tokens if one["name"] == "kim")
        await server.ask("DELETE", f"/v1/tokens/{kim}", who="ops")
        last = await stream.event()
        assert last["event"] == "problem"
        assert json.loads(last["data"])["code"] == "unauthenticated"
        await asyncio.wait_for(stream.ended.wait(), 5)
        await asyncio.wait_for(stream.task, 5)


async def test_a_busy_stream_checks_the_token_too() -> None:
    async with driven(heartbeat_seconds=0.2) as server:
        stream = following(server)
        await stream.until_caught_up()
        tokens = (await server.ask("GET", "/v1/tokens", who="ops")).json()["tokens"]
        kim = next(one["id"] for one in tokens if one["name"] == "kim")
        await server.ask("DELETE", f"/v1/tokens/{kim}", who="ops")
        async with asyncio.timeout(10):
            while not stream.ended.is_set():
                await written(server, "k")
        await asyncio.wait_for(stream.task, 5)


async def test_the_streams_end_when_the_server_stops(server: Driven) -> None:
    streams = [following(server) for _ in range(3)]
    for stream in streams:
        await stream.until_caught_up()
    server.app.stop()
    for stream in streams:
        assert await stream.frame() == ": the server is stopping"
        await asyncio.wait_for(stream.task, 5)
        assert stream.ended.is_set()
    late = await server.ask("GET", PATH, who="kim")
    assert late.status == 503
    assert late.headers["retry-after"] == "1"


async def test_the_streams_end_when_the_service_closes(server: Driven) -> None:
    stream = following(server)
    await stream.until_caught_up()
    await server.service.close()
    await asyncio.wait_for(stream.task, 5)
    assert stream.ended.is_set()


async def test_followers_have_a_limit_that_those_who_leave_free() -> None:
    async with driven(followers=2) as server:
        streams = [following(server), following(server)]
        for stream in streams:
            await stream.until_caught_up()
        full = await server.ask("GET", PATH, who="kim")
        assert (full.status, full.problem()["limit"]) == (503, 2)
        assert int(full.headers["retry-after"]) > 0
        await streams[0].hang_up()
        third = following(server)
        await third.until_caught_up()
        await third.hang_up()
        await streams[1].hang_up()
        assert server.service.metrics.followers == 0


async def test_trouble_in_the_middle_is_told_in_a_frame(
    server: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    from blackboard.errors import Unavailable
    from blackboard.service import CaughtUp

    async def broken(*_: Any) -> Any:
        yield CaughtUp(1)
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(server.service, "follow_slices", broken)
    stream = following(server)
    await stream.until_caught_up()
    last = await stream.event()
    assert last["event"] == "problem"
    assert json.loads(last["data"])["detail"] == "the disk is gone"
    await asyncio.wait_for(stream.task, 5)


async def test_an_unforeseen_failure_in_the_middle_keeps_its_details_to_the_log(
    server: Driven, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from blackboard.service import CaughtUp

    async def broken(*_: Any) -> Any:
        yield CaughtUp(1)
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(server.service, "follow_slices", broken)
    stream = following(server)
    await stream.until_caught_up()
    last = await stream.event()
    assert json.loads(last["data"])["status"] == 503
    assert "secret" not in last["data"]
    assert "secret" in caplog.text
    await asyncio.wait_for(stream.task, 5)


async def test_a_stream_that_is_cut_off_ends_without_noise(server: Driven) -> None:
    stream = following(server)
    await stream.until_caught_up()
    stream.task.cancel()
    await asyncio.wait_for(stream.task, 5)
    assert stream.ended.is_set()
