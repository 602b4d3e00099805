"""Everything that the board remembers of one agent."""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from blackboard.events.policy import MAX_WINDOW, Effect
from blackboard.projections.breadth import Breadth
from blackboard.projections.standing import Demotion
from blackboard.projections.view import View
from blackboard.records import Holding
from blackboard.records.verdict import VerdictWord

LAST = 16
"""How many rejections, signals and verdicts are kept one by one; all are counted."""


class Refused(Struct, frozen=True, gc=False, array_like=True):
    """One rejection, as remembered."""

    seq: int
    code: str
    keys: list[str]


class Raised(Struct, frozen=True, gc=False, array_like=True):
    """One signal, as remembered."""

    seq: int
    signal: str
    effect: Effect
    evidence: list[int]


class Checked(Struct, frozen=True, gc=False, array_like=True):
    """One verdict, as remembered; `codes` are those of its reasons."""

    seq: int
    tool: str
    verdict: VerdictWord
    codes: list[str]


class Counts(Struct):
    """What an agent did and what its protection cost.

    `reads` are keys served to it, `rereads` those among them that were owed to a demotion.
    """

    commands: int = 0
    reads: int = 0
    rereads: int = 0
    writes: int = 0
    compactions: int = 0
    messages: int = 0


class AgentState:
    """One agent, folded.

    `recent` are the first seqs of its last commands that appended events (pages of one full read count
    once); `citations` its last messages as (seq, identifiers cited); `confidence` its last assertion per
    key as (value, seq); `habits` per key a bit string (after a leading 1) of whether it read before each of
    its accepted writes; `proposals` the proposals that it was served, as id -> seq; `holding` the records
    that it was delivered and still has.

    `view_version` is the seq of the last event that changed its view, `gate_version` that of the last one
    that can change a verdict on it (own writes aside, which the clocks of tools tell).
    """

    __slots__ = (
        "breadth",
        "checked",
        "citations",
        "confidence",
        "counts",
        "demotion",
        "gate_version",
        "habits",
        "holding",
        "id",
        "joined",
        "proposals",
        "raised",
        "recent",
        "refusals",
        "refused",
        "signals",
        "verdicts",
        "view",
        "view_version",
    )

    def __init__(self, agent: str) -> None:
        self.id = agent
        self.joined = False
        self.view = View()
        self.demotion = Demotion()
        self.breadth = Breadth()
        self.counts = Counts()
        self.recent: deque[int] = deque(maxlen=MAX_WINDOW)
        self.citations: deque[tuple[int, int]] = deque(maxlen=MAX_WINDOW)
        self.confidence: dict[str, tuple[float, int]] = {}
        self.habits: dict[str, int] = {}
        self.proposals: dict[str, int] = {}
        self.refusals: dict[str, int] = {}
        self.refused: deque[Refused] = deque(maxlen=LAST)
        self.signals: dict[str, int] = {}
        self.raised: deque[Raised] = deque(maxlen=LAST)
        self.holding = Holding()
        self.view_version = 0
        self.gate_version = 0
        self.verdicts: dict[str, int] = {}
        self.checked: deque[Checked] = deque(maxlen=LAST)

    def window_start(self, window: int) -> int:
        """The first seq of its `window`-th last command; 0 where there were fewer."""
        return self.recent[-window] if len(self.recent) >= window else 0

    def holds_proposal(self, proposal: str) -> bool:
        """Whether it was served this proposal and no compaction took it out."""
        return self.proposals.get(proposal, 0) > self.view.base

    def habit(self, key: str, window: int) -> tuple[int, int]:
        """Of its last `window` accepted writes of the key, those after a read; and how many there are."""
        bits = self.habits.get(key, 1)
        count = min(bits.bit_length() - 1, window)
        return (bits & ((1 << count) - 1)).bit_count(), count

    def note_habit(self, key: str, *, read_before: bool) -> None:
        """Remember whether this accepted write followed a served read."""
        bits = self.habits.get(key, 1) << 1 | read_before
        if bits.bit_length() > MAX_WINDOW + 1:
            bits = bits & ((1 << MAX_WINDOW) - 1) | 1 << MAX_WINDOW
        self.habits[key] = bits
