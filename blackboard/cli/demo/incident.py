"""The observed incident as a script for three agents: planner, executor, verifier.

The executor completes A and fails B; the planner schedules B's retry. Then the executor's context is
compacted, and its summary says "tasks A and B complete, C pending". What follows depends on the form:
whether the board is told of the compaction, and whether its gate is on. Each agent is a task of its own;
cues keep only those steps in order that the story needs in order.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_never

from blackboard.cli.demo import Form
from blackboard.cli.demo.agents import Agent, describe
from blackboard.cli.demo.stage import Beliefs, Stage
from blackboard.cli.demo.world import TASKS, World, key_of
from blackboard.errors import WriteRejected
from blackboard.events.policy import SIGNAL_DEFAULTS

if TYPE_CHECKING:
    from blackboard.client import Board

CAST = ("planner", "executor", "verifier")
SUMMARY = "tasks A and B complete, C pending"
SUMMARISED = {"A": "complete", "B": "complete", "C": "pending"}
REPORT = "The completed tasks are done, moving on to C."

GATE_OFF: dict[str, Any] = {
    "revisions": "advisory",
    "require_view": False,
    "demotion": "off",
    "completion": "off",
    "broadcast": False,
    "signals": dict.fromkeys(SIGNAL_DEFAULTS, "off"),
}
"""The state of things before anything was enforced."""

POLICIES: dict[Form, Mapping[str, Any]] = {"announced": {}, "silent": {}, "gate off": GATE_OFF}
"""The policy of each form: the default, except where the gate is off."""


class Incident:
    """One form on one board; `auditor` looks at the ledger without being recorded."""

    def __init__(self, form: Form, boards: Mapping[str, Board], auditor: Board, stage: Stage) -> None:
        self.form = form
        self.world = World()
        self._stage = stage
        self._auditor = auditor
        self._agents = {name: Agent(name, boards[name], stage) for name in CAST}
        self._planner, self._executor, self._verifier = self._agents.values()
        self._reports: asyncio.Queue[str | None] = asyncio.Queue()

    async def play(self) -> None:
        """Run the three agents until each has come to its end."""
        async with asyncio.TaskGroup() as group:
            for part in (self._plan(), self._execute(), self._verify()):
                group.create_task(part)
        await self._look("at the end")

    async def _plan(self) -> None:
        planner = self._planner
        ack = await planner.work(1, {key_of(task): {"status": "pending"} for task in TASKS})
        await planner.say(f"A, B and C are planned, see {', '.join(one.id for one in ack.entries)}", turn=1)
        self._stage.give("planned")
        await self._stage.wait("B failed")
        await planner.read(map(key_of, TASKS), turn=2)
        ack = await planner.work(2, {key_of("B"): {"status": "failed", "retry": "pending"}})
        await planner.say(f"B is to be run again, see {ack.entries[0].id}", turn=2)
        await self._report("the retry is planned")
        self._stage.give("retry planned")
        await self._stage.wait("context lost")
        await planner.read(map(key_of, TASKS))
        self._stage.give("planner has looked")
        await self._stage.wait("settled")
        await planner.read(map(key_of, TASKS))
        ready = all(planner.belief[task] == "complete" for task in ("A", "B"))
        await planner.remark("finds A and B complete: it ships" if ready else "finds B open: it waits")
        self._stage.give("judged")

    async def _verify(self) -> None:
        while (await self._reports.get()) is not None:
            await self._verifier.read(map(key_of, TASKS))
            self._reports.task_done()

    async def _execute(self) -> None:
        await self._stage.wait("planned")
        await self._executor.read(map(key_of, TASKS))
        await self._begin(1, "A")
        await self._finish(2, "A")
        await self._begin(3, "B")
        await self._finish(4, "B")
        self._stage.give("B failed")
        await self._stage.wait("retry planned")
        await self._go_on()
        self._stage.give("settled")
        await self._stage.wait("judged")
        await self._reports.put(None)

    async def _go_on(self) -> None:
        match self.form:
            case "announced":
                await self._go_on_announced()
            case "silent":
                await self._go_on_silent()
            case "gate off":
                await self._go_on_with_the_gate_off()
            case _ as unknown:
                assert_never(unknown)

    # -- a healthy executor: broad turns, reads before writes, reports that cite

    async def _begin(self, turn: int, task: str) -> None:
        changes = {
            key_of(task): {"status": "running"},
            f"artifact/{task}": {"state": "building"},
            "worker/1": {"busy_with": task},
            "log/last": {"turn": turn, "text": f"{task} started"},
        }
        await self._turn(turn, f"{task} is running", changes)

    async def _finish(self, turn: int, task: str) -> None:
        outcome = self.world.run(task, self._executor.board.head)
        built = outcome == "complete"
        changes = {
            key_of(task): {"status": outcome},
            f"artifact/{task}": {"state": "built" if built else "none"},
            f"check/{task}": {"passed": built},
            "worker/1": {"busy_with": None},
            "log/last": {"turn": turn, "text": f"{task} ended: {outcome}"},
        }
        await self._turn(turn, f"{task} ended: {outcome}", changes, confidence=0.6)

    async def _turn(
        self, turn: int, text: str, changes: dict[str, Any], *, confidence: float | None = None
    ) -> None:
        ack = await self._executor.work(turn, changes, confidence=confidence)
        cited = " and ".join(one.id for one in ack.entries[:2])
        await self._executor.say(f"{text}, see {cited}", turn=turn)
        await self._executor.board.end_turn(turn)
        await self._report(text)

    async def _report(self, text: str) -> None:
        """Tell the verifier, who reads the ledger after every report."""
        await self._reports.put(text)

    # -- the compaction and what comes of it

    async def _go_on_announced(self) -> None:
        await self._announce()
        await self._lose_context()
        await self._claim(5, "B", "complete", revision=4)
        await self._recover(6)

    async def _go_on_silent(self) -> None:
        await self._lose_context()
        stale = await self._claim(5, "B", "complete", revision=4)
        current = stale.rules[0].evidence["current"] if stale else 4
        await self._executor.remark(f"is told that B is at revision {current}, and guesses {current + 1}")
        await self._claim(6, "B", "complete", revision=current + 1)
        await self._executor.board.end_turn(6)
        await self._executor.say(REPORT, turn=7)
        await self._claim(7, "C", "running", revision=2)
        await self._recover(8)

    async def _go_on_with_the_gate_off(self) -> None:
        await self._announce()
        await self._lose_context()
        await self._claim(5, "B", "complete", revision=4)
        await self._executor.say(REPORT, turn=5)
        await self._report(REPORT)

    async def _announce(self) -> None:
        digest = hashlib.sha256(SUMMARY.encode()).hexdigest()
        await self._executor.board.compacted(
            cause="summary", summary_digest=digest, tokens_before=180_000, tokens_after=9_000
        )

    async def _lose_context(self) -> None:
        await self._reports.join()  # the verifier has read what was reported before
        self._executor.belief = dict(SUMMARISED)
        await self._executor.remark(f'has its context compacted; its summary says "{SUMMARY}"')
        await self._look("after the compaction")
        self._stage.give("context lost")
        await self._report("something may have happened")

    async def _claim(self, turn: int, task: str, status: str, *, revision: int) -> WriteRejected | None:
        """Write from the summary, without a read; return the rejection, None where it was accepted."""
        write = {"key": key_of(task), "revision": revision, "value": {"status": status}, "confidence": 0.95}
        try:
            await self._executor.board.write_many([write], turn=turn)
        except WriteRejected as rejection:
            return rejection
        return None

    async def _recover(self, turn: int) -> None:
        """What the board asks for, the full re-read; then on from what is really there."""
        await self._stage.wait("planner has looked")
        await self._reports.join()
        await self._executor.read_everything()
        await self._executor.remark(f"has read everything again: B is {self._executor.belief['B']}")
        await self._look("after the full re-read")
        await self._begin(turn, "B")
        await self._finish(turn + 1, "B")

    async def _look(self, moment: str) -> None:
        """Lay what each agent believes beside the ledger and the truth."""
        page = await self._auditor.ledger()
        entries = {entry.key: entry.value for entry in page.entries}
        await self._stage.tell(
            Beliefs(
                seq=page.at,
                moment=moment,
                believed={name: dict(agent.belief) for name, agent in self._agents.items()},
                ledger={task: describe(entries.get(key_of(task))) for task in TASKS},
                truth={task: self.world.status(task).status for task in TASKS},
            )
        )
