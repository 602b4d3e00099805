"""Findings about this machine: files that others must not read, and the server that runs here."""

from __future__ import annotations

import stat
import urllib.request
from pathlib import Path
from typing import Any

import msgspec

from blackboard import config
from blackboard.cli import passwords
from blackboard.cli.doctor.finding import Finding, ok, warn
from blackboard.config import OPERATOR_TOKEN
from blackboard.server.discovery import RunningServer

_SECONDS = 2.0


def state_directory(place: Path) -> list[Finding]:
    """The state directory, and the local operator's token in it."""
    if not place.is_dir():
        return [ok("state directory", f"{place} will be made")]
    findings = [_private(place, "state directory", "chmod 700")]
    if (place / OPERATOR_TOKEN).exists():
        findings.append(_private(place / OPERATOR_TOKEN, "operator's token", "chmod 600"))
    return findings


def _private(path: Path, what: str, remedy: str) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return warn(what, f"{path} is open to others (mode {mode:04o})", f"{remedy} {path}")
    return ok(what, f"{path}, mode {mode:04o}")


def settings_file(path: Path) -> list[Finding]:
    """The settings file, where there is one that holds a password."""
    try:
        table = config.parse_file(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError):
        return []
    holds = passwords.holds_password(str(table.get("db", "")))
    return [_private(path, "settings file", "chmod 600")] if holds else []


def server(running: RunningServer, ready: dict[str, Any] | None) -> Finding:
    """The local server that announced itself; `ready` is what it answers, None for no answer."""
    if ready is None:
        return warn(
            "server",
            f"{running.url} has announced itself and does not answer",
            "look at what it wrote on stderr, and start it again with `blackboard serve`; what it "
            "acknowledged is stored",
        )
    off = ready.get("guarantee", {}).get("off") or {}
    if off:
        boards = "; ".join(f"{board} ({', '.join(legs)})" for board, legs in sorted(off.items()))
        return warn(
            "server",
            f"{running.url} serves boards without the whole guarantee: {boards}",
            "where that is not meant, set their policy with `blackboard board policy`",
        )
    return ok("server", f"{running.url} is ready, release {running.version}")


def ask_ready(url: str) -> dict[str, Any] | None:
    """What a server answers at /readyz, None where it does not."""
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=_SECONDS) as answer:  # noqa: S310 - an http URL
            return msgspec.json.decode(answer.read(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError):
        return None


def durability(found: str) -> Finding:
    """What an acknowledgement is worth, as far as the settings go."""
    if found == "full":
        return ok("durability", "full: acknowledged events survive power loss")
    return warn(
        "durability",
        f"{found}: acknowledged events survive kill -9; a power loss can take the last of them",
        'set durability = "full"',
    )
