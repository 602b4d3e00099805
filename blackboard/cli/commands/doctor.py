"""`doctor`: what is as it should be, what is not, and what to do about it. It changes nothing."""

from __future__ import annotations

import platform
import sqlite3
import stat
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from msgspec import Struct

import blackboard
from blackboard.cli import output
from blackboard.cli.options import local
from blackboard.cli.session import Session, Target, answers
from blackboard.config import OPERATOR_TOKEN, Settings
from blackboard.errors import BlackboardError, IntegrityFailure
from blackboard.events.envelope import GENESIS, verify_row
from blackboard.server.discovery import RunningServer, find_server
from blackboard.store import open_store
from blackboard.store.contract import BoardRow, Store
from blackboard.store.sqlite.health import wal_reset_fixed

Level = Literal["ok", "warn", "fail"]
LOW_DISK = 1 << 30
NO_DISK = 64 << 20
LARGE_WAL = 256 << 20
_COLOURS: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}
_SECONDS = 2.0
_CHECK = "keep the file as it is; `blackboard db check` says where; go back to a copy that checks"


class Finding(Struct, frozen=True):
    """One thing that was looked at. `do` says what helps where it is not ok; `corrupt`: bytes do not fit."""

    what: str
    level: Level
    found: str
    do: str | None = None
    corrupt: bool = False


def _ok(what: str, found: str) -> Finding:
    return Finding(what, "ok", found)


def _warn(what: str, found: str, do: str) -> Finding:
    return Finding(what, "warn", found, do)


def _fail(what: str, found: str, do: str | None, *, corrupt: bool = False) -> Finding:
    return Finding(what, "fail", found, do, corrupt)


@local("doctor", database=True)
async def doctor(session: Session) -> int:
    """Check versions, durability, disk, schema and the end of every board's log; change nothing. Ends
    with 2 where something must be done, 5 where stored bytes do not fit their digests.
    """
    findings = [finding async for finding in examine(session.settings)]
    if session.json:
        output.emit_json({"findings": findings, "ok": all(one.level != "fail" for one in findings)})
    else:
        for finding in findings:
            _show(finding)
    if any(one.corrupt for one in findings):
        return IntegrityFailure.exit_code
    return 2 if any(one.level == "fail" for one in findings) else 0


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Every finding, in the order in which one would look."""
    yield _ok("release", f"blackboard {blackboard.__version__}, Python {platform.python_version()}")
    yield sqlite_version(sqlite3.sqlite_version_info)
    for finding in state_directory(Path(str(settings.state_dir))):
        yield finding
    running = find_server(str(settings.state_dir))
    serving = running if running is not None and answers(running.url) else None
    if running is not None:
        yield server(running, _ready(running.url) if serving is not None else None)
    yield durability(serving.durability if serving is not None else settings.durability)
    async for finding in database(settings):
        yield finding


def sqlite_version(found: tuple[int, ...]) -> Finding:
    """SQLite's version, and whether it has the WAL-reset fault."""
    major, minor, patch = found[:3]
    text = f"{major}.{minor}.{patch}"
    if wal_reset_fixed((major, minor, patch)):
        return _ok("SQLite", text)
    return _warn(
        "SQLite",
        f"{text} has the WAL-reset fault: two connections that commit and checkpoint at once can damage a "
        "file in write-ahead mode",
        "the single owner keeps that from happening: let no other program write the file; move to a Python "
        "with SQLite 3.51.3 or later (or 3.50.7, 3.44.6) when you can",
    )


def state_directory(place: Path) -> list[Finding]:
    """The state directory, and the local operator's token in it."""
    if not place.is_dir():
        return [_ok("state directory", f"{place} will be made")]
    findings = [_private(place, "state directory", "chmod 700")]
    if (place / OPERATOR_TOKEN).exists():
        findings.append(_private(place / OPERATOR_TOKEN, "operator's token", "chmod 600"))
    return findings


def _private(path: Path, what: str, remedy: str) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return _warn(what, f"{path} is open to others (mode {mode:04o})", f"{remedy} {path}")
    return _ok(what, f"{path}, mode {mode:04o}")


