"""One agent of the incident: its connection, and the private summary that it acts on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from blackboard.cli.demo.stage import Remark, Stage
from blackboard.cli.demo.world import TASKS, key_of

if TYPE_CHECKING:
    from blackboard.client import Board
    from blackboard.messages.replies import Ack, ReadReply


class Agent:
    """An agent that believes what it has read last, until its context is compacted."""

    def __init__(self, name: str, board: Board, stage: Stage) -> None:
        self.name = name
        self.board = board
        self._stage = stage
        self.belief: dict[str, str] = {}

    async def read(self, keys: Iterable[str], *, turn: int | None = None) -> dict[str, Any]:
        """Read keys; what is read of the tasks is believed."""
        reply = await self.board.read_many(list(keys), turn=turn)
        await self._hear()
        return self._believe(reply)

    async def read_everything(self) -> dict[str, Any]:
        """The full re-read."""
        reply = await self.board.read_all()
        await self._hear()
        return self._believe(reply)

    async def work(self, turn: int, changes: Mapping[str, Any], *, confidence: float | None = None) -> Ack:
        """A healthy turn: read every key that it changes, then write them in one batch."""
        found = await self.read(changes, turn=turn)
        writes = [
            {"key": key, "revision": found[key].revision + 1, "value": value}
            | ({} if confidence is None else {"confidence": confidence})
            for key, value in changes.items()
        ]
        ack = await self.board.write_many(writes, turn=turn)
        await self._hear()
        for task in TASKS:
            if key_of(task) in changes:
                self.belief[task] = describe(changes[key_of(task)])
        return ack

    async def say(self, text: str, *, turn: int | None = None) -> None:
        """Post a message to the board."""
        await self.board.say(text, turn=turn)
        await self._hear()

    async def remark(self, text: str) -> None:
        """Tell the audience, once the log is shown as far as this agent has seen it."""
        await self._stage.tell(Remark(self.board.head, self.name, text))

    def _believe(self, reply: ReadReply) -> dict[str, Any]:
        entries = {entry.key: entry for entry in reply.entries}
        for task in TASKS:
            entry = entries.get(key_of(task))
            if entry is not None and entry.id is not None:
                self.belief[task] = describe(entry.value)
        return entries

    async def _hear(self) -> None:
        for notice in self.board.notices:
            await self.remark(f"hears that {notice.about} is {notice.what} (seq {notice.seq})")


def describe(value: Any) -> str:
    """A task's value as one would say it."""
    if not isinstance(value, dict):
        return "unknown"
    status = str(value.get("status", "unknown"))
    return f"{status}, retry {value['retry']}" if "retry" in value else status
