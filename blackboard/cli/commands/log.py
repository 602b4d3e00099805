"""`log` and `follow`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from blackboard.cli import describe, output
from blackboard.cli.looking import looking
from blackboard.cli.options import command
from blackboard.cli.session import Session
from blackboard.messages.replies import EventView

READERS = ("auditor", "operator", "agent")
_PAGE = 1000
_AFTER = click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="SEQ",
    help="Begin after this seq.",
)
_FILTERS: tuple[Callable[..., Any], ...] = (
    click.option("--kind", metavar="KIND", help="Only events of this kind, as write.rejected."),
    click.option("--by", metavar="AGENT", help="Only what this agent did."),
    click.option("--key", metavar="KEY", help="Only writes of this key."),
)


@command(
    "log",
    _AFTER,
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many events."),
    *_FILTERS,
    acts=READERS,
)
async def log(session: Session, *, after: int, limit: int | None, by: str | None, **filters: Any) -> None:
    """Print the board's log, oldest first; with --json one document a line."""
    left = limit
    async with looking(session) as board:
        while left is None or left > 0:
            page = await board.events(after=after, limit=min(left or _PAGE, _PAGE), agent=by, **filters)
            for event in page.events:
                show(session, event)
            if page.next is None:
                return
            left = None if left is None else left - len(page.events)
            after = page.next


@command(
    "follow",
    _AFTER,
    click.option("--count", type=click.IntRange(min=1), metavar="N", help="End after so many events."),
    acts=READERS,
)
async def follow(session: Session, *, after: int, count: int | None) -> None:
    """Print the log after a seq, then every event as it comes, until interrupted. Following puts nothing
    into any agent's view.
    """
    seen = 0
    async with looking(session) as board:
        async for event in board.follow(after=after):
            show(session, event)
            seen += 1
            if seen == count:
                return


def show(session: Session, event: EventView) -> None:
    """One event: a line, or a document on a line."""
    if session.json:
        output.emit_json_line(event)
    else:
        output.emit(output.fit(describe.event_line(event)))
