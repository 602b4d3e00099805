"""Settings: flags > BLACKBOARD_* environment > blackboard.toml > defaults; read once, at the edge."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Durability = Literal["full", "normal"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. Times in seconds, sizes in bytes, counts in items.

    `db` None means `blackboard.db` in `state_dir`; `state_dir` None the platform's place for state.
    `durability` full: an acknowledged event survives power loss; normal: `kill -9` only.
    """

    db: str | None = None
    state_dir: str | None = None
    durability: Durability = "full"
    auto_open: bool | None = None
    live_boards: int = 256
    idle_board_seconds: float = 900.0
    snapshot_every: int = 100_000
    batch_events: int = 2_000
    pending_commands: int = 10_000
    conflict_seconds: float = 10.0
    host: str = "127.0.0.1"
    port: int = 8377
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    heartbeat_seconds: float = 15.0
    shutdown_seconds: float = 20.0
    rejections_per_minute: int = 600
    followers: int = 1_000
    command_bytes: int = 128 * 1024
    value_bytes: int = 64 * 1024
    key_bytes: int = 256
    writes_per_batch: int = 1_000
