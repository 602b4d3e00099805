"""Every error that this package raises, in one tree.

Class                          code                       HTTP  exit
-----------------------------  -------------------------  ----  ----
BlackboardError
├── Malformed                  malformed                  422   2
│   ├── RevisionMissing        revision-missing           422   2
│   ├── PayloadMismatch        payload-hash-mismatch      422   2
│   ├── IdempotencyKeyReused   idempotency-key-reused     422   2
│   └── TurnOutOfOrder         turn-out-of-order          422   2
├── TooLarge                   too-large                  413   2
├── WriteRejected              (one of the rules)         409   3
│   ├── RevisionReused         revision-reused
│   ├── SingleWriter           single-writer
│   ├── AgentReadOnly          agent-read-only
│   ├── RevalidationRequired   revalidation-required
│   ├── RevisionNotAdvancing   revision-not-advancing
│   ├── RevisionSkipped        revision-skipped
│   ├── UnseenRevision         unseen-revision
│   ├── CompletionUnverified   completion-unverified
│   └── BasisMoved             basis-moved
├── Conflict                   conflict                   409   3
│   ├── PolicyDiffers          policy-differs             409   3
│   ├── ProposalClosed         proposal-closed            409   3
│   ├── FormatTooLow           format-too-low             409   3
│   └── BeyondHead             beyond-head                409   2
├── ActionBlocked              action-blocked             409   3
├── NotAllowed                 not-allowed                403   4
│   └── Unauthenticated        unauthenticated            401   4
├── NotFound                   not-found                  404   2
│   ├── UnknownBoard           unknown-board              404   4
│   ├── UnknownProposal        unknown-proposal           404   2
│   ├── UnknownCertificate     unknown-certificate        404   2
│   └── UnknownAgent           unknown-agent              404   2
├── RateLimited                rate-limited               429   6
├── IntegrityFailure           integrity-failure          503   5
└── Unavailable                unavailable                503   6
    ├── StoreBusy              store-busy                 503   6
    ├── BoardTooNew            board-too-new              503   6
    ├── SchemaMismatch         schema-mismatch            503   6
    └── OutcomeUnknown         outcome-unknown            503   6

A caller can tell what to do from the class alone: `Malformed` means "correct the request",
`WriteRejected` "read again, then decide again", `OutcomeUnknown` "send the same command with
the same idempotency key".
"""

from __future__ import annotations

from typing import Any, ClassVar

_SHOWN = 80


