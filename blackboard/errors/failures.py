"""It cannot be answered now, or not be trusted."""

from __future__ import annotations

from blackboard.errors.base import BlackboardError


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
