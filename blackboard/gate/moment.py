"""What signals look at: one command at the moment of its decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from blackboard.events.kinds import Violation
from blackboard.events.policy import SignalSetting
from blackboard.gate.case import Case
from blackboard.gate.citing import Cited
from blackboard.projections.agent import AgentState


class Found(Struct, frozen=True, kw_only=True):
    """What proves a signal: the numbers compared, the seqs, and the key where there is one."""

    numbers: dict[str, Any]
    evidence: list[int] = []
    key: str | None = None


class Moment(Struct, frozen=True, kw_only=True):
    """One command of `agent`.

    `cases` are the writes that were judged (replays left out), `code` the rejection's code (None:
    accepted), `broken` the violations with that code, `missing` the keys written without a
    revision, `message` what a message cites, `invented` the unknown kept ids of a compaction.
    """

    agent: AgentState
    turn: int | None = None
    ends_turn: bool = False
    cases: list[Case] = []
    code: str | None = None
    broken: list[Violation] = []
    missing: list[str] = []
    message: Cited | None = None
    invented: list[str] = []


Signal = Callable[[Moment, SignalSetting], Found | None]