def shorten(value: object) -> str:
    """Return `repr(value)`, cut to a length that fits in a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class BlackboardError(Exception):
    """Base of the tree.

    `code` is stable and goes over the wire; `detail` says what is wrong, with which value, and
    what to do next; `members` are the further members of the problem document (JSON values or
    structs). An error after which something was logged also carries `reply`, the members that
    every reply has (`seq`, `head`, `standing`, `notices`, `moved`, `signals`, `guarantee`); they
    can be read as attributes of the error.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 2

    def __init__(self, detail: str, *, members: dict[str, Any] | None = None, reply: Any = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.members: dict[str, Any] = members if members is not None else {}
        self.reply = reply

    @property
    def seq(self) -> int | None:
        """The last event that this attempt left in the log, if it left one."""
        return getattr(self.reply, "seq", None)

    @property
    def head(self) -> int | None:
        """The board's head when this error was answered, where it is known."""
        return getattr(self.reply, "head", None)

    @property
    def standing(self) -> Any:
        """The caller's standing when this error was answered, where it is known."""
        return getattr(self.reply, "standing", None)

    @property
    def notices(self) -> tuple[Any, ...]:
        """What peers did that the caller has not heard of."""
        return tuple(getattr(self.reply, "notices", ()))

    @property
    def moved(self) -> tuple[Any, ...]:
        """Keys that the caller holds and a peer has advanced."""
        return tuple(getattr(self.reply, "moved", ()))

    @property
    def signals(self) -> tuple[Any, ...]:
        """Signals that this attempt raised."""
        return tuple(getattr(self.reply, "signals", ()))

    @property
    def guarantee(self) -> Any:
        """Which legs of the guarantee the board's policy has switched off."""
        return getattr(self.reply, "guarantee", None)


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


class WriteRejected(BlackboardError):
    """The write gate refused. Nothing changed except the log.

    `rules` lists every violated rule (`code`, `key`, `evidence`, `detail`), `evidence` is that of the
    first, `remedy` names the `keys` and `records` to read again and says what to do.
    """

    code = "write-rejected"
    status = 409
    exit_code = 3

    @property
    def rules(self) -> tuple[Any, ...]:
        """Every violated rule, in table order within each write."""
        return tuple(self.members.get("rules", ()))

    @property
    def evidence(self) -> Any:
        """The evidence of the first violated rule."""
        return self.members.get("evidence")

    @property
    def remedy(self) -> Any:
        """What to read again before the next attempt."""
        return self.members.get("remedy")


class RevisionReused(WriteRejected):
    """The agent has written this revision of this key with another payload."""

    code = "revision-reused"


class SingleWriter(WriteRejected):
    """The board is in single-writer mode and the writer does not hold the pen."""

    code = "single-writer"


class AgentReadOnly(WriteRejected):
    """The agent is demoted and the policy makes a demoted agent read-only."""

    code = "agent-read-only"


class RevalidationRequired(WriteRejected):
    """The agent is demoted and has not read again what it is about to change."""

    code = "revalidation-required"


class RevisionNotAdvancing(WriteRejected):
    """The revision is not above the current one: the writer's model is stale."""

    code = "revision-not-advancing"


class RevisionSkipped(WriteRejected):
    """The revision leaves a gap that the policy does not allow."""

    code = "revision-skipped"


class UnseenRevision(WriteRejected):
    """The agent does not hold the current revision of what it is about to replace."""

    code = "unseen-revision"


class CompletionUnverified(WriteRejected):
    """Finishing something unfinished needs a fresh read of it."""

    code = "completion-unverified"


class BasisMoved(WriteRejected):
    """What the decision rests on has moved, or the agent does not hold it."""

    code = "basis-moved"


class Conflict(BlackboardError):
    """The request contradicts the state of the board."""

    code = "conflict"
    status = 409
    exit_code = 3


class PolicyDiffers(Conflict):
    """The board exists and has another policy."""

    code = "policy-differs"


class ProposalClosed(Conflict):
    """The proposal was accepted or refused before."""

    code = "proposal-closed"


class FormatTooLow(Conflict):
    """The board's format does not have this yet; an operator raises it."""

    code = "format-too-low"


class BeyondHead(Conflict):
    """A sequence number above the head was asked for."""

    code = "beyond-head"
    exit_code = 2


class ActionBlocked(BlackboardError):
    """A guard did not let an action run: the verdict is not PASS, or the rules do not permit it.

    `verdict`, `reasons` and `policy` are those of the check; nothing was executed.
    """

    code = "action-blocked"
    status = 409
    exit_code = 3

    @property
    def verdict(self) -> Any:
        """PASS (then the rules forbid it), BLOCK or ERROR."""
        return self.members.get("verdict")

    @property
    def reasons(self) -> tuple[Any, ...]:
        """Why it was blocked, most important first."""
        return tuple(self.members.get("reasons", ()))

    @property
    def policy(self) -> Any:
        """What the rules say of the action, whatever the agent holds."""
        return self.members.get("policy")


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


class RateLimited(BlackboardError):
    """Too many refused writes in a short time; this one was not logged."""

    code = "rate-limited"
    status = 429
    exit_code = 6


class IntegrityFailure(BlackboardError):
    """Stored bytes do not fit their digests. Nothing is served from them."""

    code = "integrity-failure"
    status = 503
    exit_code = 5


class Unavailable(BlackboardError):
    """The store cannot answer now. Nothing was acknowledged."""

    code = "unavailable"
    status = 503
    exit_code = 6


class StoreBusy(Unavailable):
    """Another process owns the database file, or conflicts did not end in time."""

    code = "store-busy"


class BoardTooNew(Unavailable):
    """The board's format is above what this release can read."""

    code = "board-too-new"


class SchemaMismatch(Unavailable):
    """The database is at another schema revision than this release."""

    code = "schema-mismatch"


class OutcomeUnknown(Unavailable):
    """The command may or may not have been committed: send it again with the same idempotency key."""

    code = "outcome-unknown"


def _tree(root: type[BlackboardError]) -> dict[str, type[BlackboardError]]:
    found = {root.code: root}
    for child in root.__subclasses__():
        found |= _tree(child)
    return found


ERRORS_BY_CODE: dict[str, type[BlackboardError]] = _tree(BlackboardError)
"""Class by code: what a code on the wire or in the log stands for."""
