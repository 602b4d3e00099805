"""The limits that every command is held to, each with the name that errors and settings give it."""

from __future__ import annotations

from msgspec import Struct

from blackboard.canonical import JSON_DEPTH, SAFE_INTEGER

MAX_INTEGER = SAFE_INTEGER
"""The highest seq, revision, turn or count that a message may name."""

MAX_ITEMS_TOLD = 50
"""How many keys, notices or moved entries one reply names before it only counts."""


class Limits(Struct, frozen=True, kw_only=True):
    """Sizes in bytes of UTF-8, counts in items. Settings may change the first four."""

    command_bytes: int = 128 * 1024
    value_bytes: int = 64 * 1024
    key_bytes: int = 256
    writes_per_batch: int = 1000
    reads_per_command: int = 1000
    page_entries: int = 1000
    json_depth: int = JSON_DEPTH
    text_bytes: int = 16 * 1024
    identifier_bytes: int = 128
    kept_records: int = 10_000
    agents_named: int = 256
    record_bytes: int = 64 * 1024
    tools_per_keep: int = 256


DEFAULT_LIMITS = Limits()
