"""What every reply tells its caller: standing, notices, moved keys, guarantee.

A compacted agent cannot introspect its loss and its peers cannot see it, so the board says it, in-band, at
the next call. Source: "Telling the agents" of the write gate's design; seed 1, validity (b).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from blackboard.messages import replies as say
from blackboard.messages.limits import MAX_ITEMS_TOLD
from blackboard.messages.principal import Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board, Move, Notable

_CLEAR = 'read everything once: read_all(), or POST reads {"all": true} until there is no cursor'


def context(board: Board, principal: Principal, seen: int | None, keys: Iterable[str] = ()) -> dict[str, Any]:
    """The members that every reply has, except `seq` and `signals`.

    `seen` is the last seq that the caller knows of, `keys` those that its command is about.
    """
    agent = board.agents.get(principal.agent) if principal.agent is not None else None
    # A seq beyond the head is of another board with this name: it says nothing about this one.
    known = seen if seen is not None and 0 <= seen <= board.head else 0
    forgotten = _forgotten(agent)
    return {
        "head": board.head,
        "standing": _standing_of(board, principal, agent, keys),
        "notices": notices(board, principal.agent, known, forgotten),
        "moved": moved(board, agent, known, forgotten) if agent is not None else [],
        "guarantee": guarantee(board),
    }


def _forgotten(agent: AgentState | None) -> int:
    """The seq up to which nothing counts as seen: a demoted agent's context no longer holds it."""
    if agent is None:
        return 0
    demotion = agent.demotion
    by_compaction = agent.view.base if demotion.compacted_at else 0
    by_suspicion = demotion.suspected_at - 1 if demotion.suspected_at else 0
    return max(by_compaction, by_suspicion)


def _standing_of(
    board: Board, principal: Principal, agent: AgentState | None, keys: Iterable[str]
) -> say.Standing | None:
    if principal.role != "agent":
        return None
    return say.ACTIVE if agent is None else standing(board, agent, keys)


def standing(board: Board, agent: AgentState, keys: Iterable[str] = ()) -> say.Standing:
    """An agent's standing in words that it can act on, with those of `keys` that it still owes."""
    demotion = agent.demotion
    if not demotion.stands:
        return say.ACTIVE
    entries = board.ledger.entries
    owed = [key for key in keys if (entry := entries.get(key)) and demotion.owes(agent.view, entry)]
    return say.Standing(
        state=demotion.state,
        since=demotion.since,
        why=demotion.why,
        may=_may(board, agent),
        owed=demotion.owed,
        keys=owed[:MAX_ITEMS_TOLD],
        clear=_CLEAR,
    )


def _may(board: Board, agent: AgentState) -> str:
    if board.policy.demotion == "off":
        return "read and write as before: this board's policy does not demote"
    if board.policy.demotion == "read-only":
        return "read, say and propose; no write is accepted before a full re-read"
    if agent.demotion.suspected_at:
        return "read, say and propose; no write is accepted before a full re-read"
    return f"read, say and propose; write the keys that it has read since event {agent.demotion.since}"


def notices(board: Board, asker: str | None, known: int, forgotten: int) -> list[say.Notice]:
    """The latest of every other agent and of the board, newest first; then a count.

    Left out is what happened after `forgotten` and up to `known`.
    """
    told: list[say.Notice] = []
    left = 0
    for subject, notable in _untold(board, known, forgotten):
        about = subject if subject.startswith("agent:") else "board"
        if about != "board" and (subject == f"agent:{asker}" or not board.policy.broadcast):
            continue
        if len(told) == MAX_ITEMS_TOLD:
            left += 1
            continue
        told.append(say.Notice(seq=notable.seq, about=about, what=notable.what, detail=notable.detail))
    if left:
        detail = f"{left} more: list the agents, or read the log"
        told.append(say.Notice(seq=told[-1].seq, about="board", what="more", detail=detail))
    return told


def _untold(board: Board, known: int, forgotten: int) -> Iterator[tuple[str, Notable]]:
    for subject, notable in reversed(board.notables.items()):
        if notable.seq > known or notable.seq <= forgotten:
            yield subject, notable
        elif not forgotten:
            return


def moved(board: Board, agent: AgentState, known: int, forgotten: int) -> list[say.Moved]:
    """The keys that the agent has observed since its base and that a peer has advanced, newest first.

    Left out is what happened after `forgotten` and up to `known`, and what the board remembers no more.
    """
    told: list[say.Moved] = []
    for move in _candidates(board, agent, known if not forgotten else 0):
        key, seq = move.key, move.seq
        if move.writer == agent.id or forgotten < seq <= known:
            continue
        if agent.view.base < agent.view.observed(key) < seq:
            told.append(say.Moved(key=key, revision=move.revision, writer=move.writer, seq=seq))
            if len(told) == MAX_ITEMS_TOLD:
                break
    return told


def _candidates(board: Board, agent: AgentState, after: int) -> Iterable[Move]:
    """The latest move after `after` of every key that the agent may have observed, newest first.

    Either the moves are gone through or the agent's keys, whichever are fewer: of a few keys it knows
    all, however busy its peers are.
    """
    moves, view = board.moves, agent.view
    keys = len(view.reads) + len(view.writes)
    if view.starts or keys >= min(len(moves), board.head - after):
        return _latest(board, max(after, view.base))
    entries, oldest = board.ledger.entries, moves[0].seq if moves else 0
    found = [entry for key in {*view.reads, *view.writes} if (entry := entries.get(key)) is not None]
    late = [entry for entry in found if entry.seq >= oldest and entry.seq > after]
    late.sort(key=lambda entry: entry.seq, reverse=True)
    return [Move(entry.seq, entry.key, entry.revision, entry.writer) for entry in late]


def _latest(board: Board, after: int) -> Iterator[Move]:
    seen: set[str] = set()
    for move in reversed(board.moves):
        if move.seq <= after:
            return
        if move.key not in seen:
            seen.add(move.key)
            yield move


def guarantee(board: Board) -> say.Guarantee:
    """Which legs of the guarantee the policy switches off."""
    off = board.legs_off
    return say.Guarantee(intact=False, off=off) if off else say.INTACT
