"""`keep`: what a compaction has to keep, so that no call of the tools is judged by less than there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from blackboard.cli import casefiles, output
from blackboard.cli.options import command
from blackboard.cli.session import Session
from blackboard.errors import Malformed


@command(
    "keep",
    click.argument("file", metavar="[FILE]", required=False),
    click.option(
        "--repair", is_flag=True, help="Print what is to be kept anyway, and what it needs beside it."
    ),
    click.option(
        "--kept", multiple=True, metavar="ID", help="A record of the board to be kept anyway; repeatable."
    ),
    click.option("--of", metavar="AGENT", help="Ask of this agent's view (an operator or auditor)."),
    casefiles.TOOLS,
    casefiles.CATALOG,
    acts=("agent", "operator", "auditor"),
)
def keep(session: Session, *, file: str | None, of: str | None, kept: tuple[str, ...], **asked: Any) -> Any:
    """Print the ids of the records that a compaction has to keep for these tools, one a line.

    It may keep exactly these; one that keeps others as well needs --repair, which prints the whole set. What
    the agent does not hold, and ledger keys that rules read, are told on stderr, to be read afterwards.
    FILE is one of records (- is standard input), and its `kept` what --repair starts from; without FILE it
    is the board.
    """
    if file is None:
        return _of_board(session, of=of, kept=kept, **asked)
    if kept or of:
        raise click.UsageError("--kept and --of ask a board; a file says itself what is kept")
    return _of_file(session, file, **asked)


def _of_file(session: Session, file: str, *, repair: bool, tools: str | None, catalog: str | None) -> None:
    from blackboard.gate.actions.examine import to_keep

    casefiles.refuse_stdin_twice([file, catalog])
    names, known = casefiles.tool_names(tools), casefiles.read_catalog(catalog)
    try:
        with casefiles.uncollected():
            found = to_keep(casefiles.read_bytes(file), names=names, catalog=known, repaired=repair)
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error
    except Malformed as error:
        error.add_note(output.visible(f"in {file}"))
        raise
    if session.json:
        output.emit_json(
            {
                "records": found.records,
                "held": [one for one in found.records if one not in set(found.unread)],
                "read": found.unread,
                "reread": found.keys,
            }
        )
    else:
        _show(found.records, found.unread, found.keys)


async def _of_board(
    session: Session,
    *,
    of: str | None,
    kept: Sequence[str],
    repair: bool,
    tools: str | None,
    catalog: str | None,
) -> None:
    from blackboard.cli.looking import looking

    if kept and not repair:
        raise click.UsageError("--kept goes with --repair: without it the least to keep is printed")
    wanted = _wanted(tools, catalog)
    async with looking(session) as board:
        if repair:
            reply = await board.repair(kept, wanted, agent=of)
        else:
            reply = await board.must_keep(wanted, agent=of)
    if session.json:
        output.emit_json(reply)
    else:
        _show(reply.records, reply.read, reply.reread)


def _wanted(tools: str | None, catalog: str | None) -> list[Any]:
    """The tools to ask a board about: names, or what the catalog says of them."""
    from blackboard.canonical import parse

    names = casefiles.tool_names(tools)
    if catalog is None:
        if names is None:
            raise click.UsageError("name the tools to ask about: --tools A,B, or --catalog FILE")
        return list(names)
    _, listed = casefiles.listed_tools(catalog, parse)  # which go to the board as JSON has them
    if names is None:
        return listed
    found = {one if isinstance(one, str) else one["name"]: one for one in listed}
    for name in names:
        if name not in found:
            raise click.UsageError(f"--tools {tools}: the catalog has no tool {name!r}")
    return [found[name] for name in names]


def _show(records: Iterable[str], unread: Sequence[str], keys: Sequence[str]) -> None:
    for one in records:
        if one not in set(unread):
            output.emit(output.visible(one))
    if unread:
        output.note(output.visible(f"not held, to be read afterwards: {', '.join(unread)}"))
    if keys:
        output.note(output.visible(f"keys to be read again afterwards: {', '.join(keys)}"))
