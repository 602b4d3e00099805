"""What the agents talk about: three tasks, and what really became of each.

The board knows only what it is told. Whether a write is corrupt can be said only against this.
"""

from __future__ import annotations

from typing import NamedTuple

TASKS = ("A", "B", "C")
FINISHED = "complete"


class Fact(NamedTuple):
    """From the event after `head` on, `task` truly is `status`."""

    head: int
    task: str
    status: str


class World:
    """Tasks that are run for real: B fails the first time, everything else succeeds."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self.history: list[Fact] = [Fact(0, task, "pending") for task in TASKS]

    def run(self, task: str, head: int) -> str:
        """Run a task while the board's head is `head`; return how it ended."""
        self._runs[task] = self._runs.get(task, 0) + 1
        status = "failed" if (task, self._runs[task]) == ("B", 1) else FINISHED
        self.history.append(Fact(head, task, status))
        return status

    def status(self, task: str, seq: int | None = None) -> Fact:
        """What truly holds of a task, now or when event `seq` was written."""
        return [fact for fact in self.history if fact.task == task and (seq is None or fact.head < seq)][-1]


def key_of(task: str) -> str:
    """The task's key on the board."""
    return f"task/{task}"
