"""The client's methods: one for each row of OPERATIONS, and the few that make rows pleasant to use.

`scripts/generate_sync.py` makes `sync.py` from this class: the methods are written once.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, cast

from blackboard.client.actions import ActionGate
from blackboard.client.arguments import basis_of, listed, policy_of, writes_of
from blackboard.errors import Malformed
from blackboard.events.kinds import Cause, Mode, Notify
from blackboard.events.policy import PolicyPatch
from blackboard.messages import commands as ask
from blackboard.messages.commands import Write
from blackboard.messages.limits import MAX_INTEGER
from blackboard.messages.principal import Grants, Role
from blackboard.messages.replies import (
    Ack,
    AgentReply,
    AgentsReply,
    BoardReply,
    BoardsReply,
    CompactReply,
    Done,
    Entry,
    EventsReply,
    EventView,
    LedgerReply,
    ProposalsReply,
    ProposeReply,
    ReadReply,
    SayReply,
    TokenReply,
    TokensReply,
)

__all__ = ["Board"]


class Board(ActionGate):
    """A board, as one agent, operator or auditor sees it.

    Every method may raise the errors of `blackboard.errors`. Every reply, and every error after which
    something was logged, refreshes `standing`, `notices`, `moved`, `guarantee` and `head`. Methods that
    append take `idempotency_key`; without it they make one, so that a retry after a lost answer is safe.
    """

    async def read(self, key: str, *, turn: int | None = None) -> Entry:
        """Read one entry. An absent key gives revision 0, a deleted one its tombstone; both without value."""
        return (await self.read_many([key], turn=turn)).entries[0]

    async def read_many(self, keys: Iterable[str], *, turn: int | None = None) -> ReadReply:
        """Read several keys in one recorded read; `entries` are in the order of `keys`, each key once."""
        return await self._send("read", ask.Read(keys=listed(keys), turn=turn), ReadReply)

    async def read_all(self, *, turn: int | None = None) -> ReadReply:
        """The full re-read, page by page: every entry under the agent's prefix, tombstones too.

        The pages come back as one reply; what any of them told is in it.
        """
        return await self._read_pages(lambda cursor: ask.Read(all=True, cursor=cursor, turn=turn))

    async def write(
        self,
        key: str,
        value: Any,
        *,
        revision: int,
        basis: Mapping[str, int] | None = None,
        confidence: float | None = None,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> Ack:
        """Write one entry at `revision`: one above what was read. Raises `WriteRejected`.

        `basis` names what the decision rests on besides the key: `{key: revision}`.
        """
        write = Write(key, revision, value, confidence, basis=basis_of(basis))
        return await self.write_many([write], turn=turn, idempotency_key=idempotency_key)

    async def write_many(
        self,
        writes: Iterable[Write | Mapping[str, Any]],
        *,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> Ack:
        """Write several entries, all or none. A mapping is sent as it is: without `revision` it is refused.

        Raises `WriteRejected` with every rule that any of the writes violates; `RevisionMissing`.
        """
        batch = ask.WriteBatch(writes=writes_of(writes), turn=turn)
        return await self._send("write", batch, Ack, idempotency_key)

    async def delete(
        self,
        key: str,
        *,
        revision: int,
        basis: Mapping[str, int] | None = None,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> Ack:
        """Delete an entry: a write that advances the revision and leaves a tombstone."""
        write = Write(key, revision, deleted=True, basis=basis_of(basis))
        return await self.write_many([write], turn=turn, idempotency_key=idempotency_key)

    async def compacted(
        self,
        *,
        cause: Cause = "unknown",
        base_seq: int | None = None,
        kept: Iterable[str] | None = None,
        notify: Notify = "in-band",
        agents: Iterable[str] | None = None,
        summary_digest: str | None = None,
        tokens_before: int | None = None,
        tokens_after: int | None = None,
        context_window: int | None = None,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> CompactReply:
        """Tell the board, and through it every peer, that this agent's context was compacted.

        What was observed at or before `base_seq` (default: the head) is gone, except the record ids
        `kept`. `agents` names others: for operators and for tokens that may report peers.
        `context_window` is the size of the window in tokens; below format 3 it raises `FormatTooLow`.
        """
        report = ask.Compact(
            cause=cause,
            base_seq=base_seq,
            kept=None if kept is None else listed(kept),
            notify=notify,
            agents=None if agents is None else listed(agents),
            summary_digest=summary_digest,
            tokens_before=tokens_before,
            tokens_after=tokens_after,
            context_window=context_window,
            turn=turn,
        )
        return await self._send("compacted", report, CompactReply, idempotency_key)

    async def say(
        self,
        text: str,
        *,
        recipients: Iterable[str] = (),
        reply_to: int | None = None,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> SayReply:
        """Post a message; `cited` are the identifiers in it that exist on the board.

        `reply_to` is the seq of the message that it answers. Raises `Malformed` where there is no such
        message, and `FormatTooLow` below format 3.
        """
        message = ask.Say(text=text, recipients=listed(recipients), reply_to=reply_to, turn=turn)
        return await self._send("say", message, SayReply, idempotency_key)

    async def end_turn(self, turn: int, *, idempotency_key: str | None = None) -> Done:
        """End the agent's turn `turn`."""
        return await self._send("end_turn", ask.EndTurn(turn=turn), Done, idempotency_key)

    async def propose(
        self,
        writes: Iterable[Write | Mapping[str, Any]],
        *,
        reason: str = "",
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> ProposeReply:
        """Propose writes to the coordinator; `proposal` is the id to accept or refuse."""
        proposal = ask.Propose(writes=writes_of(writes), reason=reason, turn=turn)
        return await self._send("propose", proposal, ProposeReply, idempotency_key)

    async def proposals(self, *, turn: int | None = None) -> ProposalsReply:
        """Read the open proposals. Only what an agent has read it can accept."""
        return await self._send("proposals", ask.ReadProposals(turn=turn), ProposalsReply)

    async def accept(
        self,
        proposal: str,
        restate: bool = False,
        *,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> Ack:
        """Accept a proposal as the coordinator's own write. Raises `WriteRejected`, `ProposalClosed`.

        `restate` makes the value the coordinator's own where the proposer did not hold what is current.
        """
        message = ask.AcceptProposal(proposal=proposal, restate=restate, turn=turn)
        return await self._send("accept", message, Ack, idempotency_key)

    async def refuse(
        self, proposal: str, reason: str = "", *, turn: int | None = None, idempotency_key: str | None = None
    ) -> Done:
        """Refuse a proposal, with a reason."""
        message = ask.RefuseProposal(proposal=proposal, reason=reason, turn=turn)
        return await self._send("refuse", message, Done, idempotency_key)

    async def follow(self, after: int = 0) -> AsyncGenerator[EventView, None]:
        """Every event after `after`, then live. Resumes by itself; nothing is skipped or told twice.

        A feed puts nothing into the agent's view. Ends when the board is closed.
        """
        if type(after) is not int or not 0 <= after <= MAX_INTEGER:
            raise Malformed(
                f"after {after!r}: a seq is an integer from 0 to {MAX_INTEGER}",
                member="/after",
                limit=MAX_INTEGER,
                value=after,
            )
        async with contextlib.aclosing(self._follow(after)) as events:
            async for event in events:
                yield event

    async def log(
        self, *, after: int = 0, kind: str | None = None, agent: str | None = None, key: str | None = None
    ) -> AsyncGenerator[EventView, None]:
        """The events after `after` that there are now, filtered, fetched page by page."""
        place: int | None = after
        while place is not None:
            page = await self.events(after=place, kind=kind, agent=agent, key=key)
            for event in page.events:
                yield event
            place = page.next

    async def events(
        self,
        *,
        after: int = 0,
        limit: int = 1000,
        kind: str | None = None,
        agent: str | None = None,
        key: str | None = None,
    ) -> EventsReply:
        """One page of the log, oldest first; `next` is the `after` of the following page."""
        query = ask.GetEvents(after=after, limit=limit, kind=kind, agent=agent, key=key)
        return await self._send("events", query, EventsReply)

    async def ledger(
        self, *, at: int | None = None, after: str | None = None, limit: int = 1000
    ) -> LedgerReply:
        """One page of the ledger as of `at` (default: now), for auditors and operators; unrecorded."""
        return await self._send("ledger", ask.GetLedger(at=at, after=after, limit=limit), LedgerReply)

    async def agents(self, *, at: int | None = None) -> AgentsReply:
        """Every agent of the board: standing, counts, what its protection costs."""
        return await self._send("agents", ask.GetAgents(at=at), AgentsReply)

    async def show_agent(self, agent: str, *, at: int | None = None) -> AgentReply:
        """One agent's standing, view and baselines as of `at`. An agent sees itself alone."""
        return await self._send("show_agent", ask.GetAgent(agent=agent, at=at), AgentReply)

    async def open_board(
        self,
        policy: PolicyPatch | Mapping[str, Any] | None = None,
        *,
        format: int | None = None,  # noqa: A002 (the field's own word)
        idempotency_key: str | None = None,
    ) -> BoardReply:
        """Open the board; `created` tells whether it was not there. Raises `PolicyDiffers`."""
        message = ask.OpenBoard(policy=policy_of(policy), format=format)
        return await self._send("open_board", message, BoardReply, idempotency_key)

    async def list_boards(self) -> BoardsReply:
        """The boards that the caller reaches."""
        return await self._send("list_boards", ask.ListBoards(), BoardsReply)

    async def get_board(self) -> BoardReply:
        """The board's policy, mode, format, guarantee and head."""
        return await self._send("get_board", ask.GetBoard(), BoardReply)

    async def get_policy(self) -> BoardReply:
        """The same as `get_board`, asked for by the address of the policy."""
        return await self._send("get_policy", ask.GetBoard(), BoardReply)

    async def set_policy(
        self, policy: PolicyPatch | Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Done:
        """Change the policy; members left out keep their value."""
        message = ask.SetPolicy(policy=cast(PolicyPatch, policy_of(policy)))
        return await self._send("set_policy", message, Done, idempotency_key)

    async def set_mode(
        self,
        mode: Mode,
        coordinator: str | None = None,
        *,
        why: str = "",
        idempotency_key: str | None = None,
    ) -> Done:
        """Enter or leave single-writer mode, or hand the pen to another coordinator."""
        message = ask.SetMode(mode=mode, coordinator=coordinator, why=why)
        return await self._send("set_mode", message, Done, idempotency_key)

    async def raise_format(
        self,
        format: int,  # noqa: A002 (the field's own word)
        *,
        idempotency_key: str | None = None,
    ) -> Done:
        """Raise the board's format once every server can read the new one."""
        return await self._send("raise_format", ask.RaiseFormat(format=format), Done, idempotency_key)

    async def join(self, agent: str, prefix: str = "", *, idempotency_key: str | None = None) -> Done:
        """Name an agent and the key prefix that bounds its full re-read."""
        return await self._send("join", ask.JoinAgent(agent=agent, prefix=prefix), Done, idempotency_key)

    async def create_token(
        self,
        role: Role,
        name: str,
        *,
        boards: Iterable[str] = ("*",),
        grants: Grants | Mapping[str, Any] | None = None,
        days: float | None = None,
    ) -> TokenReply:
        """Make a token; its secret, `token`, is shown this once."""
        message = ask.CreateToken(
            role=role,
            name=name,
            boards=listed(boards),
            grants=cast(Grants, {} if grants is None else grants),
            days=days,
        )
        return await self._send("create_token", message, TokenReply)

    async def list_tokens(self) -> TokensReply:
        """Every token, without its secret."""
        return await self._send("list_tokens", ask.ListTokens(), TokensReply)

    async def revoke_token(self, id: str) -> TokenReply:  # noqa: A002 (the field's own word)
        """End a token at once."""
        return await self._send("revoke_token", ask.RevokeToken(id=id), TokenReply)
