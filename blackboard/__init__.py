"""An event-sourced blackboard that remembers what each agent has seen and still holds.

`connect` and `connect_sync` open a board, embedded or over HTTP; what their methods answer and raise is named
here too. Names are imported when they are first used: `import blackboard` alone loads nothing else, and any
module may ask for `__version__` without depending on the others. Type checkers read `__init__.pyi`.
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = [
    "Ack",
    "AgentReadOnly",
    "BasisMoved",
    "BeyondHead",
    "BlackboardError",
    "BoardTooNew",
    "CompletionUnverified",
    "Conflict",
    "Entry",
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
    "UnknownProposal",
    "UnseenRevision",
    "Write",
    "WriteRejected",
    "connect",
    "connect_sync",
]

_HOMES = {
    "Ack": "blackboard.messages.replies",
    "Entry": "blackboard.messages.replies",
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
