"""What a verdict rests on: every record, what the actor holds of them, and the ledger on both sides."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Protocol

from blackboard.records import Holding, Records


class LedgerValue(NamedTuple):
    """A ledger entry as one side knows it: an exact JSON value, its revision and the seq that wrote it."""

    value: Any
    revision: int
    seq: int


class LedgerView(Protocol):
    """The ledger as facts. None where that side has no value: absent, deleted, or not held any more."""

    def current(self, key: str) -> LedgerValue | None:
        """The authoritative entry."""

    def held(self, key: str) -> LedgerValue | None:
        """The entry that the actor's view holds, which may be an older one."""

    def is_current(self, key: str) -> bool:
        """Whether the view holds the current revision (of an absent key: its absence)."""

    def delivered(self, key: str) -> bool:
        """Whether the actor was ever shown the current revision and has lost it since."""


class _NoLedger:
    def current(self, _key: str) -> None:
        return None

    def held(self, _key: str) -> None:
        return None

    def is_current(self, _key: str) -> bool:
        return True

    def delivered(self, _key: str) -> bool:
        return False


NO_LEDGER: Final[LedgerView] = _NoLedger()
"""The ledger of a file of records: every key is absent, on both sides."""


class World(NamedTuple):
    """One actor in front of one set of records.

    `head` is the seq up to which the records reach: a record with `expires_seq` lives while head is below
    it. `actor` is who acts; None: not known, approvals count whoever gave them.
    """

    records: Records
    holding: Holding
    head: int
    actor: str | None = None
    ledger: LedgerView = NO_LEDGER
