"""What rules and signals look at: one write of one command, beside everything that bears on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from blackboard.events.envelope import Event
from blackboard.events.kinds import EntryWritten, Violation
from blackboard.events.policy import Policy
from blackboard.messages.prepare import PreparedWrite
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.ledger import Entry
from blackboard.projections.status import Class, classify, status_of, status_of_raw


class Need(NamedTuple):
    """A row that a decision asks for.

    The entry of `key` at `revision`, or the newest one at or before `as_of`; or, whatever it is, the event at
    `seq`.
    """

    key: str = ""
    revision: int | None = None
    as_of: int | None = None
    seq: int | None = None


Fetched = Mapping[Need, Event | None]


class Case:
    """One write, judged by `agent` on `board`.

    `entry` is the key's current entry (a tombstone counts), `current` its revision, 0 where the key was
    never written; `new_status` and `new_class` are those of the value that is to be written. `fetched` are
    the rows that `needs` named.
    """

    __slots__ = (
        "agent",
        "board",
        "current",
        "entry",
        "fetched",
        "key",
        "new_class",
        "new_status",
        "policy",
        "revision",
        "write",
    )

    def __init__(
        self, board: Board, agent: AgentState, write: PreparedWrite, fetched: Fetched, revision: int
    ) -> None:
        self.board = board
        self.policy: Policy = board.policy
        self.agent = agent
        self.write = write
        self.fetched = fetched
        self.key = write.key
        self.revision = revision
        self.entry: Entry | None = board.ledger.entries.get(write.key)
        self.current = 0 if self.entry is None else self.entry.revision
        # A deletion has no status.
        self.new_status = None if write.deleted else status_of(write.value, self.policy.status_pointer)
        self.new_class: Class | None = classify(self.new_status, self.policy)

    def violation(self, code: str, detail: str, **evidence: object) -> Violation:
        """A violation of this write; evidence members that are None are left out."""
        shown = {name: value for name, value in evidence.items() if value is not None}
        return Violation(code=code, key=self.key, detail=detail, evidence=shown)

    def earlier(self, revision: int) -> Event | None:
        """The accepted write of exactly this revision, from the rows fetched."""
        return self.fetched.get(Need(self.key, revision=revision))

    def held_revision(self) -> int | None:
        """The revision that the agent last observed, whether its view still holds it or not.

        None where it never observed the key.
        """
        seen = self.agent.view.observed(self.key)
        if not seen:
            return None
        if self.entry is None or seen >= self.entry.seq:
            return self.current
        found = self.fetched.get(Need(self.key, as_of=seen))
        return 0 if found is None else found.revision


Rule = Callable[[Case], Violation | None]


def status_of_entry(entry: Entry | None, policy: Policy) -> str | None:
    """The status of an entry; a tombstone keeps the last one."""
    if entry is None:
        return None
    return entry.last_status if entry.deleted else status_of_raw(entry.value, policy.status_pointer)


def entry_payload(event: Event | None) -> tuple[str, EntryWritten] | None:
    """Writer and body of a fetched `entry.written`; None for a redacted or absent one."""
    if event is None or not isinstance(event.body, EntryWritten):
        return None
    return event.actor.removeprefix("agent:"), event.body
