"""What an agent of a board has to keep in its next compaction. A question; nothing is recorded.

Entries never survive a compaction, so the ledger is taken as it stands, and the keys that rules read are
named to be read again: what is kept is enough after those reads.
Source: "Must-keep and repair" of the action gate's design.
"""

from __future__ import annotations

from typing import Any

from blackboard.canonical import exactly
from blackboard.errors import Malformed, TooLarge, UnknownAgent
from blackboard.gate.actions.domain import Tool, read_tools
from blackboard.gate.actions.keep import must_keep, repair
from blackboard.gate.formats import check_format
from blackboard.gate.sight import world_of
from blackboard.messages import commands as ask
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.principal import Principal
from blackboard.messages.verdicts import KeepReply
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board


def keep(board: Board, principal: Principal, query: ask.Keep, *, head: int) -> KeepReply:
    """The records to keep, and what to read again. `head` is the log's.

    Raises `Malformed`, `TooLarge`, `UnknownAgent`, `FormatTooLow`.
    """
    check_format(board, "records")
    tools = _tools(query)
    agent = _whom(board, principal, query)
    world = world_of(board, agent, {})
    if query.kept is None:
        found = must_keep(world, tools)
    else:
        found = repair(world, _positions(board, query.kept), tools)
    unread = set(found.unread)
    return KeepReply(
        agent=agent.id,
        head=head,
        records=list(found.records),
        held=[name for name in found.records if name not in unread],
        read=list(found.unread),
        reread=list(found.keys),
        smallest=found.smallest,
    )


def _tools(query: ask.Keep) -> tuple[Tool, ...]:
    most = DEFAULT_LIMITS.tools_per_keep
    if len(query.tools) > most:
        raise TooLarge(f"{len(query.tools)} tools; at most {most} at once", member="/tools", limit=most)
    if not query.tools:
        raise Malformed("tools is empty: name at least 1", member="/tools", limit=1)
    tools: Any = exactly(query.tools)
    return read_tools(tools, ("tools",))


def _whom(board: Board, principal: Principal, query: ask.Keep) -> AgentState:
    name = query.agent if query.agent is not None else principal.agent
    if name is None:
        raise Malformed("name the agent that is to be compacted", member="/agent")
    found = board.agents.get(name)
    if found is None and principal.agent is None:
        raise UnknownAgent(
            f"no event up to {board.head} on board {board.name!r} concerns an agent {name!r}",
            members={"agent": name},
        )
    return found or AgentState(name)


def _positions(board: Board, kept: list[str]) -> list[int]:
    most = DEFAULT_LIMITS.kept_records
    if len(kept) > most:
        raise TooLarge(f"{len(kept)} items in kept; at most {most}", member="/kept", limit=most)
    found = []
    for index, name in enumerate(kept):
        position = board.records.position(name)
        if position is None:
            raise Malformed(
                f"no record of this board has the id {name!r}: it cannot be kept",
                member=f"/kept/{index}",
                value=name,
            )
        found.append(position)
    return found
