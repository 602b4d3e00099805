"""Files of records and of tools, as `gate` and `keep` take them, and how their answers get out.

These commands need no settings and no board: nothing heavy is imported for them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

if TYPE_CHECKING:
    from blackboard.gate.actions.domain import Tool

STDIN = "-"
UNDELIVERED = 2

TOOLS = click.option(
    "--tools", metavar="A,B", help="The tools to ask about, instead of those the file names."
)
CATALOG = click.option(
    "--catalog",
    metavar="FILE",
    help="The tools there are, with their input schemas: a JSON array of {name, input_schema}.",
)
JSON = click.option("--json", is_flag=True, help="Answer in JSON.")
DEBUG = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the traceback of an unexpected failure."
)


def read_bytes(name: str) -> bytes:
    """The bytes of a file, or of stdin for `-`; of one beyond the limit, enough to see that it is.

    Raises `OSError`.
    """
    from blackboard.gate.actions.file import MAX_BYTES

    if name == STDIN:
        source: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        return b"" if source is None else source.read(MAX_BYTES + 1)
    with Path(name).open("rb") as file:
        return file.read(MAX_BYTES + 1)


def tool_names(given: str | None) -> tuple[str, ...] | None:
    """What `--tools` names, each once."""
    from blackboard.errors import Malformed
    from blackboard.records.scope import read_tool

    if given is None:
        return None
    names = [name.strip() for name in given.split(",")]
    try:
        return tuple(dict.fromkeys(read_tool(name, ("tools", at)) for at, name in enumerate(names)))
    except Malformed as error:
        raise click.UsageError(f"--tools {given!r}: {error.detail}") from error


def read_catalog(name: str | None) -> tuple[Tool, ...] | None:
    """The tools of a catalog, with exact numbers: see `listed_tools`."""
    from blackboard.canonical import parse_exact

    return None if name is None else listed_tools(name, parse_exact)[0]


def listed_tools(name: str, parse: Callable[[bytes], Any]) -> tuple[tuple[Tool, ...], list[Any]]:
    """The tools of a catalog, and what stands there: an array of tools, or an object with `tools`."""
    from blackboard.errors import Malformed
    from blackboard.gate.actions.domain import read_tools

    try:
        found = parse(read_bytes(name))
        listed = found["tools"] if isinstance(found, dict) and "tools" in found else found
        return read_tools(listed), listed
    except OSError as error:
        raise click.UsageError(f"--catalog {name}: {error.strerror}") from error
    except Malformed as error:
        raise click.UsageError(f"--catalog {name}: {error.detail}") from error


def refuse_stdin_twice(names: Sequence[str | None]) -> None:
    """Raise where more than one file is to be read from stdin."""
    if names.count(STDIN) > 1:
        raise click.UsageError("standard input (-) can be read once")


def deliver(text: str, code: int) -> int:
    """Write the text to stdout as UTF-8 and return the exit code: `code`, or 2 where nobody got it all."""
    from blackboard.cli.app import drop_stdout

    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            click.echo(f"the report could not be written: {error.strerror}", err=True)
        drop_stdout()
        return UNDELIVERED
    return code


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector of cycles: what is made here lives until the command ends, and looking through
    a hundred thousand records again and again takes up to a tenth of its time.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
