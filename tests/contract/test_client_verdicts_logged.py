"""Every client: the log holds every verdict with what it takes to judge again, and all tell the same."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import to_builtins

import blackboard
from blackboard import Approval, Chatter, EventView, Fact, Policy, canonical
from blackboard.gate.actions.examine import Options, examine
from blackboard.gate.actions.report import Section
from tests.client.desk import BIG, CAP, MIXED, NEW, NOT_GOLD, OLD, RED, SMALL, TOOL, desk, light, told
from tests.client.drive import ON, Http, Place
from tests.client.fixtures import place_of
from tests.client.live import LiveServer, serving
from tests.contract.test_client_parity import plain

Call = Callable[[Any], Awaitable[Any]]


async def test_a_check_is_an_event_of_its_own_whatever_it_says(place: Place) -> None:
    _, board = await desk(place, CAP)
    found = [await board.check(TOOL, params) for params in (BIG, BIG, SMALL)]
    assert [verdict.id for verdict in found] == ["check:3", "check:4", "check:5"]
    assert [(verdict.seq, verdict.judged_at) for verdict in found] == [(3, 2), (4, 3), (5, 4)]
    assert [event.seq async for event in board.log(kind="action.checked")] == [3, 4, 5]


async def test_a_check_ignores_an_idempotency_key(live_server: LiveServer) -> None:
    async with blackboard.connect(live_server.url, board="keys", token=live_server.token) as operator:
        await operator.open_board()
        secret = (await operator.create_token("agent", "a")).token
        headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": "the-same"}
        async with aiohttp.ClientSession(live_server.url, headers=headers) as session:
            ids = []
            for rule in ([], [CAP]):
                for record in rule:
                    await operator.add_record(record)
                async with session.post(
                    "/v1/boards/keys/checks", json={"tool": TOOL, "params": BIG}
                ) as answer:
                    reply = await answer.json()
                ids.append((reply["id"], reply["verdict"], [reason["code"] for reason in reply["reasons"]]))
    assert ids == [("check:2", "PASS", []), ("check:4", "BLOCK", ["unseen-binding-constraint"])]


async def test_the_log_holds_what_it_takes_to_judge_again(place: Place) -> None:
    operator, board = await desk(
        place,
        CAP,
        OLD,
        NEW,
        Policy(TOOL, NOT_GOLD, "require_approval", id="p"),
        {"kind": "summary", "id": "s", "text": "all is well"},
        Chatter("hello", id="c"),
    )
    await board.check(TOOL, BIG)
    await board.read_records(["cap", "old", "p", "s", "c"])
    await board.check(TOOL, BIG, turn=1)
    await board.compacted(kept=["p", "old", "c"])
    await board.check(TOOL, {"amount": 19.99, "tier": ["x", None]})
    await operator.add_record(Approval.for_action("p", TOOL, BIG))
    await board.check(TOOL, BIG, allow_unevaluable=True)
    await board.compacted(kept=["cap", "old"])  # "cap" was lost before
    await board.read_records(["p", "new", "record:8"])
    await board.check(TOOL, BIG)
    await board.check(TOOL, SMALL, basis={"none": 0})
    await board.read_records()
    await board.check(TOOL, BIG)
    events = [event async for event in operator.log()]
    checks = [event for event in events if event.kind == "action.checked"]
    assert len(checks) == 7
    for event in checks:
        body = event.body
        again = judged_again(event, events)
        recorded = body.get("reasons", [])
        moved = [reason for reason in recorded if reason["code"] == "basis-moved"]
        assert to_builtins(list(again.reasons)) == [reason for reason in recorded if reason not in moved]
        assert to_builtins(list(again.notes)) == body["notes"]
        assert to_builtins(again.policy) == body["policy"]
        assert body["verdict"] == ("BLOCK" if moved else again.verdict)
        assert (body["head"], body["digest"]) == (event.seq - 1, digest_of(body))
    assert [event.body["verdict"] for event in checks] == ["BLOCK"] * 6 + ["PASS"]


def judged_again(check: EventView, events: Iterable[EventView]) -> Section:
    """The verdict of the file tool on what the log says up to the head of a check."""
    records: list[dict[str, Any]] = []
    delivered: set[str] = set()
    held: set[str] = set()
    for event in events:
        if event.seq > check.body["head"]:
            break
        if event.kind == "record.added":
            records.append(event.body["record"] | {"seq": event.seq})
        elif event.kind == "board.read" and event.actor == check.actor:
            delivered |= set(event.body["records"])
            held |= set(event.body["records"])
        elif event.kind == "agent.compacted":
            held &= set(event.body["kept"])
    case = {
        "records": records,
        "delivered": sorted(delivered),
        "kept": sorted(held),
        "action": {"tool": check.body["tool"], "params": check.body["params"]},
        "agent": check.actor,
    }
    blind = check.body.get("allow_unevaluable", False)
    (section,) = examine(json.dumps(case).encode(), Options(allow_unevaluable=blind))
    return section


def digest_of(body: dict[str, Any]) -> str:
    return canonical.digest(b"blackboard/verdict/1\0", canonical.encode(body | {"digest": ""})).hex()


# -- one answer, whichever the client


async def session(place: Place) -> list[Any]:
    """Much of what can be asked at the gate, each answer as plain data."""
    operator = await place.operator()
    await operator.open_board({"unseen": "block"})
    board = await place.agent("a", records=["chatter", "fact:desk.*"], writes=["task/*"])
    calls: list[Call] = [
        lambda _: operator.add_record(CAP),
        lambda _: operator.add_record(CAP),
        lambda _: operator.add_record(light("require_approval", "red")),
        lambda _: board.add_record(Fact("desk.open", [1.5, "ü", None, {"a": True}])),
        lambda _: board.add_record(CAP),
        lambda _: board.check(TOOL, BIG),
        lambda _: board.read_records(["cap", "nope"]),
        lambda _: board.read_records(),
        lambda _: board.write("task/B", RED, revision=1),
        lambda _: board.check(TOOL, SMALL, basis={"task/B": 1}, turn=1),
        lambda _: board.check(TOOL, SMALL, basis={"task/B": 7}),
        lambda _: operator.add_record(Approval.for_action("light", TOOL, SMALL)),
        lambda _: board.check(TOOL, SMALL),
        lambda _: board.must_keep([TOOL, {"name": "notes.append", "input_schema": {"type": "object"}}]),
        lambda _: board.repair(["cap", "nope"], [TOOL]),
        lambda _: board.repair(["record:4"], [TOOL]),
        lambda _: board.compacted(kept=["cap", "nope", "record:9"]),
        lambda _: board.check(TOOL, BIG),
        lambda _: board.check(TOOL, {"amount": float("inf")}),
        lambda _: board.check("", {}),
        lambda _: board.events(kind="action.checked"),
        lambda _: operator.show_agent("a"),
    ]
    found = []
    for number, call in enumerate(calls):
        try:
            found.append((number, plain(await call(None), place.name)))
        except blackboard.BlackboardError as error:
            found.append((number, plain(error, place.name)))
    return found


@pytest.mark.parametrize("engine", ON)
async def test_a_session_at_the_gate_is_the_same_over_every_client(
    engine: str, request: pytest.FixtureRequest
) -> None:
    sessions = []
    for kind in ["embedded-async", *ON[engine]]:
        place = place_of(request, kind)
        sessions.append(await session(place))
        await place.close()
    for other in sessions[1:]:
        for one, same in zip(sessions[0], other, strict=True):
            assert one == same
    assert sum("error" in told for _, told in sessions[0]) == 5


async def test_a_verdict_and_a_certificate_outlive_the_server(tmp_path: Path) -> None:
    """What an agent holds is in the log, and the key in the state directory: a crash takes neither."""
    with serving(tmp_path / "server") as server:
        place = Place(Http(server, sync=False))
        _, board = await desk(place, *MIXED)
        await board.read_records()
        await board.compacted(kept=["p", "old"])
        before = await board.check(TOOL, BIG)
        issued = await board.certificate(TOOL)
        key = (await board.signing_key()).public_key
        server.kill()
        server.start()
        after = await board.check(TOOL, BIG)
        assert (after.reasons, after.notes, told(after)) == (before.reasons, before.notes, told(before))
        assert before.verdict == "BLOCK"
        assert (await board.certificate_valid(issued.id)).valid
        assert (await board.signing_key()).public_key == key
        await place.close()
