"""Agents that go on writing where a log of `logs.build` ends, each its own keys, at the right revisions."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.logs import Spec, agent_name, key_name, value

STRIDE = 7919
"""Keys are visited in jumps, so that no two neighbours are written one after the other. It is prime."""


class Next(NamedTuple):
    """One write to make: by whom, which key, at which revision, what."""

    agent: int
    key: str
    revision: int
    value: dict[str, str | int]


class Writers:
    """`active` of the log's agents take turns; the others stay quiet."""

    def __init__(self, spec: Spec, active: int | None = None) -> None:
        self._spec = spec
        self._active = spec.agents if active is None else active
        self._own = max(spec.keys // spec.agents, 1)
        self._revisions: dict[int, int] = {}
        self._turn = 0
        if self._own % STRIDE == 0:
            raise ValueError(f"{self._own} keys an agent: choose another number")

    @property
    def agents(self) -> list[str]:
        """The names of those who write."""
        return [agent_name(index) for index in range(self._active)]

    def next(self) -> Next:
        turn, spec = self._turn, self._spec
        self._turn += 1
        agent = turn % self._active
        index = (turn // self._active * STRIDE % self._own) * spec.agents + agent
        revision = self._revisions.get(index)
        if revision is None:
            revision = max(spec.writes - index - 1, -1) // spec.keys + 1
        self._revisions[index] = revision + 1
        return Next(agent, key_name(index), revision + 1, value(turn))
