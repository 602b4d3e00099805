"""Answers that record nothing: what a board says of itself, to those who may look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from blackboard import canonical
from blackboard.errors import Malformed, UnknownAgent
from blackboard.events.kinds import KeyRange
from blackboard.gate.read import as_served, take
from blackboard.gate.telling import context, standing
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.holdings import HeldRecords, LoggedCheck
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.principal import Call, Principal
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.evolve import settle
from blackboard.projections.keys import below

MOST_ENTRIES = DEFAULT_LIMITS.page_entries
"""The entries of a page of the ledger."""

LISTED = 1000
"""How many observations of a view one reply lists; the rest is counted."""


def board_members(board: Board) -> dict[str, Any]:
    """The members of a board's own reply."""
    return {
        "name": board.name,
        "format": board.format,
        "policy": board.policy,
        "mode": board.mode,
        "coordinator": board.coordinator,
        "opened_at": board.opened_at,
        "agents": len(board.agents),
        "live_entries": board.ledger.live,
    }


def board_reply(board: Board, principal: Principal, call: Call) -> say.BoardReply:
    """One board, in full."""
    return say.BoardReply(**board_members(board), **context(board, principal, call.seen))


def ledger(board: Board, query: ask.GetLedger, *, head: int) -> say.LedgerReply:
    """A page of the ledger as of `board.head`; `head` is the log's. Raises `Malformed` for its limit.

    The digest is over the whole ledger, so only the first page of a walk pays for it.
    """
    if not 1 <= query.limit <= MOST_ENTRIES:
        raise Malformed(
            f"limit {query.limit}: a page has 1 to {MOST_ENTRIES} entries",
            member="limit",
            limit=MOST_ENTRIES,
            value=query.limit,
        )
    entries, more = take(board, "", query.after, query.limit)
    return say.LedgerReply(
        at=board.head,
        head=head,
        entries=[as_served(entry) for entry in entries],
        state_digest=state_digest(board) if query.after is None else None,
        next=entries[-1].key if more else None,
    )


def agents(board: Board, *, head: int) -> say.AgentsReply:
    """Every agent, by id."""
    summaries = [summary(board.agents[name]) for name in sorted(board.agents)]
    return say.AgentsReply(at=board.head, head=head, agents=summaries)


def summary(agent: AgentState) -> say.AgentSummary:
    """One agent in a line."""
    demotion, counts = agent.demotion, agent.counts
    return say.AgentSummary(
        agent=agent.id,
        state=demotion.state,
        since=demotion.since,
        owed=demotion.owed if demotion.stands else 0,
        prefix=demotion.prefix,
        turn=agent.breadth.turn,
        commands=counts.commands,
        reads=counts.reads,
        rereads=counts.rereads,
        writes=counts.writes,
        compactions=counts.compactions,
        rejections=dict(sorted(agent.refusals.items())),
        signals=dict(sorted(agent.signals.items())),
        checks=dict(sorted(agent.verdicts.items())),
    )


def agent(board: Board, name: str, *, head: int) -> say.AgentReply:
    """One agent in full. Raises `UnknownAgent`."""
    found = board.agents.get(name)
    if found is None:
        raise UnknownAgent(
            f"no event up to {board.head} on board {board.name!r} concerns an agent {name!r}",
            members={"agent": name},
        )
    settle(board)
    held = [_held(board, found, key) for key in sorted({*found.view.reads, *found.view.writes})]
    return say.AgentReply(
        at=board.head,
        head=head,
        summary=summary(found),
        standing=standing(board, found),
        base=found.view.base,
        view=held[:LISTED],
        ranges=[_range(start, end, mark) for start, end, mark in found.view.ranges()],
        baselines=_baselines(board, found),
        last_rejections=[
            say.LoggedRejection(seq=refused.seq, code=refused.code, keys=refused.keys)
            for refused in found.refused
        ],
        last_signals=[
            say.LoggedSignal(
                seq=raised.seq, signal=raised.signal, effect=raised.effect, evidence=raised.evidence
            )
            for raised in found.raised
        ],
        view_digest=view_digest(board, found),
        more=max(0, len(held) - LISTED),
        records=_records(board, found),
        last_checks=[
            LoggedCheck(seq=checked.seq, tool=checked.tool, verdict=checked.verdict, codes=checked.codes)
            for checked in found.checked
        ],
    )


def _records(board: Board, agent: AgentState) -> HeldRecords:
    items, holding = board.records.items, agent.holding
    held = list(holding.held())
    dropped = list(holding.dropped())
    return HeldRecords(
        held=[items[at].id for at in held[:LISTED]],
        held_count=len(held),
        dropped=[items[at].id for at in dropped[:LISTED]],
        dropped_count=len(dropped),
        chatter_dropped=holding.chatter_delivered - holding.chatter,
        unseen=len(items) - len(held) - len(dropped),
    )


def _held(board: Board, agent: AgentState, key: str) -> say.HeldEntry:
    entry = board.ledger.entries.get(key)
    current = agent.view.holds(key, entry)
    revision = entry.revision if entry is not None else 0
    return say.HeldEntry(
        key=key,
        seen_at=agent.view.observed(key),
        current=current,
        current_revision=revision,
        revision=revision if current else None,
    )


def _range(start: str, end: str | None, mark: int) -> say.RangeSeen:
    # A step begins at a prefix or just above a key, and ends likewise, or above every key of a prefix.
    prefix, through = "", None
    if end is not None and end.endswith("\0"):
        through = end.removesuffix("\0")
    elif end is not None:
        prefix = below(end)
        if not start.startswith(prefix):
            prefix, through = "", end
    after = start.removesuffix("\0") if start != prefix else None
    return say.RangeSeen(range=KeyRange(after=after, through=through, prefix=prefix), seen_at=mark)


def _baselines(board: Board, agent: AgentState) -> say.Baselines:
    setting = board.policy.signals["write-breadth"]
    return say.Baselines(
        breadth=agent.breadth.sizes[-setting.window :],
        breadth_median=agent.breadth.baseline(setting),
        narrow_run=agent.breadth.run,
        citations=[
            cited for _, cited in list(agent.citations)[-board.policy.signals["citation-decay"].window :]
        ],
    )


def state_digest(board: Board) -> str:
    """Hex SHA-256 over every entry in key order, and the records: value-level agreement is equality of these.

    Without records it is over the entries alone.
    """
    lines = (
        canonical.encode([entry.key, entry.revision, entry.deleted]) + entry.value + b"\n"
        for entry in board.ledger.under("")
    )
    records = board.recorded if len(board.records) else b""
    return canonical.digest(b"blackboard/state/1\0", *lines, records).hex()


def view_digest(board: Board, agent: AgentState) -> str:
    """Hex SHA-256 over what the agent holds: current entries (key, revision, seq), records (id, seq)."""
    return canonical.digest(b"blackboard/view/1\0", *_held_lines(board, agent)).hex()


def _held_lines(board: Board, agent: AgentState) -> Iterator[bytes]:
    for entry in board.ledger.under(""):
        if agent.view.holds(entry.key, entry):
            yield canonical.encode([entry.key, entry.revision, entry.seq]) + b"\n"
    for position in agent.holding.held():
        record = board.records.items[position]
        yield canonical.encode([record.id, record.seq]) + b"\n"
