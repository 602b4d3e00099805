"""What comes back instead of a reply: an error as it travels."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from blackboard.events.kinds import Remedy, Violation
from blackboard.messages.replies import Guarantee, Moved, Notice, RaisedSignal, Standing


class ProblemDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """RFC 9457, with the members that this project adds (see the error tree)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    replayed: bool = False
    member: str | None = None
    limit: Any = None
    value: Any = None
    rules: list[Violation] = []
    evidence: Any = None
    remedy: Remedy | None = None
    seq: int | None = None
    head: int | None = None
    standing: Standing | None = None
    notices: list[Notice] = []
    moved: list[Moved] = []
    signals: list[RaisedSignal] = []
    guarantee: Guarantee | None = None
