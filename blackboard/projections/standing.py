"""Standing: whether an agent may be believed to hold what it once read.

Source: "Standing" of the write gate's design; seed 1, condition of validity (c).
"""

from __future__ import annotations

from msgspec import Struct

from blackboard.messages.replies import StandingState
from blackboard.projections.ledger import Entry, Ledger
from blackboard.projections.view import View


class Demotion(Struct):
    """One agent's standing, and what it owes.

    `compacted_at` and `suspected_at` are the seqs of the latest compaction and suspicion that still
    stand (0: none); `latest` the seq of the latest demotion, restored or not, and `why` its words.
    `owed` counts the live keys of `prefix` still to be served; `served` is whether any read was served since.
    """

    compacted_at: int = 0
    suspected_at: int = 0
    latest: int = 0
    why: str = ""
    prefix: str = ""
    owed: int = 0
    served: bool = False

    @property
    def state(self) -> StandingState:
        """`compacted` shows over `suspected`."""
        if self.compacted_at:
            return "compacted"
        return "suspected" if self.suspected_at else "active"

    @property
    def stands(self) -> bool:
        """Whether the agent is demoted."""
        return self.compacted_at > 0 or self.suspected_at > 0

    @property
    def since(self) -> int | None:
        """The seq of the demotion that shows; None while active."""
        return self.compacted_at or self.suspected_at or None

    def demote(self, ledger: Ledger, seq: int, why: str, *, suspected: bool) -> None:
        """A demotion at `seq`: everything live is owed anew."""
        if suspected:
            self.suspected_at = seq
        else:
            self.compacted_at = seq
        self.latest, self.why, self.served = seq, why, False
        self.owed = ledger.live_under(self.prefix)

    def owes(self, view: View, entry: Entry) -> bool:
        """Whether the live `entry` is one of the keys still owed."""
        return (
            self.stands
            and not entry.deleted
            and entry.born < self.latest
            and entry.key.startswith(self.prefix)
            and view.last_read(entry.key) < self.latest
        )

    def rebound(self, ledger: Ledger, view: View, prefix: str) -> None:
        """Another prefix bounds the re-read: count again what is owed under it."""
        self.prefix = prefix
        if self.stands:
            self.owed = sum(self.owes(view, entry) for entry in ledger.under(prefix))

    def restore(self) -> bool:
        """End the demotion if nothing is owed and something was served; return whether it ended."""
        if not self.stands or self.owed > 0 or not self.served:
            return False
        self.compacted_at = self.suspected_at = 0
        return True
