"""What is asked and not recorded: answered from committed state alone."""

from __future__ import annotations

import msgspec

from blackboard.errors import BeyondHead, Malformed, UnknownBoard
from blackboard.events.envelope import Row
from blackboard.gate import query as pure
from blackboard.gate.certify import certificate_valid
from blackboard.gate.keeping import keep
from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages import verdicts
from blackboard.messages.principal import Call, Principal
from blackboard.projections.board import Board
from blackboard.service.live import LiveBoard
from blackboard.store.contract import Store

MOST_EVENTS = 10_000

PAGE_BYTES = 8 * 1024 * 1024
"""A page of the log ends with the event whose body crosses this."""

BoardQuery = ask.GetBoard | ask.GetLedger | ask.GetAgents | ask.GetAgent | ask.Keep | ask.CertificateValid
BoardAnswer = (
    say.BoardReply
    | say.LedgerReply
    | say.AgentsReply
    | say.AgentReply
    | verdicts.KeepReply
    | verdicts.CertificateValidReply
)


async def boards(store: Store, principal: Principal) -> say.BoardsReply:
    """The boards that the caller reaches, by name."""
    found = await store.boards()
    return say.BoardsReply(
        boards=[
            say.BoardSummary(name=row.name, opened_at=row.opened_at, head=row.head)
            for row in found
            if principal.reaches(row.name)
        ]
    )


async def events(store: Store, board: str, query: ask.GetEvents) -> say.EventsReply:
    """A page of the log. Raises `UnknownBoard`, `Malformed`."""
    if not 1 <= query.limit <= MOST_EVENTS:
        raise Malformed(
            f"limit {query.limit}: a page has 1 to {MOST_EVENTS} events",
            member="limit",
            limit=MOST_EVENTS,
            value=query.limit,
        )
    tip = await store.tip(board)
    if tip is None:
        raise unknown(board)
    rows = await store.rows(
        board,
        after=query.after,
        limit=query.limit,
        kind=query.kind,
        agent=query.agent,
        key=query.key,
        through=tip.seq,
    )
    full = len(rows) == query.limit
    page = rows[: _fitting(rows)]
    more = (full or len(page) < len(rows)) and page[-1].seq < tip.seq
    return say.EventsReply(
        events=[event_view(row) for row in page], head=tip.seq, next=page[-1].seq if more else None
    )


def _fitting(rows: list[Row]) -> int:
    size = 0
    for count, row in enumerate(rows, 1):
        size += len(row.body or "")
        if size > PAGE_BYTES:
            return count
    return len(rows)


async def board(
    live: LiveBoard, store: Store, principal: Principal, query: BoardQuery, call: Call
) -> BoardAnswer:
    """One board, now or as of an earlier seq. Raises `UnknownBoard`, `UnknownAgent`, `BeyondHead`."""
    at = query.at if isinstance(query, ask.GetLedger | ask.GetAgents | ask.GetAgent) else None

    def now(current: Board) -> BoardAnswer | int:
        if not current.head:
            raise unknown(live.name)
        if at is None or at == current.head:
            return _answer(current, current.head, principal, query, call)
        return check_reached(live.name, current.head, at)

    answer = await live.ask(now)
    if not isinstance(answer, int):
        return answer
    then = Board()
    if at:
        loaded = await store.load(live.name, at)
        assert loaded is not None
        then = loaded.board
    return _answer(then, answer, principal, query, call)


def _answer(board: Board, head: int, principal: Principal, query: BoardQuery, call: Call) -> BoardAnswer:
    match query:
        case ask.GetBoard():
            return pure.board_reply(board, principal, call)
        case ask.GetLedger():
            return pure.ledger(board, query, head=head)
        case ask.GetAgents():
            return pure.agents(board, head=head)
        case ask.GetAgent(agent=agent):
            return pure.agent(board, agent, head=head)
        case ask.Keep():
            return keep(board, principal, query, head=head)
        case ask.CertificateValid():
            return certificate_valid(board, query, head=head)


def check_reached(name: str, head: int, seq: int) -> int:
    """Return `head`; raises `BeyondHead` where `seq` is above it."""
    if seq > head:
        raise BeyondHead(
            f"board {name!r} ends at {head}; there is no event {seq}",
            members={"limit": head, "value": seq, "head": head},
        )
    return head


def unknown(name: str) -> UnknownBoard:
    """There is no such board, or the caller does not reach it."""
    return UnknownBoard(f"there is no board {name!r}, or this credential does not reach it")


def event_view(row: Row) -> say.EventView:
    """A row as readers of the log see it."""
    return say.EventView(
        board=row.board,
        seq=row.seq,
        kind=row.kind,
        version=row.version,
        actor=row.actor,
        recorded_at=row.recorded_at,
        command_id=row.command_id,
        body=None if row.body is None else msgspec.Raw(row.body.encode()),
        turn=row.turn,
        key=row.key,
        revision=row.revision,
        request_digest=None if row.request_digest is None else row.request_digest.hex(),
        salt=None if row.salt is None else row.salt.hex(),
        body_digest=row.body_digest.hex(),
        hash=row.hash.hex(),
    )
