"""`db upgrade|downgrade|current|check`: the tables of a database, and whether its log can be read whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from blackboard import config
from blackboard.cli import output
from blackboard.cli.options import local
from blackboard.cli.progress import Progress
from blackboard.cli.session import Session
from blackboard.errors import IntegrityFailure
from blackboard.store import schema
from blackboard.store.revision import KNOWN, NEWEST


@click.group()
def db() -> None:
    """Upgrade, downgrade and check a database. It is named with --db; without it, it is that of the
    settings.
    """


@local("current", database=True, group=db)
async def current(session: Session) -> None:
    """Show the schema revision of the database, and the newest that this release knows."""
    found = await schema.current(session.database)
    if session.json:
        output.emit_json(found)
    else:
        _show_current(found)


@local(
    "upgrade",
    click.option(
        "--expand",
        is_flag=True,
        help="On PostgreSQL: stop before the first migration that takes away what the release before uses.",
    ),
    click.option("--citus", is_flag=True, help="On PostgreSQL with Citus: distribute the tables by board."),
    database=True,
    group=db,
)
async def upgrade(session: Session, *, expand: bool, citus: bool) -> None:
    """Take the tables to the newest revision; a file is made where it is missing. On PostgreSQL servers may
    run meanwhile; an SQLite file must be in nobody else's use.
    """
    config.make_state_dir(session.settings)
    with _progress("events") as progress:
        done = await schema.upgrade(
            str(session.settings.db), session.settings, expand=expand, citus=citus, progress=progress
        )
    if session.json:
        output.emit_json(done)
        return
    output.emit(f"{done.before or 'no tables'} -> {done.revision}")
    _show_next(done.revision, served=True)
    for board in done.snapshots:
        output.emit(output.visible(f"snapshot built: {board}"))
    for board, reason in done.skipped.items():
        output.note(output.visible(f"no snapshot of {board}: {reason}"))


@local(
    "downgrade",
    click.argument("revision", default="-1", metavar="[REVISION]"),
    click.option("--discard-log", is_flag=True, help="Go down to base, although the log is dropped with it."),
    database=True,
    group=db,
)
async def downgrade(session: Session, *, revision: str, discard_log: bool) -> None:
    """Take the tables down to REVISION, by default by one step. Stop the servers that need what goes."""
    found = await schema.downgrade(session.database, revision, discard_log=discard_log)
    if session.json:
        output.emit_json(found)
    else:
        _show_current(found)


@local("check", database=True, group=db)
async def check(session: Session) -> int:
    """Read every event: recompute digests and the chain, decode, fold. Changes nothing, works beside running
    servers, and before an upgrade tells whether this release reads all that there is.
    """
    with _progress("events") as progress:
        found = await schema.check(session.database, progress=progress)
    if session.json:
        output.emit_json(found)
    else:
        _show(found)
    return IntegrityFailure.exit_code if found.flaws else 0


def _show_current(found: schema.Current) -> None:
    output.emit(f"{found.revision or 'no tables'} (newest {found.newest})")
    if found.revision is not None:
        _show_next(found.revision, served=found.served)


def _show_next(revision: str, *, served: bool) -> None:
    """What there is to do where the tables are not at the newest revision that this release knows."""
    if revision not in KNOWN:
        output.note("a newer release took it further" + ("" if served else ": this one does not serve it"))
    elif not served:
        output.note(
            "this release does not serve it as it is: run `blackboard db upgrade`, with --expand while "
            "servers of an earlier release use it"
        )
    elif revision != NEWEST:
        then = f"when no server of an earlier one runs, `blackboard db upgrade` takes it to {NEWEST}"
        output.note(f"this release serves it; {then}")


def _show(found: schema.Checked) -> None:
    rate = found.events / found.seconds if found.seconds else 0
    boards, events = output.counted(found.boards, "board"), output.counted(found.events, "event")
    output.emit(f"{boards}, {events}, {found.seconds:.1f} s ({rate:,.0f}/s)")
    output.emit_table(("KIND", "EVENTS"), sorted(found.kinds.items()), right=("EVENTS",))
    output.emit(f"digest {found.digest}")
    if found.redacted:
        output.emit(f"{output.counted(found.redacted, 'redacted event')}")
    if found.opaque:
        output.note(f"{output.counted(found.opaque, 'event')} of kinds that this release does not know")
    for board in found.too_new:
        output.note(output.visible(f"{board} has a format that this release does not know"))
    for flaw in found.flaws:
        where = f"board {flaw.board}, seq {flaw.seq}" if flaw.board else "the file"
        output.note(output.visible(f"flaw: {where}: {flaw.detail}"))
    if found.flaws:
        output.note("keep the database as it is, and go back to a copy that checks")
    else:
        output.emit("every digest, hash and seq fits")


@contextlib.contextmanager
def _progress(noun: str) -> Iterator[Progress]:
    progress = Progress(noun)
    try:
        yield progress
    finally:
        progress.close()
