"""What people type: JSON values, key=revision pairs, files; refused with the option's name."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from blackboard import canonical
from blackboard.errors import Malformed
from blackboard.messages.commands import Write

_KEY_BYTES = 4096


def read_text(name: str, option: str) -> str:
    """The text of a file, or of stdin for `-`."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise click.UsageError(f"{option} {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{option} {name}: it is not UTF-8") from error


def read_public_key(given: str) -> bytes | str:
    """What stands in the file that `--public-key` names, or what is given itself where it names none."""
    path = Path(given)
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_KEY_BYTES)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--public-key {given!r} cannot be read: {error}") from error
    return given


def parse_json(text: str, option: str, hint: str = "") -> Any:
    """Strict JSON: duplicate keys and NaN are refused, as the board refuses them, with the hint."""
    try:
        return canonical.parse(text.encode())
    except Malformed as error:
        fault = error.detail.removeprefix("the document: ").removeprefix("not JSON: ")
        raise click.UsageError(f"{option} is not JSON: {fault}{hint}") from error


def value_of(value: str | None, text: str | None, file: str | None, text_file: str | None) -> Any:
    """The value that one of the four options gives."""
    given = {"--value": value, "--text": text, "--file": file, "--text-file": text_file}
    named = [option for option, content in given.items() if content is not None]
    if len(named) != 1:
        found = f"got {' and '.join(named)}" if named else "got none"
        raise click.UsageError(f"give the value by one of {', '.join(given)} (or --delete); {found}")
    if text is not None:
        return text
    if text_file is not None:
        return read_text(text_file, "--text-file")
    if file is not None:
        return parse_json(read_text(file, "--file"), f"--file {file}", _OR_TEXT)
    return parse_json(str(value), "--value", _OR_TEXT)


_OR_TEXT = " (text goes with --text)"


def basis_of(pairs: Iterable[str]) -> dict[str, int] | None:
    """`KEY=REVISION` pairs as a mapping, None for none."""
    basis: dict[str, int] = {}
    for pair in pairs:
        key, equals, revision = pair.rpartition("=")
        if not (equals and key and revision.isascii() and revision.isdigit()):
            raise click.UsageError(f"--basis {pair!r}: write KEY=REVISION, as in task/A=3")
        basis[key] = int(revision)
    return basis or None


def batch_of(file: str) -> list[Any]:
    """The writes of a batch file: a JSON array, or an object whose member `writes` is one."""
    found = parse_json(read_text(file, "--batch"), f"--batch {file}")
    writes = found.get("writes") if isinstance(found, dict) else found
    if not isinstance(writes, list) or not all(isinstance(write, dict) for write in writes):
        raise click.UsageError(f"--batch {file}: it holds a JSON array of writes (key, revision, value, ...)")
    return writes


def write_of(key: str, revision: int | None, given: dict[str, Any]) -> Write:
    """One write from the options of `write` and `propose`."""
    members: dict[str, Any] = {"confidence": given["confidence"], "basis": basis_of(given["basis"])}
    if given["delete"]:
        if any(given[name] is not None for name in ("value", "text", "file", "text_file")):
            raise click.UsageError("--delete takes no value")
        members["deleted"] = True
    else:
        members["value"] = value_of(given["value"], given["text"], given["file"], given["text_file"])
    if revision is not None:
        members["revision"] = revision
    return Write(key, **members)
