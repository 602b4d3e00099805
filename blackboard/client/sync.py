"""The methods of `Board` for code without an event loop.

Made by scripts/generate_sync.py from board.py and actions.py: change these, and run the script.
"""

# ruff: noqa: A002 - the names of the arguments are those of the message

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from blackboard.client.sync_session import SyncSession
from blackboard.events.kinds import Cause, Mode, Notify
from blackboard.events.policy import PolicyPatch
from blackboard.messages.commands import Write
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
from blackboard.messages.verdicts import (
    CertificateReply,
    CertificateValidReply,
    CheckReply,
    KeepReply,
    RecordReply,
    SigningKeyReply,
)
from blackboard.records.drafts import Draft

__all__ = ["SyncBoard"]


class SyncBoard(SyncSession):
    """A board, as one agent, operator or auditor sees it.

    Every method may raise the errors of `blackboard.errors`. Every reply, and every error after which
    something was logged, refreshes `standing`, `notices`, `moved`, `guarantee` and `head`. Methods that
    append take `idempotency_key`; without it they make one, so that a retry after a lost answer is safe.
    """

    def read(self, key: str, *, turn: int | None = None) -> Entry:
        """Read one entry. An absent key gives revision 0, a deleted one its tombstone; both without value."""
        return self._run(self._board.read(key, turn=turn))

    def read_many(self, keys: Iterable[str], *, turn: int | None = None) -> ReadReply:
        """Read several keys in one recorded read; `entries` are in the order of `keys`, each key once."""
        return self._run(self._board.read_many(keys, turn=turn))

    def read_all(self, *, turn: int | None = None) -> ReadReply:
        """The full re-read, page by page: every entry under the agent's prefix, tombstones too.

        The pages come back as one reply; what any of them told is in it.
        """
        return self._run(self._board.read_all(turn=turn))

    def write(
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
        return self._run(
            self._board.write(
                key,
                value,
                revision=revision,
                basis=basis,
                confidence=confidence,
                turn=turn,
                idempotency_key=idempotency_key,
            )
        )

    def write_many(
        self,
        writes: Iterable[Write | Mapping[str, Any]],
        *,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> Ack:
        """Write several entries, all or none. A mapping is sent as it is: without `revision` it is refused.

        Raises `WriteRejected` with every rule that any of the writes violates; `RevisionMissing`.
        """
        return self._run(self._board.write_many(writes, turn=turn, idempotency_key=idempotency_key))

    def delete(
        self,
        key: str,
        *,
        revision: int,
        basis: Mapping[str, int] | None = None,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> Ack:
        """Delete an entry: a write that advances the revision and leaves a tombstone."""
        return self._run(
            self._board.delete(
                key, revision=revision, basis=basis, turn=turn, idempotency_key=idempotency_key
            )
        )

    def compacted(
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
        return self._run(
            self._board.compacted(
                cause=cause,
                base_seq=base_seq,
                kept=kept,
                notify=notify,
                agents=agents,
                summary_digest=summary_digest,
                tokens_before=tokens_before,
                tokens_after=tokens_after,
                context_window=context_window,
                turn=turn,
                idempotency_key=idempotency_key,
            )
        )

    def say(
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
        return self._run(
            self._board.say(
                text, recipients=recipients, reply_to=reply_to, turn=turn, idempotency_key=idempotency_key
            )
        )

    def end_turn(self, turn: int, *, idempotency_key: str | None = None) -> Done:
        """End the agent's turn `turn`."""
        return self._run(self._board.end_turn(turn, idempotency_key=idempotency_key))

    def propose(
        self,
        writes: Iterable[Write | Mapping[str, Any]],
        *,
        reason: str = "",
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> ProposeReply:
        """Propose writes to the coordinator; `proposal` is the id to accept or refuse."""
        return self._run(
            self._board.propose(writes, reason=reason, turn=turn, idempotency_key=idempotency_key)
        )

    def proposals(self, *, turn: int | None = None) -> ProposalsReply:
        """Read the open proposals. Only what an agent has read it can accept."""
        return self._run(self._board.proposals(turn=turn))

    def accept(
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
        return self._run(self._board.accept(proposal, restate, turn=turn, idempotency_key=idempotency_key))

    def refuse(
        self, proposal: str, reason: str = "", *, turn: int | None = None, idempotency_key: str | None = None
    ) -> Done:
        """Refuse a proposal, with a reason."""
        return self._run(self._board.refuse(proposal, reason, turn=turn, idempotency_key=idempotency_key))

    def follow(self, after: int = 0) -> Iterator[EventView]:
        """Every event after `after`, then live. Resumes by itself; nothing is skipped or told twice.

        A feed puts nothing into the agent's view. Ends when the board is closed.
        """
        return self._iterate(self._board.follow(after))

    def log(
        self, *, after: int = 0, kind: str | None = None, agent: str | None = None, key: str | None = None
    ) -> Iterator[EventView]:
        """The events after `after` that there are now, filtered, fetched page by page."""
        return self._iterate(self._board.log(after=after, kind=kind, agent=agent, key=key))

    def events(
        self,
        *,
        after: int = 0,
        limit: int = 1000,
        kind: str | None = None,
        agent: str | None = None,
        key: str | None = None,
    ) -> EventsReply:
        """One page of the log, oldest first; `next` is the `after` of the following page."""
        return self._run(self._board.events(after=after, limit=limit, kind=kind, agent=agent, key=key))

    def ledger(self, *, at: int | None = None, after: str | None = None, limit: int = 1000) -> LedgerReply:
        """One page of the ledger as of `at` (default: now), for auditors and operators; unrecorded."""
        return self._run(self._board.ledger(at=at, after=after, limit=limit))

    def agents(self, *, at: int | None = None) -> AgentsReply:
        """Every agent of the board: standing, counts, what its protection costs."""
        return self._run(self._board.agents(at=at))

    def show_agent(self, agent: str, *, at: int | None = None) -> AgentReply:
        """One agent's standing, view and baselines as of `at`. An agent sees itself alone."""
        return self._run(self._board.show_agent(agent, at=at))

    def open_board(
        self,
        policy: PolicyPatch | Mapping[str, Any] | None = None,
        *,
        format: int | None = None,
        idempotency_key: str | None = None,
    ) -> BoardReply:
        """Open the board; `created` tells whether it was not there. Raises `PolicyDiffers`."""
        return self._run(self._board.open_board(policy, format=format, idempotency_key=idempotency_key))

    def list_boards(self) -> BoardsReply:
        """The boards that the caller reaches."""
        return self._run(self._board.list_boards())

    def get_board(self) -> BoardReply:
        """The board's policy, mode, format, guarantee and head."""
        return self._run(self._board.get_board())

    def get_policy(self) -> BoardReply:
        """The same as `get_board`, asked for by the address of the policy."""
        return self._run(self._board.get_policy())

    def set_policy(
        self, policy: PolicyPatch | Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> Done:
        """Change the policy; members left out keep their value."""
        return self._run(self._board.set_policy(policy, idempotency_key=idempotency_key))

    def set_mode(
        self, mode: Mode, coordinator: str | None = None, *, why: str = "", idempotency_key: str | None = None
    ) -> Done:
        """Enter or leave single-writer mode, or hand the pen to another coordinator."""
        return self._run(self._board.set_mode(mode, coordinator, why=why, idempotency_key=idempotency_key))

    def raise_format(self, format: int, *, idempotency_key: str | None = None) -> Done:
        """Raise the board's format once every server can read the new one."""
        return self._run(self._board.raise_format(format, idempotency_key=idempotency_key))

    def join(self, agent: str, prefix: str = "", *, idempotency_key: str | None = None) -> Done:
        """Name an agent and the key prefix that bounds its full re-read."""
        return self._run(self._board.join(agent, prefix, idempotency_key=idempotency_key))

    def create_token(
        self,
        role: Role,
        name: str,
        *,
        boards: Iterable[str] = ("*",),
        grants: Grants | Mapping[str, Any] | None = None,
        days: float | None = None,
    ) -> TokenReply:
        """Make a token; its secret, `token`, is shown this once."""
        return self._run(self._board.create_token(role, name, boards=boards, grants=grants, days=days))

    def list_tokens(self) -> TokensReply:
        """Every token, without its secret."""
        return self._run(self._board.list_tokens())

    def revoke_token(self, id: str) -> TokenReply:
        """End a token at once."""
        return self._run(self._board.revoke_token(id))

    def add_record(
        self,
        record: Draft | Mapping[str, Any],
        *,
        turn: int | None = None,
        idempotency_key: str | None = None,
    ) -> RecordReply:
        """Add a policy, fact, approval or chatter; `id` is what it is called from now on.

        `record` is one of `blackboard.Policy`, `Fact`, `Approval`, `Chatter`, or a mapping with the same
        members and a `kind`. Raises `NotAllowed` without the grant for its kind.
        """
        return self._run(self._board.add_record(record, turn=turn, idempotency_key=idempotency_key))

    def read_records(self, ids: Iterable[str] | None = None, *, turn: int | None = None) -> ReadReply:
        """Read records, all of them (page by page) or those named; the agent holds them then.

        `unknown_records` are ids that no record has.
        """
        return self._run(self._board.read_records(ids, turn=turn))

    def check(
        self,
        tool: str,
        params: Mapping[str, Any] | None = None,
        *,
        basis: Mapping[str, int] | None = None,
        allow_unevaluable: bool = False,
        turn: int | None = None,
    ) -> CheckReply:
        """Ask whether something that this agent lacks binds a call of `tool`; the verdict is recorded.

        BLOCK is an answer, not an error. PASS is no permission: `policy` says what the rules say.
        """
        return self._run(
            self._board.check(tool, params, basis=basis, allow_unevaluable=allow_unevaluable, turn=turn)
        )

    def certificate(
        self, tool: str, *, turn: int | None = None, idempotency_key: str | None = None
    ) -> CertificateReply:
        """A signed certificate of the verdict on every call of `tool`, for use without a board.

        See `blackboard.verify_certificate`; `signing_key` is what it verifies with.
        """
        return self._run(self._board.certificate(tool, turn=turn, idempotency_key=idempotency_key))

    def certificate_valid(self, certificate: str) -> CertificateValidReply:
        """Whether a certificate, named by its id, still speaks for what its agent holds."""
        return self._run(self._board.certificate_valid(certificate))

    def signing_key(self) -> SigningKeyReply:
        """The public key with which certificates are verified."""
        return self._run(self._board.signing_key())

    def must_keep(self, tools: Iterable[str | Mapping[str, Any]], *, agent: str | None = None) -> KeepReply:
        """The fewest records that a compaction must keep, so that no call of `tools` is in danger after it.

        A tool is a name, or a mapping with `name` and `input_schema`. `agent` is for operators and auditors.
        """
        return self._run(self._board.must_keep(tools, agent=agent))

    def repair(
        self, kept: Iterable[str], tools: Iterable[str | Mapping[str, Any]], *, agent: str | None = None
    ) -> KeepReply:
        """`kept`, and what must be kept beside it, so that no call of `tools` is in danger afterwards."""
        return self._run(self._board.repair(kept, tools, agent=agent))
