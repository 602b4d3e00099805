"""`doctor`: what is as it should be, what is not, and what to do about it. It changes nothing."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import click

import blackboard
from blackboard import config
from blackboard.cli import output
from blackboard.cli.doctor import machine, postgresql, sqlite
from blackboard.cli.doctor.finding import Finding, Level, fail, ok
from blackboard.cli.options import local
from blackboard.cli.session import Session, Target, answers
from blackboard.config import Settings
from blackboard.errors import BlackboardError, IntegrityFailure
from blackboard.events.envelope import GENESIS, verify_row
from blackboard.server.discovery import find_server
from blackboard.store import open_store
from blackboard.store.contract import BoardRow, Store

_COLOURS: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}
_CHECK = "change nothing; `blackboard db check` says where; go back to a copy that checks"


@local("doctor", database=True)
async def doctor(session: Session) -> int:
    """Check versions, durability, room, schema and the end of every board's log; change nothing. Ends
    with 2 where something must be done, 5 where stored bytes do not fit their digests.
    """
    findings = [finding async for finding in examine(session.settings, _settings_file(session))]
    if session.json:
        output.emit_json({"findings": findings, "ok": all(one.level != "fail" for one in findings)})
    else:
        for finding in findings:
            _show(finding)
    if any(one.corrupt for one in findings):
        return IntegrityFailure.exit_code
    return 2 if any(one.level == "fail" for one in findings) else 0


def _settings_file(session: Session) -> Path:
    named = session.flags.get("config") or os.environ.get("BLACKBOARD_CONFIG")
    return Path(named or config.FILE_NAME).expanduser()


async def examine(settings: Settings, file: Path) -> AsyncIterator[Finding]:
    """Every finding, in the order in which one would look. `file` is the settings file, there or not."""
    target = Target(str(settings.db))
    yield ok("release", f"blackboard {blackboard.__version__}, Python {platform.python_version()}")
    if not target.is_shared:
        yield sqlite.version(sqlite3.sqlite_version_info)
    for finding in [*machine.settings_file(file), *machine.state_directory(Path(str(settings.state_dir)))]:
        yield finding
    running = find_server(str(settings.state_dir))
    serving = running if running is not None and answers(running.url) else None
    if running is not None:
        yield machine.server(running, machine.ask_ready(running.url) if serving is not None else None)
    yield machine.durability(serving.durability if serving is not None else settings.durability)
    async for finding in database(target, settings):
        yield finding


async def database(target: Target, settings: Settings) -> AsyncIterator[Finding]:
    """The database: where it is, its schema, its room, the end of each log."""
    if target.file is not None and not target.file.exists():
        yield ok("database", f"{target.file} will be made")
        return
    try:
        store = await open_store(target.url, settings, read_only=True)
        try:
            for finding in figures(await store.check(), settings, store.url):
                yield finding
            for board in await store.boards():
                yield await chain(store, board)
        finally:
            await store.close()
    except BlackboardError as error:
        corrupt = isinstance(error, IntegrityFailure)  # the others say themselves what to do
        yield fail("database", error.detail, _CHECK if corrupt else None, corrupt=corrupt)


def figures(found: Mapping[str, Any], settings: Settings, where: str) -> list[Finding]:
    """What the store tells of itself."""
    if found.get("engine") == "postgresql":
        return postgresql.figures(found, settings, where)
    return sqlite.figures(found)


async def chain(store: Store, board: BoardRow) -> Finding:
    """Whether the last event of a board fits its digests and the event before it."""
    what = f"board {board.name}"
    rows = await store.rows(board.name, max(board.head - 2, 0), 2)
    previous = rows[0].hash if len(rows) == 2 else GENESIS.hash
    if rows and rows[-1].seq == board.head and verify_row(rows[-1], previous):
        return ok(what, f"head {board.head}, hash {rows[-1].hash.hex()}")
    return fail(
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
