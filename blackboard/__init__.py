"""An event-sourced blackboard that remembers what each agent has seen and still holds.

`connect` and `connect_sync` open a board, embedded or over HTTP; what their methods answer and raise is named
here too. Names are imported when they are first used: `import blackboard` alone loads nothing else, and any
module may ask for `__version__` without depending on the others. Type checkers read `__init__.pyi`.
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = [
    "Ack",
    "AckEntry",
    "AgentReadOnly",
    "AgentReply",
    "AgentsReply",
    "BasisMoved",
    "BeyondHead",
    "BlackboardError",
    "Board",
    "BoardReply",
    "BoardTooNew",
    "CompactReply",
    "CompletionUnverified",
    "Conflict",
    "Done",
    "Entry",
    "EventView",
    "EventsReply",
    "Grants",
    "Guarantee",
    "IdempotencyKeyReused",
    "IntegrityFailure",
    "LedgerReply",
    "Malformed",
    "Moved",
    "NotAllowed",
    "NotFound",
    "Notice",
    "OutcomeUnknown",
    "PayloadMismatch",
    "PolicyDiffers",
    "Proposal",
    "ProposalClosed",
    "ProposalsReply",
    "ProposeReply",
    "RaisedSignal",
    "RateLimited",
    "ReadReply",
    "Remedy",
    "RetryPolicy",
    "RevalidationRequired",
    "RevisionMissing",
    "RevisionNotAdvancing",
    "RevisionReused",
    "RevisionSkipped",
    "SayReply",
    "SchemaMismatch",
    "Settings",
    "SingleWriter",
    "Standing",
    "StoreBusy",
    "SyncBoard",
    "TooLarge",
    "TurnOutOfOrder",
    "Unauthenticated",
    "Unavailable",
    "UnknownAgent",
    "UnknownBoard",
    "UnknownProposal",
    "UnseenRevision",
    "Violation",
    "Write",
    "WriteRejected",
    "connect",
    "connect_sync",
]

_HOMES = {
    "Ack": "blackboard.messages.replies",
    "AckEntry": "blackboard.messages.replies",
    "AgentReply": "blackboard.messages.replies",
    "AgentsReply": "blackboard.messages.replies",
    "Board": "blackboard.client",
    "BoardReply": "blackboard.messages.replies",
    "CompactReply": "blackboard.messages.replies",
    "Done": "blackboard.messages.replies",
    "Entry": "blackboard.messages.replies",
    "EventView": "blackboard.messages.replies",
    "EventsReply": "blackboard.messages.replies",
    "Grants": "blackboard.messages.principal",
    "Guarantee": "blackboard.messages.replies",
    "LedgerReply": "blackboard.messages.replies",
    "Moved": "blackboard.messages.replies",
    "Notice": "blackboard.messages.replies",
    "Proposal": "blackboard.messages.replies",
    "ProposalsReply": "blackboard.messages.replies",
    "ProposeReply": "blackboard.messages.replies",
    "RaisedSignal": "blackboard.messages.replies",
    "ReadReply": "blackboard.messages.replies",
    "Remedy": "blackboard.events.kinds",
    "RetryPolicy": "blackboard.client.retry",
    "SayReply": "blackboard.messages.replies",
    "Settings": "blackboard.config",
    "Standing": "blackboard.messages.replies",
    "SyncBoard": "blackboard.client",
    "Violation": "blackboard.events.kinds",
    "Write": "blackboard.messages.commands",
    "connect": "blackboard.client",
    "connect_sync": "blackboard.client",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES.get(name, "blackboard.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
