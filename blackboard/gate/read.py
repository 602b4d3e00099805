"""Reads are decisions too: what is served goes into the reader's view, so it is recorded first.

A full read goes page by page; peers may write meanwhile, since a page is recorded at the head that it shows.
"""

from __future__ import annotations

from msgspec import Raw

from blackboard.errors import TooLarge
from blackboard.events import kinds
from blackboard.gate.decision import Asked, Decision
from blackboard.gate.paging import PAGE_BYTES, READ_BYTES, parse_cursor
from blackboard.gate.record import decide_read_records
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.projections.board import Board, OpenProposal
from blackboard.projections.ledger import Entry


def decide_read(asked: Asked, command: ask.Read) -> Decision:
    """A read by keys or of records, or a page of a full read."""
    if command.records is not None:
        return decide_read_records(asked, command)
    if command.keys is None:
        return _page(asked, command)
    keys = list(dict.fromkeys(command.keys))
    entries = [served(asked.board, key) for key in keys]
    _check_size(asked.board, keys)
    body = kinds.BoardRead(keys={entry.key: entry.revision for entry in entries})
    return asked.decide([body], say.ReadReply(entries=entries), keys)


def decide_read_entry(asked: Asked, command: ask.ReadEntry) -> Decision:
    """A read of one key."""
    entry = served(asked.board, command.key)
    body = kinds.BoardRead(keys={entry.key: entry.revision})
    return asked.decide([body], say.EntryReply(entry=entry), [command.key])


def served(board: Board, key: str) -> say.Entry:
    """The entry of a key as a reader gets it; an absent key is an entry at revision 0."""
    entry = board.ledger.entries.get(key)
    return say.Entry(key=key) if entry is None else as_served(entry)


def as_served(entry: Entry) -> say.Entry:
    """An entry as a reader gets it. `value` is canonical JSON, embedded as it is."""
    return say.Entry(
        key=entry.key,
        value=None if entry.deleted else Raw(entry.value),
        revision=entry.revision,
        id=entry.id,
        writer=entry.writer,
        written_seq=entry.seq,
        deleted=entry.deleted,
        confidence=entry.confidence,
    )


def _check_size(board: Board, keys: list[str]) -> None:
    entries = board.ledger.entries
    size = sum(len(entries[key].value) for key in keys if key in entries)
    if size > READ_BYTES:
        raise TooLarge(
            f"these {len(keys)} entries have {size} bytes; at most {READ_BYTES} are served: read fewer",
            member="/keys",
            limit=READ_BYTES,
        )


def _page(asked: Asked, command: ask.Read) -> Decision:
    board, prefix = asked.board, prefix_of(asked)
    page, after = parse_cursor(command.cursor)
    limit = command.limit if command.limit is not None else DEFAULT_LIMITS.page_entries
    entries, more = take(board, prefix, after, limit)
    through = entries[-1].key if more else None
    body = kinds.BoardRead(
        range=kinds.KeyRange(after=after, through=through, prefix=prefix),
        head=board.head,
        page=page,
        served=len(entries),
    )
    cursor = f"{page + 1}:{through}" if through is not None else None
    return asked.decide([body], say.ReadReply(entries=[as_served(entry) for entry in entries], cursor=cursor))


def take(board: Board, prefix: str, after: str | None, limit: int) -> tuple[list[Entry], bool]:
    """A page of the entries under `prefix` and above `after`, bounded in entries and bytes; and whether there
    are more.
    """
    entries: list[Entry] = []
    size = 0
    for entry in board.ledger.under(prefix, after):
        if len(entries) == limit or size > PAGE_BYTES:
            return entries, True
        entries.append(entry)
        size += len(entry.value)
    return entries, False


def prefix_of(asked: Asked) -> str:
    """The prefix that bounds the agent's full re-read: the log's word, else its token's."""
    agent = asked.agent
    return agent.demotion.prefix if agent.joined else asked.principal.grants.prefix


def decide_read_proposals(asked: Asked) -> Decision:
    """The open proposals; for an agent the read is recorded, and only what was read can be accepted."""
    proposals = [as_proposal(name, proposal) for name, proposal in asked.board.proposals.items()]
    reply = say.ProposalsReply(proposals=proposals)
    if asked.actor is None or not proposals:
        return Decision([], reply)
    return asked.decide([kinds.BoardRead(proposals=list(asked.board.proposals))], reply)


def as_proposal(name: str, proposal: OpenProposal) -> say.Proposal:
    """A proposal as its readers get it."""
    writes = [
        say.ProposalWrite(
            key=write.key,
            revision=write.revision,
            value=None if write.deleted else write.value,
            held=write.held,
            confidence=write.confidence,
            deleted=write.deleted,
            basis=write.basis,
        )
        for write in proposal.writes
    ]
    return say.Proposal(
        id=name, seq=proposal.seq, proposer=proposal.proposer, writes=writes, reason=proposal.reason
    )
