"""What went wrong, told so that the next step is clear, and the code to exit with."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from blackboard.cli import describe, output
from blackboard.errors import BlackboardError, Malformed, WriteRejected

UNEXPECTED = 2
WAY_BACK = "read everything again: blackboard read --all"
"""How a demoted agent clears its standing, in this command's words (a reply's are a program's)."""

_STREAMS = {"log", "follow"}
_VERDICTS = {"check"}
"""Commands whose exit code 0 is PASS and 1 is BLOCK: whatever else happens is ERROR."""


def report(error: Exception, argv: Sequence[str]) -> int:
    """Tell of `error` on stderr, or with `--json` as the problem document on stdout; return the exit code.

    Commands that print a stream keep stdout for its lines: there the document goes to stderr.
    """
    debug = "--debug" in argv or bool(os.environ.get("BLACKBOARD_DEBUG"))
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    tell_program = output.note if _STREAMS.intersection(argv[:1]) else output.emit
    if not isinstance(error, BlackboardError):
        shown = f"unexpected failure: {type(error).__name__}: {error}"
        output.note(output.visible(shown))
        if not debug:
            output.note("run it again with --debug for the traceback")
        if "--json" in argv:
            tell_program(_unforeseen(shown))
        return UNEXPECTED
    if "--json" in argv:
        tell_program(document(error))
    else:
        tell(error)
    return UNEXPECTED if _VERDICTS.intersection(argv[:1]) else error.exit_code


def report_usage(error: click.ClickException, argv: Sequence[str]) -> int:
    """Tell of wrong usage on stderr, or with `--json` as `report` does; return the exit code."""
    if "--json" in argv:
        return report(Malformed(error.format_message()), argv)
    error.show()
    return Malformed.exit_code


def _unforeseen(detail: str) -> str:
    from blackboard.server.problems import PROBLEM_TYPE

    code = BlackboardError.code
    told = {"type": PROBLEM_TYPE + code, "title": "Error", "status": 500, "code": code, "detail": detail}
    return output.json_text(told)


def document(error: BlackboardError) -> str:
    """The RFC 9457 problem document that a server would have sent."""
    import msgspec

    from blackboard.server.problems import problem

    _, _, body = problem(error)
    return output.json_text(msgspec.Raw(body))


def tell(error: BlackboardError) -> None:
    """The error in lines on stderr: code, detail, evidence, remedy, standing, the notes added to it."""
    logged = "" if error.seq is None else f", logged as seq {error.seq}"
    kind = "rejected" if isinstance(error, WriteRejected) else "error"
    head = click.style(f"{kind}: {error.code}", fg="red", bold=True)
    output.note(f"{head}{logged}")
    if isinstance(error, WriteRejected) and error.rules:
        for line in describe.rejection_lines(error.rules, error.remedy):
            output.note(f"  {line}")
    else:
        output.note(f"  {output.visible(error.detail)}")
    context(error)
    for added in getattr(error, "__notes__", ()):
        output.note(added)


def context(reply: Any) -> None:
    """What a reply tells beside its answer, where it tells something: on stderr."""
    standing = reply.standing
    if standing is not None and standing.state != "active":
        output.note(_standing(standing))
    for signal in reply.signals:
        where = f" on {signal.key}" if signal.key else ""
        output.note(output.visible(f"signal: {signal.name} ({signal.effect}), {signal.agent}{where}"))
    for notice in reply.notices:
        output.note(
            output.visible(f"notice: {notice.about} {notice.what} at seq {notice.seq}: {notice.detail}")
        )
    for moved in reply.moved:
        output.note(output.visible(f"moved: {moved.key} is at revision {moved.revision}, by {moved.writer}"))
    if reply.guarantee is not None and not reply.guarantee.intact:
        output.note(f"guarantee: this board's policy switches off {', '.join(reply.guarantee.off)}")


def _standing(standing: Any) -> str:
    parts = [f"standing: {standing.state} since seq {standing.since}"]
    parts += [text for text in (standing.why, standing.may) if text]
    if standing.owed:
        parts.append(f"{output.counted(standing.owed, 'key')} to read again")
    if standing.clear:
        parts.append(WAY_BACK)
    return output.visible("; ".join(parts))
