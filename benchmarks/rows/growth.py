"""What a write costs as the log grows, as the board grows, and as agents come: it should stay what it was.

Each row compares a large board with a small one, turn by turn. `gate` rows are the whole path of a command
in memory (prepare, decide, fold, seal, reply) over a store that keeps nothing: nothing hides growth there.
`embedded` rows go through the client and the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.figures import FULL, MEMORY, Figure, Target, costs
from benchmarks.harness import Clock, Sample, paired
from benchmarks.logs import BOARD, Spec, fold, principal, write
from benchmarks.rows.embedded import Embedded
from benchmarks.run import Run, runner
from benchmarks.stores import NullStore, settings
from benchmarks.writers import Next, Writers
from blackboard.errors import WriteRejected
from blackboard.messages import commands as ask
from blackboard.messages.commands import Write
from blackboard.messages.principal import Call, Principal
from blackboard.messages.replies import Reply
from blackboard.service import Service

FLAT = Target(1.2, "at most")
TOGETHER = 32
"""Commands under way at once in the `gate` rows, so that the loop's own work is shared out."""


class Axis(NamedTuple):
    """What grows from `small` to `large`; `active` agents write, the others hold views and are quiet."""

    name: str
    what: str
    small: Spec
    large: Spec
    active: int = 1
    target: Target | None = FLAT


def axes(run: Run) -> list[Axis]:
    sizes = run.sizes
    log, keys, agents, middle = sizes.log, sizes.keys, sizes.agents, sizes.medium_log
    few = sizes.small_keys
    middle = max(middle, keys)
    return [
        Axis(
            "log", f"log of {sizes.small_log:,} → {log:,} events", Spec(sizes.small_log, few), Spec(log, few)
        ),
        Axis("keys", f"board of {few:,} → {keys:,} keys", Spec(middle, few), Spec(middle, keys)),
        Axis(
            "agents",
            f"1 → {agents} agents that hold all of {keys:,} keys, one of them writing",
            Spec(middle, keys, 1, 1),
            Spec(middle, keys, agents, agents),
        ),
        Axis(
            "turns",
            f"the same, all {agents} writing in turn: each is told what its peers moved",
            Spec(middle, keys, 1, 1),
            Spec(middle, keys, agents, agents),
            active=agents,
            target=None,
        ),
    ]


def growth(run: Run) -> Iterator[Figure]:
    """Every axis in memory, then a cycle of compaction and repair, then through the client and the disk."""
    for axis in axes(run):
        yield _gate(run, axis)
    yield _cycle(run)
    yield _embedded(run, _everything(run))


def _everything(run: Run) -> Axis:
    sizes = run.sizes
    return Axis(
        "all",
        f"{sizes.small_log:,} events, {sizes.small_keys} keys, 1 agent → "
        f"{sizes.log:,} events, {sizes.keys:,} keys, {sizes.agents} agents",
        Spec(sizes.small_log, sizes.small_keys, 1, 1),
        large_spec(run),
    )


def large_spec(run: Run) -> Spec:
    """The largest board of a run; opening is measured on it, too."""
    return Spec(run.sizes.log, run.sizes.keys, run.sizes.agents, run.sizes.agents)


def tails(run: Run) -> tuple[int, int]:
    """How far behind the end a snapshot stands: half the interval between two, which is the mean, and all."""
    return run.sizes.tail, 2 * run.sizes.tail - 1


def _gate(run: Run, axis: Axis) -> Figure:
    large, small = Gate(axis.large, axis.active), Gate(axis.small, min(axis.active, axis.small.agents))
    pairs = _taking_turns(run, large.writes, small.writes)
    return costs(
        f"growth.{axis.name}.gate",
        f"a write in memory; {axis.what}",
        pairs,
        durability=MEMORY,
        base_name="the small board",
        target=axis.target,
    )


def _cycle(run: Run) -> Figure:
    keys, few = run.sizes.keys, run.sizes.small_keys
    large, small = Gate(Spec(keys, keys, 1, 1), 1), Gate(Spec(keys, few, 1, 1), 1)
    pairs = _taking_turns(run, large.cycles, small.cycles)
    return costs(
        "growth.cycle.gate",
        f"compacted, refused, read again, written, in memory; board of {few:,} → {keys:,} keys",
        pairs,
        durability=MEMORY,
        base_name="the small board",
        target=FLAT,
    )


def _taking_turns(run: Run, large, small):
    with runner() as loops:
        steps = run.sizes.steps
        return paired(lambda: loops.run(large(steps)), lambda: loops.run(small(steps)), run.sizes.rounds)


class Gate:
    """The service over a store that keeps nothing, on a board that the log of `spec` folds into."""

    def __init__(self, spec: Spec, active: int) -> None:
        board, self._tip = fold(spec)
        self._service = Service(
            NullStore(board, self._tip), settings("memory://nothing", rejections_per_minute=10**9)
        )
        self._writers = Writers(spec, active)
        self._principals = [principal(index) for index in range(active)]
        self._seen = [self._tip.seq] * active

    async def writes(self, count: int) -> Sample:
        """So many writes of a key each."""
        with Clock() as clock:
            for _ in range(0, count, TOGETHER):
                waiting = [self._submit(self._writers.next()) for _ in range(TOGETHER)]
                for agent, future in waiting:
                    self._seen[agent] = (await future).head
        return clock.sample(-(-count // TOGETHER) * TOGETHER)

    def _submit(self, one: Next) -> tuple[int, asyncio.Future[Reply]]:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        command = ask.WriteBatch(writes=[Write(one.key, one.revision, one.value)])
        call = Call(seen=self._seen[one.agent])
        self._service.submit(BOARD, self._principals[one.agent], command, call, future)
        return one.agent, future

    async def cycles(self, count: int) -> Sample:
        """So often: a compaction, a write that is refused for it, the read that repairs it, the write."""
        who = self._principals[0]
        count = max(count // 8, 1)
        with Clock() as clock:
            for _ in range(count):
                await self._cycle(who)
        return clock.sample(count)

    async def _cycle(self, who: Principal) -> None:
        one, call = self._writers.next(), Call(seen=self._seen[0])
        command = write(one.key, one.revision)
        await self._service.execute(BOARD, who, ask.Compact(cause="summary"), call)
        with contextlib.suppress(WriteRejected):
            await self._service.execute(BOARD, who, command, call)
        await self._service.execute(BOARD, who, ask.Read(keys=[one.key]), call)
        self._seen[0] = (await self._service.execute(BOARD, who, command, call)).head


def _embedded(run: Run, axis: Axis) -> Figure:
    large, small = run.file(axis.large, tails(run)), run.file(axis.small)
    count = max(run.sizes.singles // 5, 1)
    with runner() as loops:
        sides = [
            Embedded(f"sqlite:///{path}", spec, 1)
            for path, spec in ((large, axis.large), (small, axis.small))
        ]
        try:
            for side in sides:
                loops.run(side.open())
            pairs = paired(
                lambda: loops.run(sides[0].write(count)),
                lambda: loops.run(sides[1].write(count)),
                run.sizes.rounds,
            )
        finally:
            for side in sides:
                loops.run(side.close())
    return costs(
        f"growth.{axis.name}.embedded",
        f"a write through the embedded client; {axis.what}",
        pairs,
        durability=FULL,
        base_name="the small board",
        target=axis.target,
    )
