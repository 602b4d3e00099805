"""`log` and `follow`."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
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


def _kinds(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from blackboard.events.kinds import KINDS

    return [kind for kind, _ in KINDS if kind.startswith(begun)]


_FILTERS: tuple[Callable[..., Any], ...] = (
    click.option(
        "--kind", metavar="KIND", shell_complete=_kinds, help="Only events of this kind, as write.rejected."
    ),
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
    left, shown = limit, 0
    async with looking(session) as board:
        while left is None or left > 0:
            page = await board.events(after=after, limit=min(left or _PAGE, _PAGE), agent=by, **filters)
            for event in page.events:
                show(session, event)
            shown += len(page.events)
            if page.next is None:
                break
            left = None if left is None else left - len(page.events)
            after = page.next
    if not shown:
        output.note(_nothing(filters["kind"]))


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


def _nothing(kind: str | None) -> str:
    from blackboard.events.kinds import KINDS

    known = sorted({name for name, _ in KINDS})
    if kind is None or kind in known:
        return "no event fits"
    meant = get_close_matches(kind, known, n=1)
    hint = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(known)}"
    return output.visible(f"no event fits; this release knows no kind {kind!r}: {hint}")


def show(session: Session, event: EventView) -> None:
    """One event: a line, or a document on a line."""
    if session.json:
        output.emit_json_line(event)
    else:
        output.emit(output.fit(describe.event_line(event)))
