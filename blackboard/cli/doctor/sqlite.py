"""Findings about an SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blackboard.cli.doctor.finding import Finding, fail, ok, warn
from blackboard.store.sqlite.health import wal_reset_fixed

LOW_DISK = 1 << 30
NO_DISK = 64 << 20
LARGE_WAL = 256 << 20


def version(found: tuple[int, ...]) -> Finding:
    """SQLite's version, and whether it has the WAL-reset fault."""
    major, minor, patch = found[:3]
    text = f"{major}.{minor}.{patch}"
    if wal_reset_fixed((major, minor, patch)):
        return ok("SQLite", text)
    return warn(
        "SQLite",
        f"{text} has the WAL-reset fault: two connections that commit and checkpoint at once can damage a "
        "file in write-ahead mode",
        "the single owner keeps that from happening: let no other program write the file; move to a Python "
        "with SQLite 3.51.3 or later (or 3.50.7, 3.44.6) when you can",
    )


def figures(found: Mapping[str, Any]) -> list[Finding]:
    """What the store tells of itself."""
    where = f"{found.get('path', found.get('engine'))}"
    findings = [ok("database", f"{where}, {found.get('bytes', 0):,} bytes")]
    if not found.get("in_place", True):
        replaced = "stop its server and put the right file in place"
        findings = [fail("database", f"{where} was replaced while it was open", replaced)]
    findings.append(ok("schema", f"revision {found.get('revision')}"))
    wal = int(found.get("wal_bytes", 0))
    if wal > LARGE_WAL:
        long = "end long reads of the file (shells, copies)"
        findings.append(warn("write-ahead log", f"{wal:,} bytes: a reader keeps it from shrinking", long))
    return [*findings, *disk(found.get("disk_free"))]


def disk(free: int | None) -> list[Finding]:
    """Room for the log to grow; None where the store knows no disk."""
    if free is None:
        return []
    text, do = f"{free / (1 << 30):.1f} GiB free", "make room: without it no write is acknowledged"
    if free < NO_DISK:
        return [fail("disk", text, do)]
    return [warn("disk", text, do) if free < LOW_DISK else ok("disk", text)]
