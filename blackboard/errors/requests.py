"""The request is not one that is answered: malformed, not allowed, or about what is not there."""

from __future__ import annotations

from typing import Any

from blackboard.errors.base import BlackboardError, shorten


class Malformed(BlackboardError):
    """The request is not one that the board understands; nothing was stored.

    `member` names the member at fault as a JSON Pointer (or a header or parameter by its name),
    `limit` the limit that it breaks, `value` the offending value (shown shortened).
    """

    code = "malformed"
    status = 422

    def __init__(
        self,
        detail: str,
        *,
        member: str | None = None,
        limit: Any = None,
        value: Any = None,
        members: dict[str, Any] | None = None,
        reply: Any = None,
    ) -> None:
        named = dict(members or {})
        if member is not None:
            named["member"] = member
        if limit is not None:
            named["limit"] = limit
        if value is not None:
            named["value"] = value if isinstance(value, (int, bool)) else shorten(value)
        super().__init__(detail, members=named, reply=reply)

    @property
    def member(self) -> str | None:
        """The member at fault."""
        return self.members.get("member")

    @property
    def limit(self) -> Any:
        """The limit that was broken."""
        return self.members.get("limit")


class RevisionMissing(Malformed):
    """A write names no revision. The attempt is logged: it is a signal of its own."""

    code = "revision-missing"


class PayloadMismatch(Malformed):
    """The payload hash sent along is not the hash of what arrived: damaged on the way."""

    code = "payload-hash-mismatch"


class IdempotencyKeyReused(Malformed):
    """This actor has used this idempotency key for another command."""

    code = "idempotency-key-reused"


class TurnOutOfOrder(Malformed):
    """The turn number is below the agent's latest, or that turn has ended."""

    code = "turn-out-of-order"


class TooLarge(Malformed):
    """A size limit is broken; `limit` and `member` name it."""

    code = "too-large"
    status = 413


class NotAllowed(BlackboardError):
    """The credential does not permit this."""

    code = "not-allowed"
    status = 403
    exit_code = 4


class Unauthenticated(NotAllowed):
    """No credential, or one that is unknown, expired or revoked."""

    code = "unauthenticated"
    status = 401


class NotFound(BlackboardError):
    """There is no such thing."""

    code = "not-found"
    status = 404


class UnknownBoard(NotFound):
    """There is no such board, or the credential does not reach it: the two look alike."""

    code = "unknown-board"
    exit_code = 4


class UnknownProposal(NotFound):
    """There is no such proposal on this board."""

    code = "unknown-proposal"


class UnknownCertificate(NotFound):
    """No certificate with this id was issued on this board."""

    code = "unknown-certificate"


class UnknownAgent(NotFound):
    """No event on this board concerns that agent."""

    code = "unknown-agent"