def server(running: RunningServer, ready: dict[str, Any] | None) -> Finding:
    """The local server that announced itself; `ready` is what it answers, None for no answer."""
    if ready is None:
        return _warn(
            "server",
            f"{running.url} has announced itself and does not answer",
            "look at what it wrote on stderr, and start it again with `blackboard serve`; what it "
            "acknowledged is stored",
        )
    off = ready.get("guarantee", {}).get("off") or {}
    if off:
        boards = "; ".join(f"{board} ({', '.join(legs)})" for board, legs in sorted(off.items()))
        return _warn(
            "server",
            f"{running.url} serves boards without the whole guarantee: {boards}",
            "where that is not meant, set their policy with `blackboard board policy`",
        )
    return _ok("server", f"{running.url} is ready, release {running.version}")


def _ready(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=_SECONDS) as answer:  # noqa: S310 - an http URL
            return msgspec.json.decode(answer.read(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None


def durability(found: str) -> Finding:
    """What an acknowledgement is worth."""
    if found == "full":
        return _ok("durability", "full: acknowledged events survive power loss")
    return _warn(
        "durability",
        f"{found}: acknowledged events survive kill -9; a power loss can take the last of them",
        'set durability = "full"',
    )


async def database(settings: Settings) -> AsyncIterator[Finding]:
    """The database: where it is, its schema, its room, the end of each log."""
    target = Target(str(settings.db))
    if target.file is not None and not target.file.exists():
        yield _ok("database", f"{target.file} will be made")
        return
    try:
        store = await open_store(target.url, settings, read_only=True)
        try:
            for finding in figures(await store.check()):
                yield finding
            for board in await store.boards():
                yield await chain(store, board)
        finally:
            await store.close()
    except BlackboardError as error:
        corrupt = isinstance(error, IntegrityFailure)  # the others say themselves what to do
        yield _fail("database", error.detail, _CHECK if corrupt else None, corrupt=corrupt)


def figures(found: dict[str, Any]) -> list[Finding]:
    """What the store tells of itself."""
    where = f"{found.get('path', found.get('engine'))}"
    findings = [_ok("database", f"{where}, {found.get('bytes', 0):,} bytes")]
    if not found.get("in_place", True):
        replaced = "stop its server and put the right file in place"
        findings = [_fail("database", f"{where} was replaced while it was open", replaced)]
    findings.append(_ok("schema", f"revision {found.get('revision')}"))
    wal = int(found.get("wal_bytes", 0))
    if wal > LARGE_WAL:
        long = "end long reads of the file (shells, copies)"
        findings.append(_warn("write-ahead log", f"{wal:,} bytes: a reader keeps it from shrinking", long))
    return [*findings, *disk(found.get("disk_free"))]


def disk(free: int | None) -> list[Finding]:
    """Room for the log to grow; None where the store knows no disk."""
    if free is None:
        return []
    text, do = f"{free / (1 << 30):.1f} GiB free", "make room: without it no write is acknowledged"
    if free < NO_DISK:
        return [_fail("disk", text, do)]
    return [_warn("disk", text, do) if free < LOW_DISK else _ok("disk", text)]


async def chain(store: Store, board: BoardRow) -> Finding:
    """Whether the last event of a board fits its digests and the event before it."""
    what = f"board {board.name}"
    rows = await store.rows(board.name, max(board.head - 2, 0), 2)
    previous = rows[0].hash if len(rows) == 2 else GENESIS.hash
    if rows and rows[-1].seq == board.head and verify_row(rows[-1], previous):
        return _ok(what, f"head {board.head}, hash {rows[-1].hash.hex()}")
    return _fail(
        what,
        f"its last event, {board.head}, does not fit its digests",
        _CHECK,
        corrupt=True,
    )


def _show(finding: Finding) -> None:
    level = click.style(f"{finding.level:<4}", fg=_COLOURS[finding.level])
    output.emit(f"{level}  {output.visible(finding.what)}: {output.visible(finding.found)}")
    if finding.do:
        output.emit(f"      do: {output.visible(finding.do)}")
