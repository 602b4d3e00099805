"""What an agent sees of its board, as the action gate takes it: records, and the ledger as facts.

The write gate and the action gate share one notion of newest: an entry is held where the view says so.
"""

from __future__ import annotations

from typing import Any, Final

from blackboard.canonical import parse_exact
from blackboard.events.kinds import EntryWritten
from blackboard.gate.actions.compiling import Compiled, compile_tool
from blackboard.gate.actions.world import LedgerValue, World
from blackboard.gate.case import Fetched, Need
from blackboard.projections.agent import AgentState
from blackboard.projections.board import Board
from blackboard.projections.ledger import Ledger
from blackboard.projections.view import View

_MOST_REMEMBERED: Final = 256
"""For how many pairs of an agent and a tool a board remembers the compiled rules."""


class BoardLedger:
    """The ledger on both sides. A held entry that is not the current one is among the `fetched` rows.

    It knows nothing of the board, which remembers what is made of it: that would be a cycle.
    """

    __slots__ = ("_fetched", "_ledger", "_view")

    def __init__(self, ledger: Ledger, view: View, fetched: Fetched) -> None:
        self._ledger = ledger
        self._view = view
        self._fetched = fetched

    def current(self, key: str) -> LedgerValue | None:
        """The entry as it stands; None where it is absent or deleted."""
        entry = self._ledger.entries.get(key)
        if entry is None or entry.deleted:
            return None
        return LedgerValue(_value(entry.value), entry.revision, entry.seq)

    def held(self, key: str) -> LedgerValue | None:
        """The entry as the view holds it; None where it holds none, or its absence."""
        if self._view.observed(key) <= self._view.base:
            return None
        need = outdated(self._ledger, self._view.observed(key), key)
        if need is None:
            return self.current(key)
        event = self._fetched.get(need)
        if event is None or not isinstance(event.body, EntryWritten) or event.body.deleted:
            return None
        assert event.revision is not None
        return LedgerValue(_value(event.body.value), event.revision, event.seq)

    def is_current(self, key: str) -> bool:
        """Whether both sides know the same revision, or both no value."""
        if self._view.holds(key, self._ledger.entries.get(key)):
            return True
        return self.current(key) is None and self.held(key) is None

    def delivered(self, key: str) -> bool:
        """Whether the current revision was observed, and a compaction has taken it."""
        entry, seen = self._ledger.entries.get(key), self._view.observed(key)
        return entry is not None and entry.seq <= seen <= self._view.base


def _value(raw: Any) -> Any:
    return parse_exact(bytes(raw))


def outdated(ledger: Ledger, seen: int, key: str) -> Need | None:
    """The row of the entry that was current when it was seen; None where that is the current one."""
    entry = ledger.entries.get(key)
    return Need(key, as_of=seen) if entry is not None and seen < entry.seq else None


def world_of(board: Board, agent: AgentState, fetched: Fetched) -> World:
    """The board in front of the action gate, with this agent acting."""
    ledger = BoardLedger(board.ledger, agent.view, fetched)
    return World(board.records, agent.holding, board.head, f"agent:{agent.id}", ledger)


def compiled_for(board: Board, agent: AgentState, tool: str, fetched: Fetched) -> Compiled:
    """The rules of a tool for what the agent holds now: remembered, or compiled anew.

    What was compiled stands until the agent's view or something that bears on the tool changes, or a record
    expires. It is kept with the board, outside the state, and answers as if it were compiled anew.
    """
    found = _remembered(board, agent, tool)
    if found is not None:
        return found
    compiled = compile_tool(world_of(board, agent, fetched), tool)
    memory = board.remembered
    memory.pop((agent.id, tool), None)
    if len(memory) >= _MOST_REMEMBERED:
        del memory[next(iter(memory))]
    memory[agent.id, tool] = (agent.gate_version, board.records.clock(tool), compiled)
    return compiled


def _remembered(board: Board, agent: AgentState, tool: str) -> Compiled | None:
    found = board.remembered.get((agent.id, tool))
    if found is None:
        return None
    version, clock, compiled = found
    until = compiled.valid_until
    stands = version == agent.gate_version and clock == board.records.clock(tool)
    return compiled if stands and (until is None or board.head < until) else None


def compile_needs(board: Board, agent: AgentState, tool: str) -> list[Need]:
    """The rows of outdated entries that the rules of the tool read in what the agent holds."""
    records, view = board.records, agent.view
    if not records.ledger_keys or _remembered(board, agent, tool) is not None:
        return []
    atoms = (atom for rule in records.rules_for(tool) for atom in rule.atoms)
    keys = sorted({atom.field for atom in atoms if atom.source == "ledger"})
    seen = ((key, view.observed(key)) for key in keys)
    found = (outdated(board.ledger, at, key) for key, at in seen if at > view.base)
    return [need for need in found if need is not None]
