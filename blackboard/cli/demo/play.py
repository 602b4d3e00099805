"""The three forms, one after the other, on an embedded file or a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import blackboard
from blackboard.cli.demo import BOARDS, Form
from blackboard.cli.demo.audit import Outcome, outcome
from blackboard.cli.demo.incident import CAST, POLICIES, Incident
from blackboard.cli.demo.stage import Audience, Stage

if TYPE_CHECKING:
    from blackboard.client import Board


class Place(NamedTuple):
    """Where the demo is played: a database, or a server with an operator's token."""

    url: str
    token: str | None = None


class Played(NamedTuple):
    """One form, played to its end."""

    form: Form
    board: str
    outcome: Outcome


async def play(place: Place, audience: Callable[[Form, str], Audience]) -> list[Played]:
    """Open fresh boards and play every form; `audience` makes the one who watches a form on its board."""
    names = await free_names(place)
    return [await play_form(place, form, name, audience(form, name)) for form, name in names.items()]


async def play_form(place: Place, form: Form, name: str, audience: Audience) -> Played:
    """Play one form on the board `name`, which does not exist yet."""
    stage = Stage(audience)
    async with _cast(place, form, name) as boards:
        incident = Incident(form, boards, boards["auditor"], stage)
        async with stage.watching(boards["auditor"]):
            await incident.play()
        return Played(form, name, await outcome(boards["auditor"], incident.world))


async def free_names(place: Place) -> dict[Form, str]:
    """A board name for each form, none of which exists: numbered where an earlier run's are there."""
    async with await _operator(place, None) as operator:
        taken = {board.name for board in (await operator.list_boards()).boards}
    number = 1
    while True:
        names = {form: name if number == 1 else _numbered(name, number) for form, name in BOARDS.items()}
        if taken.isdisjoint(names.values()):
            return names
        number += 1


def _numbered(name: str, number: int) -> str:
    first, dash, rest = name.partition("-")
    return f"{first}-{number}{dash}{rest}"


@asynccontextmanager
async def _cast(place: Place, form: Form, name: str) -> AsyncIterator[Mapping[str, Board]]:
    """A connection for each agent and for the one who watches, on the board opened for this form."""
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(await _operator(place, name))
        await operator.open_board(policy=POLICIES[form])
        boards: dict[str, Board] = {}
        for agent in CAST:
            connection = await _as_agent(place, name, agent, operator, stack)
            boards[agent] = await stack.enter_async_context(connection)
        boards["auditor"] = operator
        yield boards


async def _operator(place: Place, name: str | None) -> Board:
    if place.token is not None:
        return await blackboard.connect(place.url, board=name, token=place.token)
    return await blackboard.connect(place.url, board=name, operator="demo")


async def _as_agent(place: Place, name: str, agent: str, operator: Board, stack: AsyncExitStack) -> Board:
    if place.token is None:
        return await blackboard.connect(place.url, board=name, agent=agent)
    made = await operator.create_token("agent", agent, boards=[name], days=1)
    stack.push_async_callback(operator.revoke_token, made.id)
    return await blackboard.connect(place.url, board=name, token=made.token)
