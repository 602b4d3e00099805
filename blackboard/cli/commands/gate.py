"""`gate`: the action gate on files of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from blackboard.cli import casefiles

if TYPE_CHECKING:
    from blackboard.gate.actions.examine import Options
    from blackboard.gate.actions.report import Judged

RETENTION = ("given", "head_tail", "recency")

EPILOG = """\b
Exit codes:
  0 PASS   1 BLOCK   2 ERROR, wrong usage, or a report that could not be delivered
Several files: 1 where one is held back, else 2 where one is an error, else 0."""


@click.command("gate", epilog=EPILOG, short_help="Judge actions on files of records: PASS, BLOCK or ERROR.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--retention",
    type=click.Choice(RETENTION),
    default=RETENTION[0],
    show_default=True,
    help="What the compaction keeps: the file's own ids, the first and last k, or the last 2k.",
)
@click.option(
    "--k", type=click.IntRange(0, 1_000_000), metavar="N", help="k of the scheme (the file's `k`, else 8)."
)
@click.option(
    "--precheck", is_flag=True, help="Read no action: could a lost record bind any call of the tools?"
)
@casefiles.TOOLS
@casefiles.CATALOG
@click.option(
    "--allow-unevaluable", is_flag=True, help="Let dropped records of an unknown kind pass, with a note."
)
@click.option("--enforce", is_flag=True, help="Exit 0 only where the rules permit the action too.")
@casefiles.JSON
@casefiles.DEBUG
def gate(files: tuple[str, ...], json: bool, **given: Any) -> int:
    """Judge an action on records, of which the agent holds some: is one of those that it lacks binding here?

    FILE holds `records`, the ids `kept`, and an `action` or `actions`; - is standard input. The report of a
    file ends with the SHA-256 of what stands above it; after several, a last line counts them.
    """
    from blackboard.gate.actions.report import document, exit_code, report

    options = _options(files, **given)
    with casefiles.uncollected():
        judged = [_judge(name, options) for name in files]
        text = document(judged) + "\n" if json else report(judged)
    return casefiles.deliver(text, exit_code(judged))


def _options(
    files: tuple[str, ...],
    *,
    tools: str | None,
    catalog: str | None,
    enforce: bool,
    precheck: bool,
    **rest: Any,
) -> Options:
    from blackboard.gate.actions.examine import Options

    casefiles.refuse_stdin_twice([*files, catalog])
    if tools is not None and not precheck:
        raise click.UsageError("--tools goes with --precheck: without it the action names its tool")
    if enforce and precheck:
        raise click.UsageError("--enforce needs the action that --precheck does not read")
    names, known = casefiles.tool_names(tools), casefiles.read_catalog(catalog)
    return Options(tools=names, catalog=known, enforce=enforce, precheck=precheck, **rest)


def _judge(name: str, options: Options) -> Judged:
    from blackboard.gate.actions.examine import examine, failed
    from blackboard.gate.actions.report import Error, Judged

    try:
        raw = casefiles.read_bytes(name)
    except OSError as error:
        return Judged(name, [failed(Error("unreadable", f"{error.strerror}"))])
    return Judged(name, examine(raw, options))
