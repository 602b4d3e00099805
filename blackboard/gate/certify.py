"""Certificates of a board: what a check would say of every call of a tool, until something changes.

A certificate is bound to the version of its agent's view and to the tool's clock, so that whether it still
speaks is found out by comparing two numbers. The document is made here and signed by whoever holds the key.
Source: "Compaction certificate" of the action gate's design.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from blackboard import canonical
from blackboard.errors import UnknownCertificate
from blackboard.events import kinds
from blackboard.gate.actions.certificate import LANGUAGE, certificate, certificate_digest
from blackboard.gate.case import Fetched
from blackboard.gate.decision import Asked, Decision
from blackboard.gate.formats import check_format
from blackboard.gate.sight import compiled_for
from blackboard.messages import commands as ask
from blackboard.messages.verdicts import CertificateReply, CertificateValidReply
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.certificates import Issued

_HELD = b"blackboard/held/1\0"


def decide_certificate(asked: Asked, command: ask.IssueCertificate) -> Decision:
    """Issue a certificate for what the agent holds now. The reply has the document unsigned."""
    board, agent = asked.board, asked.agent
    check_format(board, "certificates")
    compiled = compiled_for(board, agent, command.tool, asked.fetched)
    issued = kinds.CertificateIssued(
        agent=agent.id,
        tool=command.tool,
        as_of=board.head,
        view=agent.view_version,
        clock=board.records.clock(command.tool),
        digest="",
        language=LANGUAGE,
        full=board.recorded.hex(),
        held=held_digest(agent),
        valid_until_seq=compiled.valid_until,
    )
    document = _document(board, agent, issued, asked.fetched)
    digest = certificate_digest(document)
    reply = CertificateReply(id=f"certificate:{asked.next_seq}", certificate=document, digest=digest)
    return asked.decide([replace(issued, digest=digest)], reply)


def held_digest(agent: AgentState) -> str:
    """Hex SHA-256 over which records the agent holds, by their places in the log (see `Holding.bits`).

    What lies at those places is bound by the digest of the full set, which stands beside it.
    """
    return canonical.digest(_HELD, agent.holding.bits()).hex()


def _document(
    board: Board, agent: AgentState, issued: kinds.CertificateIssued, fetched: Fetched
) -> dict[str, Any]:
    compiled = compiled_for(board, agent, issued.tool, fetched)
    return certificate(
        compiled._replace(head=issued.as_of),
        full=issued.full,
        held=issued.held,
        board=board.name,
        agent=issued.agent,
        view=issued.view,
        clock=issued.clock,
        unseen=board.policy.unseen,
    )


def issued_before(
    board: Board, issued: kinds.CertificateIssued, seq: int, fetched: Fetched
) -> CertificateReply:
    """The answer to a command that is repeated: the document again, unless it has ended."""
    identity = f"certificate:{seq}"
    found = board.certificates.find(identity)
    assert found is not None
    why = ended(board, found)
    document = None if why else _document(board, board.agents[issued.agent], issued, fetched)
    return CertificateReply(id=identity, certificate=document, digest=issued.digest, ended=why)


def certificate_valid(board: Board, query: ask.CertificateValid, *, head: int) -> CertificateValidReply:
    """Whether a certificate still speaks at `head`. Raises `UnknownCertificate`, `FormatTooLow`."""
    check_format(board, "certificates")
    found = board.certificates.find(query.certificate)
    if found is None:
        raise UnknownCertificate(
            f"no certificate {query.certificate!r} was issued on board {board.name!r}",
            members={"value": query.certificate},
        )
    why = ended(board, found)
    return CertificateValidReply(
        id=query.certificate,
        valid=not why,
        head=head,
        agent=found.basis.agent,
        tool=found.basis.tool,
        as_of=found.as_of,
        valid_until_seq=found.valid_until_seq,
        ended=why,
    )


def ended(board: Board, issued: Issued) -> list[str]:
    """What has ended a certificate, in words; nothing of it ever comes back."""
    why, basis = [], issued.basis
    agent = board.agents.get(basis.agent)
    view, clock = agent.view_version if agent is not None else 0, board.records.clock(basis.tool)
    if not issued.stands:
        why.append(f"what it rests on had changed by certificate:{basis.first}, for the same agent and tool")
    elif view != basis.view:
        why.append(f"the view of {basis.agent!r} changed, last in event {view}")
    if issued.stands and clock != basis.clock:
        why.append(f"something was added that bears on {basis.tool!r}, last in event {clock}")
    if issued.valid_until_seq is not None and board.head >= issued.valid_until_seq:
        why.append(f"a record that it rests on expired at seq {issued.valid_until_seq}")
    if board.unseen_since > issued.as_of:
        why.append(f"what records do that were never delivered changed in event {board.unseen_since}")
    if issued.stands and basis.language != LANGUAGE:
        why.append(f"its language is version {basis.language}, and this release speaks {LANGUAGE}")
    return why
