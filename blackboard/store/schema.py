"""What `blackboard db` does: the schema of a database, and whether its log can be read whole.

Each function takes a database's URL and opens it by itself. `upgrade` and `downgrade` need the file for
themselves (`StoreBusy` otherwise); `current` and `check` work beside its owner.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from blackboard.config import Settings
from blackboard.errors import BlackboardError, Conflict, IntegrityFailure, Malformed
from blackboard.events.envelope import Row
from blackboard.events.kinds import FORMAT, KINDS
from blackboard.events.upcast import UPCASTERS
from blackboard.projections.board import Board
from blackboard.store.contract import Store
from blackboard.store.folding import Fold
from blackboard.store.revision import KNOWN, NEWEST, check_known, stored_revision
from blackboard.store.sqlite.connecting import peek
from blackboard.store.sqlite.lock import OwnerLock
from blackboard.store.urls import open_store, sqlite_path

Progress = Callable[[int, int], None]
"""Called with (events done, events in all) as the work goes on."""

BASE = "base"
"""The revision below the first: no tables."""


class Current(Struct, frozen=True):
    """At which revision the tables are (None: there are none), and the newest that this release knows."""

    revision: str | None
    newest: str


class Upgraded(Struct, frozen=True):
    """What an upgrade did: revisions before and after, boards whose snapshot was built, and boards whose
    could not be, with the reason.
    """

    before: str | None
    revision: str
    snapshots: list[str]
    skipped: dict[str, str]


class Flaw(Struct, frozen=True):
    """The first event of a board that is missing, does not decode, does not fold or breaks the chain.

    `board` is empty, and `seq` 0, for what SQLite finds wrong with the file itself.
    """

    board: str
    seq: int
    detail: str


class Checked(Struct):
    """What reading every event found. `opaque` events are of kinds or versions that this release does not
    know, `too_new` the boards whose format it does not know.
    """

    boards: int = 0
    events: int = 0
    opaque: int = 0
    redacted: int = 0
    seconds: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    too_new: list[str] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)


async def current(url: str) -> Current:
    """See `Current`. Raises `SchemaMismatch` for another application's database, `Unavailable`."""
    return Current(await asyncio.to_thread(peek, sqlite_path(url), stored_revision), NEWEST)


async def upgrade(
    url: str, settings: Settings | None = None, *, progress: Progress | None = None
) -> Upgraded:
    """Take the tables to the newest revision, making the file where it is missing, and build the snapshots
    that this release would otherwise build while serving.
    """
    chosen = settings if settings is not None else Settings()
    before = (await current(url)).revision if sqlite_path(url).exists() else None
    store = await open_store(url, chosen)
    try:
        made, skipped = await _prebuild(store, chosen.snapshot_every, progress)
    finally:
        await store.close()
    return Upgraded(before, NEWEST, made, skipped)


async def _prebuild(
    store: Store, snapshot_every: int, progress: Progress | None
) -> tuple[list[str], dict[str, str]]:
    boards = [row for row in await store.boards() if row.head >= snapshot_every]
    done, total = 0, sum(row.head for row in boards)
    made: list[str] = []
    skipped: dict[str, str] = {}
    for row in boards:
        try:
            loaded = await store.load(row.name)
            if loaded is not None and loaded.replayed >= snapshot_every:
                await store.snapshot(loaded.board, loaded.tip)
                made.append(row.name)
        except BlackboardError as error:
            skipped[row.name] = error.detail
        done += row.head
        if progress is not None:
            progress(done, total)
    return made, skipped


async def downgrade(url: str, revision: str, *, discard_log: bool = False) -> Current:
    """Take the tables down to `revision`: one of the known, `-n` for so many steps, or `base`.

    Down to `base` drops the log: refused with `Conflict` while there are events, unless `discard_log`.
    Raises `Malformed` for a revision that is not below, `SchemaMismatch` for a database ahead of this
    release.
    """
    path = sqlite_path(url)
    lock = OwnerLock.acquire(path)
    try:
        return await asyncio.to_thread(_downgrade, path, revision, discard_log=discard_log)
    finally:
        lock.release()


