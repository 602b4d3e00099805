"""The client's methods for the action gate: records, checks, certificates, what a compaction must keep.

`scripts/generate_sync.py` makes the synchronous ones from this class and `Board`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from blackboard.client.arguments import basis_of, listed, mapping, record_of, tools_of
from blackboard.client.guard import Guard
from blackboard.client.session import Session
from blackboard.messages import commands as ask
from blackboard.messages.replies import ReadReply
from blackboard.messages.verdicts import (
    CertificateReply,
    CertificateValidReply,
    CheckReply,
    KeepReply,
    RecordReply,
    SigningKeyReply,
)
from blackboard.records.drafts import Draft

__all__ = ["ActionGate"]


class ActionGate(Session):
    """May this agent, holding what it still holds, take this action? See `Board`."""

    async def add_record(
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
        message = ask.AddRecord(record=record_of(record), turn=turn)
        return await self._send("add_record", message, RecordReply, idempotency_key)

    async def read_records(self, ids: Iterable[str] | None = None, *, turn: int | None = None) -> ReadReply:
        """Read records, all of them (page by page) or those named; the agent holds them then.

        `unknown_records` are ids that no record has.
        """
        if ids is not None:
            return await self._send("read", ask.Read(records=listed(ids), turn=turn), ReadReply)
        return await self._read_pages(lambda cursor: ask.Read(records="all", cursor=cursor, turn=turn))

    async def check(
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
        message = ask.Check(
            tool=tool,
            params=mapping(params),
            basis=basis_of(basis),
            allow_unevaluable=allow_unevaluable,
            turn=turn,
        )
        return await self._send("check", message, CheckReply)

    def guard(self, tool: str, *, allow_unevaluable: bool = False) -> Guard:
        """Guard calls of `tool`: what `guard` gives, called with `fn` and params, runs it only if it may."""
        return Guard(self, tool, allow_unevaluable=allow_unevaluable)

    async def certificate(
        self, tool: str, *, turn: int | None = None, idempotency_key: str | None = None
    ) -> CertificateReply:
        """A signed certificate of the verdict on every call of `tool`, for use without a board.

        See `blackboard.verify_certificate`; `signing_key` is what it verifies with.
        """
        message = ask.IssueCertificate(tool=tool, turn=turn)
        return await self._send("certificate", message, CertificateReply, idempotency_key)

    async def certificate_valid(self, certificate: str) -> CertificateValidReply:
        """Whether a certificate, named by its id, still speaks for what its agent holds."""
        message = ask.CertificateValid(certificate=certificate)
        return await self._send("certificate_valid", message, CertificateValidReply)

    async def signing_key(self) -> SigningKeyReply:
        """The public key with which certificates are verified."""
        return await self._send("signing_key", ask.GetSigningKey(), SigningKeyReply)

    async def must_keep(
        self, tools: Iterable[str | Mapping[str, Any]], *, agent: str | None = None
    ) -> KeepReply:
        """The fewest records that a compaction must keep, so that no call of `tools` is in danger after it.

        A tool is a name, or a mapping with `name` and `input_schema`. `agent` is for operators and auditors.
        """
        return await self._send("keep", ask.Keep(tools=tools_of(tools), agent=agent), KeepReply)

    async def repair(
        self, kept: Iterable[str], tools: Iterable[str | Mapping[str, Any]], *, agent: str | None = None
    ) -> KeepReply:
        """`kept`, and what must be kept beside it, so that no call of `tools` is in danger afterwards."""
        message = ask.Keep(tools=tools_of(tools), kept=listed(kept), agent=agent)
        return await self._send("keep", message, KeepReply)
