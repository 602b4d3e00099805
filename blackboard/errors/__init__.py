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

from blackboard.errors.base import BlackboardError, shorten
from blackboard.errors.failures import (
    BoardTooNew,
    IntegrityFailure,
    OutcomeUnknown,
    SchemaMismatch,
    StoreBusy,
    Unavailable,
)
from blackboard.errors.refusals import (
    ActionBlocked,
    AgentReadOnly,
    BasisMoved,
    BeyondHead,
    CompletionUnverified,
    Conflict,
    FormatTooLow,
    PolicyDiffers,
    ProposalClosed,
    RateLimited,
    RevalidationRequired,
    RevisionNotAdvancing,
    RevisionReused,
    RevisionSkipped,
    SingleWriter,
    UnseenRevision,
    WriteRejected,
)
from blackboard.errors.requests import (
    IdempotencyKeyReused,
    Malformed,
    NotAllowed,
    NotFound,
    PayloadMismatch,
    RevisionMissing,
    TooLarge,
    TurnOutOfOrder,
    Unauthenticated,
    UnknownAgent,
    UnknownBoard,
    UnknownCertificate,
    UnknownProposal,
)

__all__ = [
    "ERRORS_BY_CODE",
    "ActionBlocked",
    "AgentReadOnly",
    "BasisMoved",
    "BeyondHead",
    "BlackboardError",
    "BoardTooNew",
    "CompletionUnverified",
    "Conflict",
    "FormatTooLow",
    "IdempotencyKeyReused",
    "IntegrityFailure",
    "Malformed",
    "NotAllowed",
    "NotFound",
    "OutcomeUnknown",
    "PayloadMismatch",
    "PolicyDiffers",
    "ProposalClosed",
    "RateLimited",
    "RevalidationRequired",
    "RevisionMissing",
    "RevisionNotAdvancing",
    "RevisionReused",
    "RevisionSkipped",
    "SchemaMismatch",
    "SingleWriter",
    "StoreBusy",
    "TooLarge",
    "TurnOutOfOrder",
    "Unauthenticated",
    "Unavailable",
    "UnknownAgent",
    "UnknownBoard",
    "UnknownCertificate",
    "UnknownProposal",
    "UnseenRevision",
    "WriteRejected",
    "shorten",
]


def _tree(root: type[BlackboardError]) -> dict[str, type[BlackboardError]]:
    found = {root.code: root}
    for child in root.__subclasses__():
        found |= _tree(child)
    return found


ERRORS_BY_CODE: dict[str, type[BlackboardError]] = _tree(BlackboardError)
"""Class by code: what a code on the wire or in the log stands for."""