def _downgrade(path: Path, revision: str, *, discard_log: bool) -> Current:
    stored = peek(path, stored_revision)
    check_known(stored, str(path))
    target = _below(stored, revision)
    if target == BASE and not discard_log and stored is not None:
        events = peek(path, _count)
        if events:
            raise Conflict(
                f"going down to {BASE!r} drops all tables, and {path} holds {events} events: keep a copy of "
                "the file, then say that its log is to be discarded",
                members={"events": events},
            )
    from blackboard.store.migrating import take_down  # noqa: PLC0415 - Alembic takes its time

    take_down(str(path), target)
    return Current(peek(path, stored_revision), NEWEST)


def _below(stored: str | None, revision: str) -> str:
    """The revision that `revision` means, as Alembic names it."""
    steps = (BASE, *KNOWN)
    at = 0 if stored is None else steps.index(stored)
    if revision in steps:
        wanted = steps.index(revision)
    elif revision.startswith("-") and revision[1:].isdecimal():
        wanted = at - int(revision[1:])
    else:
        wanted = -1
    if not 0 <= wanted <= at:
        raise Malformed(
            f"{revision!r} is not below the database's revision {steps[at]!r}: name one of "
            f"{', '.join(steps[: at + 1])}, or -1 for one step down",
            member="revision",
            value=revision,
        )
    return steps[wanted]


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])


async def check(url: str, *, progress: Progress | None = None) -> Checked:
    """Decode, verify and fold every stored event, changing nothing. A flaw ends the check of its board.

    The file's own structure is checked too, and that boards and logs belong together.
    """
    started = time.perf_counter()
    checked = Checked()
    store = await open_store(url, Settings(), read_only=True)
    try:
        listed = {row.name: row.head for row in await store.boards()}
        logged = await asyncio.to_thread(peek, sqlite_path(url), _logged)
        total = sum(listed.values())
        for name in sorted(listed.keys() | logged):
            await _check_board(store, name, checked, lambda: progress and progress(checked.events, total))
            if name not in listed:
                checked.flaws.append(
                    Flaw(name, 1, f"there are events of board {name!r}, which is not listed")
                )
        damage = await asyncio.to_thread(peek, sqlite_path(url), _damage)
        checked.flaws += [Flaw("", 0, found) for found in damage]
    finally:
        await store.close()
    checked.seconds = time.perf_counter() - started
    return checked


def _logged(connection: sqlite3.Connection) -> set[str]:
    """The boards that have events: one step down the primary key for each."""
    found: set[str] = set()
    last = ""
    while row := connection.execute("SELECT min(board) FROM events WHERE board > ?", (last,)).fetchone():
        if row[0] is None:
            break
        last = row[0]
        found.add(last)
    return found


def _damage(connection: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with the file: pages, and indexes that do not fit their tables."""
    found = [str(said) for (said,) in connection.execute("PRAGMA integrity_check(10)")]
    return [] if found == ["ok"] else found


async def _check_board(store: Store, name: str, checked: Checked, step: Callable[[], object]) -> None:
    fold = Fold(name, Board())
    checked.boards += 1
    try:
        async for rows in store.scan(name):
            fold.verify(rows)
            _tally(checked, rows)
            step()
        if not fold.board.head:
            raise fold.missing()
    except IntegrityFailure as error:
        checked.flaws.append(Flaw(name, error.members.get("seq", fold.board.head + 1), error.detail))
    if fold.board.format > FORMAT:
        checked.too_new.append(name)


def _tally(checked: Checked, rows: Sequence[Row]) -> None:
    checked.events += len(rows)
    for row in rows:
        checked.kinds[row.kind] = checked.kinds.get(row.kind, 0) + 1
        known = (row.kind, row.version) in KINDS or (row.kind, row.version) in UPCASTERS
        checked.opaque += not known
        checked.redacted += row.body is None
