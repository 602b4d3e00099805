"""The three forms and the second act, one after the other, on an embedded file or a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import blackboard
from blackboard.cli.demo import BOARDS, Act, Form
from blackboard.cli.demo.audit import Outcome, outcome
from blackboard.cli.demo.incident import CAST, POLICIES, Incident
from blackboard.cli.demo.refunds import AGENT, Checked, play_refunds
from blackboard.cli.demo.stage import Audience, Stage

if TYPE_CHECKING:
    from blackboard.client import Board


FORMS: tuple[Form, ...] = get_args(Form)


class Place(NamedTuple):
    """Where the demo is played: a database, or a server with an operator's token."""

    url: str
    token: str | None = None


class Played(NamedTuple):
    """One form, played to its end."""

    form: Form
    board: str
    outcome: Outcome


class Show(NamedTuple):
    """All of it: the forms of the incident, and the verdicts of the second act on its board."""

    forms: list[Played]
    refunds: list[Checked]
    refunds_board: str


async def play(
    place: Place, audience: Callable[[Form, str], Audience], tell: Callable[[str, Checked], None]
) -> Show:
    """Open fresh boards and play it all; `audience` makes the one who watches a form on its board.

    `tell` hears of every verdict of the second act, with the name of its board.
    """
    names = await free_names(place)
    forms = [await play_form(place, form, names[form], audience(form, names[form])) for form in FORMS]
    board = names["refunds"]
    async with _cast(place, {}, board, (AGENT,)) as boards:
        refunds = await play_refunds(boards["auditor"], boards[AGENT], lambda checked: tell(board, checked))
    return Show(forms, refunds, board)


async def play_form(place: Place, form: Form, name: str, audience: Audience) -> Played:
    """Play one form on the board `name`, which does not exist yet."""
    stage = Stage(audience)
    async with _cast(place, POLICIES[form], name, CAST) as boards:
        incident = Incident(form, boards, boards["auditor"], stage)
        async with stage.watching(boards["auditor"]):
            await incident.play()
        return Played(form, name, await outcome(boards["auditor"], incident.world))


async def free_names(place: Place) -> dict[Act, str]:
    """A board name for each form and act, none of which exists: numbered where an earlier run's are there."""
    async with await _operator(place, None) as operator:
        taken = {board.name for board in (await operator.list_boards()).boards}
    number = 1
    while True:
        names = {act: name if number == 1 else _numbered(name, number) for act, name in BOARDS.items()}
        if taken.isdisjoint(names.values()):
            return names
        number += 1


def _numbered(name: str, number: int) -> str:
    first, dash, rest = name.partition("-")
    return f"{first}-{number}{dash}{rest}"


@asynccontextmanager
async def _cast(
    place: Place, policy: Mapping[str, Any], name: str, agents: Iterable[str]
) -> AsyncIterator[Mapping[str, Board]]:
    """A connection for each agent and for the one who watches, on a board opened with this policy."""
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(await _operator(place, name))
        await operator.open_board(policy=policy)
        boards: dict[str, Board] = {}
        for agent in agents:
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
