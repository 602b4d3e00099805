"""The same session over every client gives the same answers, member by member, errors included."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

import blackboard
from blackboard import BlackboardError, Write
from tests.client.drive import ON, Place
from tests.client.fixtures import place_of
from tests.client.live import LiveServer

ONCE = {"recorded_at", "opened_at", "hash", "salt", "body_digest", "request_digest", "command_id", "board"}
"""Members that no two boards share."""


def plain(answer: Any, name: str) -> Any:
    """An answer as plain data, without what no two boards share."""
    if isinstance(answer, BlackboardError):
        context = answer.reply
        answer = {"error": type(answer).__name__, "detail": answer.detail, **answer.members, "reply": context}
    text = msgspec.json.encode(answer).decode().replace(name, "THE-BOARD")
    return _without(msgspec.json.decode(text))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(member) for name, member in value.items() if name not in ONCE}
    return [_without(item) for item in value] if isinstance(value, list) else value


async def session(place: Place) -> AsyncIterator[tuple[str, Any]]:
    """Everything that can be asked, and much that cannot."""
    operator, auditor = await place.operator(), await place.auditor()
    numbers = itertools.count(1)

    async def ask(call: Callable[..., Awaitable[Any]], *args: Any, **named: Any) -> tuple[str, Any]:
        what = f"{next(numbers)}: {args} {named}"
        try:
            return what, plain(await call(*args, **named), place.name)
        except BlackboardError as error:
            return what, plain(error, place.name)

    yield await ask(auditor.get_board)
    yield await ask(operator.open_board, {"coordinator": "a", "completion_window": 5})
    yield await ask(operator.open_board, {"completion_window": 6})
    a, b = await place.agent("a"), await place.agent("b")
    yield await ask(
        a.write, "k", {"status": "open", "n": [1.5, "ü", None]}, revision=1, confidence=0.5, turn=1
    )
    yield await ask(a.write, "k", {"status": "open"}, revision=1)
    yield await ask(a.write_many, [{"key": "k", "value": 1}])
    yield await ask(a.write_many, [{"key": "k", "revision": 2, "value": 1, "baseline": 4}])
    yield await ask(b.write, "k", 1, revision=2)
    yield await ask(b.read_many, ["k", "none"])
    yield await ask(b.write, "k", {"status": "done"}, revision=9, basis={"none": 0})
    yield await ask(b.write, "k", {"status": "done"}, revision=9, basis={"none": 0})
    yield await ask(a.say, "entry:2 and k@1, the completed tasks", recipients=["b"], turn=1)
    yield await ask(a.end_turn, 1)
    yield await ask(a.end_turn, 1)
    yield await ask(a.delete, "k", revision=10)
    yield await ask(a.read_all)
    yield await ask(a.delete, "k", revision=10)
    yield await ask(b.compacted, cause="summary", base_seq=3, kept=["r"], tokens_before=9, tokens_after=1)
    yield await ask(b.compacted, base_seq=999)
    yield await ask(b.compacted, agents=["a"])
    yield await ask(b.write, "k", 1, revision=11)
    yield await ask(a.read, "k")
    yield await ask(operator.compacted, agents=["a", "b"], notify="impossible")
    yield await ask(b.propose, [Write("k", 11, {"v": 1}, 0.5, basis={"k": 10})], reason="why")
    yield await ask(a.accept, "proposal:999")
    yield await ask(a.proposals)
    yield await ask(operator.proposals)
    proposal = (await operator.proposals()).proposals[0].id
    yield await ask(a.accept, proposal)
    yield await ask(a.read_all)
    yield await ask(a.accept, proposal)
    yield await ask(a.accept, proposal, True)
    yield await ask(a.refuse, proposal, "too late")
    yield await ask(operator.set_mode, "open", why="all are back")
    yield await ask(operator.set_mode, "open", "a")
    yield await ask(operator.set_policy, {"signals": {"read-elision": {"effect": "off"}}})
    yield await ask(operator.set_policy, {"signals": {"nothing": "off"}})
    yield await ask(operator.join, "c", "notes/")
    yield await ask(operator.join, "", "notes/")
    yield await ask(operator.raise_format, 99)
    yield await ask(a.get_board)
    yield await ask(a.get_policy)
    yield await ask(auditor.ledger)
    yield await ask(auditor.ledger, at=4, limit=1)
    yield await ask(auditor.ledger, limit=0)
    yield await ask(auditor.ledger, at=-1)
    yield await ask(auditor.agents)
    yield await ask(auditor.agents, at=999)
    yield await ask(auditor.show_agent, "b")
    yield await ask(auditor.show_agent, "a", at=5)
    yield await ask(auditor.show_agent, "nobody")
    yield await ask(a.show_agent, "b")
    yield await ask(a.events)
    yield await ask(a.events, limit=3, kind="entry.written", agent="a", key="k")
    yield await ask(a.ledger)
    yield await ask(operator.write, "k", 1, revision=1)


@pytest.mark.parametrize("engine", ON)
async def test_a_session_is_the_same_over_every_client(engine: str, request: pytest.FixtureRequest) -> None:
    sessions = []
    for kind in ["embedded-async", *ON[engine]]:
        place = place_of(request, kind)
        sessions.append([answer async for answer in session(place)])
        await place.close()
    first, *others = sessions
    for other in others:
        for one, same in zip(first, other, strict=True):
            assert one == same
    assert sum("error" in answer for _, answer in first) > 20


async def test_a_token_may_be_for_a_name_in_any_script(live_server: LiveServer) -> None:
    name = "агент-ü"
    async with blackboard.connect(live_server.url, board="scripts", token=live_server.token) as operator:
        await operator.open_board()
        token = (await operator.create_token("agent", name)).token
    async with blackboard.connect(live_server.url, board="scripts", token=token, agent=name) as board:
        await board.write("ключ/ü", "значение", revision=1)
        assert (await board.read("ключ/ü")).writer == name
        assert (await board.show_agent(name)).summary.agent == name
