"""What people and programs read: lines, tables, JSON. Data goes to stdout, the rest to stderr.

Values come from agents, and an agent's text must not steer a terminal: control characters and those that
reorder or hide text are written as escapes, in tables and in JSON alike.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
_PLAIN = "\x1b[0m"
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text on one line, with every character that a terminal would obey or hide written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if _is_hidden(char) else char for char in text)


def json_text(value: Any, *, pretty: bool = False) -> str:
    """The JSON of a reply or plain data, with the same characters escaped."""
    text = msgspec.json.encode(value).decode()
    if pretty:
        text = msgspec.json.format(text, indent=2)
    plain = text.isascii() and "\x7f" not in text
    return text if plain else "".join(map(_escape_in_json, text))


def emit_json(value: Any) -> None:
    """One JSON document on stdout: indented on a terminal, else on one line."""
    emit(json_text(value, pretty=sys.stdout.isatty()))


def emit_json_line(value: Any) -> None:
    """One line of a stream of JSON documents on stdout."""
    emit(json_text(value))


def emit(line: str = "") -> None:
    """One line of data."""
    click.echo(line, color=_colour())


def note(line: str) -> None:
    """One line that is not data."""
    click.echo(line, err=True, color=_colour())


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()
) -> list[str]:
    """Aligned lines, a heading first; columns named in `right` are set to the right.

    On a terminal the last column is cut to what fits.
    """
    cells = [[visible("" if cell is None else str(cell)) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(headers, *cells, strict=True)]
    to_right = {index for index, header in enumerate(headers) if header in right}
    lines = [_line(row, widths, to_right) for row in [list(headers), *cells]]
    return [fit(click.style(lines[0], bold=True)), *map(fit, lines[1:])]


def emit_table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()
) -> None:
    """Print a table as data."""
    for line in table(headers, rows, right=right):
        emit(line)


def fit(line: str) -> str:
    """The line, cut to the terminal's width where stdout is a terminal."""
    if not sys.stdout.isatty():
        return line
    return cut(line, shutil.get_terminal_size().columns)


def cut(line: str, width: int) -> str:
    """The line, cut to so many columns; its colours take none."""
    if _width(click.unstyle(line)) <= width:
        return line
    kept, room = [], width - 1
    for part in _COLOUR.split(line):
        if _COLOUR.fullmatch(part):
            kept.append(part)
            continue
        for char in part:
            room -= _width(char)
            if room < 0:
                return "".join([*kept, "…", _PLAIN if _PLAIN in line else ""])
            kept.append(char)
    return line


def value_text(value: Any) -> str:
    """A value as it stands in a table."""
    return json_text(value)


def number(value: float | int | None) -> str:
    """A number without a needless fraction, a dash for none."""
    return "-" if value is None else f"{value:g}"


def moment(microseconds: int | None) -> str:
    """A point in time, UTC, to the second; a dash for none."""
    if microseconds is None:
        return "-"
    return datetime.fromtimestamp(microseconds / 1e6, tz=UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def counted(count: int, noun: str) -> str:
    """`1 key`, `2 keys`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _colour() -> bool | None:
    # None: where the stream is a terminal.
    return False if os.environ.get("NO_COLOR") else None


def _line(row: Sequence[str], widths: Sequence[int], to_right: set[int]) -> str:
    padded = []
    for index, cell in enumerate(row):
        space = " " * (widths[index] - _width(cell))
        padded.append(space + cell if index in to_right else cell + space)
    return "  ".join(padded).rstrip()


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN


def _escape(char: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    code = ord(char)
    if char in named:
        return named[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escape_in_json(char: str) -> str:
    # The encoder has escaped what JSON demands; the newlines that are left are the layout's.
    if char == "\n" or not _is_hidden(char):
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
