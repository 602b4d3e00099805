"""A board whose agent was compacted, in front of the gate: the rulebook's history as a log, and checks."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

from msgspec import Raw

from benchmarks.harness import Clock, Sample
from benchmarks.logs import BOARD, principal
from benchmarks.rulebook import AGENT, history, kept
from benchmarks.stores import NullStore, settings
from blackboard import canonical
from blackboard.events import kinds
from blackboard.events.envelope import Event, Tip
from blackboard.gate.actions.action import Action
from blackboard.gate.decide import decide
from blackboard.gate.decision import Decision
from blackboard.gate.govern import opening
from blackboard.messages import commands as ask
from blackboard.messages.prepare import Prepared, prepare
from blackboard.messages.principal import Call
from blackboard.messages.replies import Reply
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve
from blackboard.service import Service

PAGE = 500
TOGETHER = 32


def compacted_board(count: int, rule_count: int) -> Board:
    """A board with so many records, all of which the agent read before a compaction took most of them."""
    board, actor = Board(), f"agent:{AGENT}"
    for seq, (who, body) in enumerate(_bodies(count, rule_count, actor), 1):
        evolve(board, Event(seq, who, f"~bench{seq:010x}", first=True, body=body))
    return board


def _bodies(count: int, rule_count: int, actor: str) -> Iterator[tuple[str, kinds.EventBody]]:
    records = history(count, rule_count)
    yield "operator", opening(BOARD)
    for record in records:
        text = canonical.encode({name: value for name, value in record.items() if name != "seq"})
        yield "operator", kinds.RecordAdded(record=Raw(text))
    for at in range(0, count, PAGE):
        yield actor, kinds.BoardRead(records=[record["id"] for record in records[at : at + PAGE]])
    read = 1 + count + -(-count // PAGE)
    yield actor, kinds.AgentCompacted(agents=[AGENT], base_seq=read, kept=kept(records, rule_count))


def check(action: Action) -> ask.Check:
    """The agent's question about one action."""
    return ask.Check(tool=action.tool, params=action.params)


class Judge:
    """The pure gate alone: nothing of what it decides is folded, so that the board stays as it is."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._principal = principal(0)

    def decide(self, one: Prepared) -> Decision:
        """One prepared check, decided."""
        return decide(self._board, BOARD, self._principal, one, {})

    def prepared(self, actions: list[Action], word: str) -> list[Prepared]:
        """Checks of these actions, made ready. Raises unless their verdict is `word`."""
        found = [prepare(check(action), agent=AGENT) for action in actions]
        for one in found:
            body = self.decide(one).drafts[-1].body
            if not isinstance(body, kinds.ActionChecked) or body.verdict != word:
                raise RuntimeError(f"{one.command} should {word}; it gives {body}")
        return found


class Checks:
    """The whole path in memory, from the message to the reply, `TOGETHER` at once as in the `growth` rows."""

    def __init__(self, board: Board, actions: list[Action]) -> None:
        tip = Tip(board.head, bytes(32), 0)
        self._service = Service(NullStore(board, tip), settings("memory://nothing"))
        self._principal = principal(0)
        self._checks = itertools.cycle([check(action) for action in actions])
        self._head = board.head

    async def checks(self, count: int) -> Sample:
        """So many checks."""
        with Clock() as clock:
            for _ in range(0, count, TOGETHER):
                waiting = [self._submit(next(self._checks)) for _ in range(TOGETHER)]
                for future in waiting:
                    self._head = (await future).head
        return clock.sample(-(-count // TOGETHER) * TOGETHER)

    def _submit(self, command: ask.Check) -> asyncio.Future[Reply]:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._service.submit(BOARD, self._principal, command, Call(seen=self._head), future)
        return future
