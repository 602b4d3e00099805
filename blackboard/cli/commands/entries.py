"""`read` and `write`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from blackboard.cli import output, values
from blackboard.cli.acting import acting
from blackboard.cli.options import KEY, TURN, command
from blackboard.cli.session import Session

WRITE_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option(
        "--revision", type=int, metavar="N", help="One above the revision that was read; never filled in."
    ),
    click.option("--value", metavar="JSON", help="The value, as JSON."),
    click.option("--text", metavar="TEXT", help="The value, as text."),
    click.option("--file", metavar="FILE", help="The value, as JSON in a file; - is stdin."),
    click.option("--text-file", metavar="FILE", help="The value, as text in a file; - is stdin."),
    click.option("--delete", is_flag=True, help="Delete the key: a write that advances its revision."),
    click.option(
        "--basis", multiple=True, metavar="KEY=REV", help="What else the decision rests on; repeatable."
    ),
    click.option("--confidence", type=float, metavar="0..1", help="How sure the agent is."),
)


@command(
    "read",
    click.argument("keys", nargs=-1, metavar="[KEY]..."),
    click.option("--all", "everything", is_flag=True, help="Read everything: the full re-read."),
    click.option("--raw", is_flag=True, help="Print the values alone, one JSON value a line."),
    TURN,
    acts=("agent",),
)
async def read(
    session: Session, *, keys: tuple[str, ...], everything: bool, raw: bool, turn: int | None
) -> None:
    """Read keys, or everything with --all. The read is recorded: it is what puts entries into the
    agent's view. A key that does not exist has revision 0.
    """
    if everything == bool(keys):
        raise click.UsageError("name keys to read, or --all")
    async with acting(session) as (board, done):
        reply = await (board.read_all(turn=turn) if everything else board.read_many(list(keys), turn=turn))
        if raw:
            for entry in reply.entries:
                output.emit(output.value_text(entry.value))
        elif not session.json:
            show_entries(reply.entries)
        done(reply, shown=raw)


@command(
    "write",
    click.argument("key", required=False),
    *WRITE_OPTIONS,
    click.option("--batch", metavar="FILE", help="Write what a JSON file lists, all or nothing; - is stdin."),
    TURN,
    KEY,
    acts=("agent",),
)
async def write(
    session: Session,
    *,
    key: str | None,
    batch: str | None,
    revision: int | None,
    turn: int | None,
    idempotency_key: str | None,
    **given: Any,
) -> None:
    """Write KEY, or a batch. Without --revision the board refuses the write (and logs the attempt):
    neither it nor this command ever fills one in. A batch is a JSON array of objects with the members
    key, revision, value and, where wanted, confidence, deleted, basis.
    """
    if (key is None) == (batch is None):
        raise click.UsageError("name a KEY to write, or --batch FILE")
    if batch is not None:
        writes = values.batch_of(batch)
    else:
        writes = [values.write_of(str(key), revision, given)]
    async with acting(session) as (board, done):
        reply = await board.write_many(writes, turn=turn, idempotency_key=idempotency_key)
        if not session.json:
            show_ack(reply)
        done(reply)


def show_entries(entries: list[Any]) -> None:
    """Entries as a table."""
    headers = ("KEY", "REV", "ID", "WRITER", "VALUE")
    output.emit_table(headers, map(_row, entries), right=("REV",))


def show_ack(reply: Any) -> None:
    """What was accepted, one line a write."""
    for entry in reply.entries:
        replayed = "  replayed" if entry.replayed else ""
        superseded = f", superseded at seq {entry.superseded_by}" if entry.superseded_by else ""
        output.emit(output.visible(f"{entry.key}@{entry.revision}  {entry.id}{replayed}{superseded}"))


def _row(entry: Any) -> tuple[object, ...]:
    if entry.deleted:
        value = "(deleted)"
    elif entry.id is None:
        value = "(absent)"
    else:
        value = output.value_text(entry.value)
    return entry.key, entry.revision, entry.id or "-", entry.writer or "-", value
