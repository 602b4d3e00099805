"""Who is asking: what a credential says, and nothing that the request itself claims."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

Role = Literal["agent", "auditor", "operator"]


class Grants(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """What a credential may do beyond its role. Everything defaults to the narrow side.

    `writes`: shell-style patterns of the keys that may be written (None: all); `prefix`: the keys that
    bound this agent's full re-read; `report_peers`: may report another agent's compaction; `records`:
    record kinds that may be added (`chatter`, `policy`, `approval`, `opaque`, `fact:<pattern>`).
    """

    writes: list[str] | None = None
    prefix: str = ""
    report_peers: bool = False
    records: list[str] = []

    def may_write(self, key: str) -> bool:
        """Whether the key is within the write grant."""
        return self.writes is None or any(fnmatchcase(key, pattern) for pattern in self.writes)


class Principal(Struct, frozen=True, kw_only=True):
    """An authenticated caller. `name` is the agent's id or the operator's or auditor's name."""

    role: Role
    name: str
    boards: tuple[str, ...] = ("*",)
    grants: Grants = Grants()
    token_id: str | None = None

    @property
    def actor(self) -> str:
        """As it stands in the log: `agent:executor`, `operator:ops`, `auditor:kim`."""
        return f"{self.role}:{self.name}"

    @property
    def agent(self) -> str | None:
        """The agent id, for agents."""
        return self.name if self.role == "agent" else None

    def reaches(self, board: str) -> bool:
        """Whether one of the credential's board patterns covers the board."""
        return any(pattern == "*" or fnmatchcase(board, pattern) for pattern in self.boards)


class Call(Struct, frozen=True, kw_only=True):
    """What travels beside a message: headers over HTTP, arguments when embedded.

    `seen` is the last seq that the caller knows of; `idempotency_key` makes the command repeatable.
    """

    seen: int | None = None
    idempotency_key: str | None = None
