"""Settings: flags > BLACKBOARD_* environment > blackboard.toml > defaults; read once, at the edge.

`load` is the edge: it looks at the environment and at one file, and returns `Settings` in which every
place is absolute. The parts under it are functions of their arguments.
"""

from __future__ import annotations

import difflib
import ipaddress
import math
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import Struct

from blackboard.errors import Malformed, shorten

Durability = Literal["full", "normal"]
Isolation = Literal["read-committed", "serializable"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. Times in seconds, sizes in bytes, counts in items.

    `db` None means `blackboard.db` in `state_dir`; `state_dir` None the platform's place for state.
    `durability` full: an acknowledged event survives power loss; normal: `kill -9` only.
    """

    db: str | None = None
    state_dir: str | None = None
    durability: Durability = "full"
    auto_open: bool | None = None
    live_boards: int = 256
    idle_board_seconds: float = 900.0
    snapshot_every: int = 100_000
    batch_events: int = 2_000
    pending_commands: int = 10_000
    conflict_seconds: float = 10.0
    write_connections: int = 8
    read_connections: int = 8
    connect_seconds: float = 10.0
    statement_timeout_seconds: float = 30.0
    idle_in_transaction_seconds: float = 10.0
    isolation: Isolation = "read-committed"
    notify: bool = True
    poll_seconds: float = 1.0
    host: str = "127.0.0.1"
    port: int = 8377
    tls_cert: str | None = None
    tls_key: str | None = None
    behind_proxy: bool = False
    signing_key: str | None = None
    heartbeat_seconds: float = 15.0
    shutdown_seconds: float = 20.0
    rejections_per_minute: int = 600
    followers: int = 1_000
    command_bytes: int = 128 * 1024
    value_bytes: int = 64 * 1024
    key_bytes: int = 256
    writes_per_batch: int = 1_000


ABOUT: dict[str, str] = {
    "db": "The database: an SQLite file or a URL; default blackboard.db in the state directory.",
    "state_dir": "Where this machine's state is: the default database, the local operator's token.",
    "durability": "full survives power loss, normal survives `kill -9` only.",
    "auto_open": "Whether an agent's first command opens a board; default: embedded yes, server no.",
    "live_boards": "Boards held in memory at most.",
    "idle_board_seconds": "A board that nobody has used for so long leaves memory.",
    "snapshot_every": "Events between two snapshots of a board.",
    "batch_events": "Events in one commit at most.",
    "pending_commands": "Commands that may wait for one board; more are answered 503.",
    "conflict_seconds": "How long a command is tried again when other servers append to its board.",
    "write_connections": "PostgreSQL: connections that append; so many boards commit at once.",
    "read_connections": "PostgreSQL: connections that read.",
    "connect_seconds": "PostgreSQL: how long a connection may take to be made.",
    "statement_timeout_seconds": "PostgreSQL: the server ends a statement that takes longer.",
    "idle_in_transaction_seconds": "PostgreSQL: the server ends a transaction that waits longer for us.",
    "isolation": "PostgreSQL: the isolation level; every one is correct, read-committed the fastest.",
    "notify": "PostgreSQL: whether servers tell each other of new events, beside looking for them.",
    "poll_seconds": "PostgreSQL: how often a followed board is looked at where nobody has told of it.",
    "host": "The address to listen on; beyond loopback TLS is needed, or --behind-proxy.",
    "port": "The port to listen on; 0 takes a free one.",
    "tls_cert": "The certificate chain, as a PEM file.",
    "tls_key": "The certificate's key, as a PEM file.",
    "behind_proxy": "A proxy in front terminates TLS, so plain HTTP is served beyond loopback.",
    "signing_key": "The key file that signs; default signing.key in the state directory.",
    "heartbeat_seconds": "Between two heartbeats of a stream; its token is checked again at each.",
    "shutdown_seconds": "How long a stopping server waits for requests in flight.",
    "rejections_per_minute": "Rejected writes of one agent that are logged; more are answered 429.",
    "followers": "Streams open at once.",
    "command_bytes": "The largest command.",
    "value_bytes": "The largest value.",
    "key_bytes": "The longest key.",
    "writes_per_batch": "The most writes in one batch.",
}
"""What each setting is, in a line: for help pages and the reference."""

PREFIX = "BLACKBOARD_"
FILE_NAME = "blackboard.toml"
OPERATOR_TOKEN = "operator.token"  # noqa: S105 - a file name
SIGNING_KEY = "signing.key"
COMMAND_VARIABLES: dict[str, str] = {
    "BLACKBOARD_CONFIG": "the settings file, instead of `blackboard.toml` in the working directory",
    "BLACKBOARD_SERVER": "the server's address, as `--server`",
    "BLACKBOARD_TOKEN": "the bearer token for that server, as `--token`",
    "BLACKBOARD_BOARD": "the board, as `--board`",
    "BLACKBOARD_AGENT": "who acts on a file, as `--agent`",
    "BLACKBOARD_OPERATOR": "who acts on a file, as `--operator`",
    "BLACKBOARD_AUDITOR": "who acts on a file, as `--auditor`",
    "BLACKBOARD_DEBUG": "show the traceback of an unexpected failure, as `--debug`",
    "BLACKBOARD_PYTHON": "the interpreter with which the scripts of a checkout make `.venv`",
}
"""Variables that begin like a setting's and are none: the command and the scripts read them."""

_TYPES: dict[str, Any] = {field.name: field.type for field in msgspec.structs.fields(Settings)}


def load(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    file: str | Path | None = None,
    cwd: Path | None = None,
) -> Settings:
    """The settings of this process: the only function that looks for them outside its arguments.

    `flags` hold what the command line says (None: not given). `file` must exist when it is named; without
    it `blackboard.toml` in `cwd` is read where there is one. Raises `Malformed`, naming what is unknown or
    has no such value.
    """
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    named = file or environ.get("BLACKBOARD_CONFIG")
    path = cwd / (Path(named).expanduser() if named else FILE_NAME)
    table = parse_file(_read(path), str(path)) if named or path.exists() else {}
    given = parse_flags({name: value for name, value in (flags or {}).items() if value is not None})
    return resolve(combine(given, parse_environment(environ), table), environ, cwd)


def parse_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Check what the command line says."""
    return {name: _convert(f"--{name.replace('_', '-')}", name, value) for name, value in flags.items()}


def parse_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """The settings among the variables; one that begins with BLACKBOARD_ and means nothing is refused."""
    found = {}
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and variable not in COMMAND_VARIABLES:
            name = variable.removeprefix(PREFIX).lower()
            if name not in _TYPES or variable != variable.upper():
                _refuse(variable, [PREFIX + known.upper() for known in _TYPES], "environment variable")
            found[name] = _convert(variable, name, text)
    return found


def parse_file(text: str, origin: str = FILE_NAME) -> dict[str, Any]:
    """The settings in the text of a settings file; `origin` names it in messages."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Malformed(f"{origin} is not TOML: {error}", member=origin) from error
    for name in table:
        if name not in _TYPES:
            _refuse(name, _TYPES, f"key in {origin}")
    return {name: _convert(f"{name} in {origin}", name, value, strict=True) for name, value in table.items()}


def combine(*sources: Mapping[str, Any]) -> Settings:
    """Settings from what several sources say, the first of them first."""
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        merged |= source
    settings = Settings(**merged)
    if (settings.tls_cert is None) != (settings.tls_key is None):
        missing = "tls_cert" if settings.tls_cert is None else "tls_key"
        raise Malformed(f"TLS needs both tls_cert and tls_key; {missing} is not set", member=missing)
    return settings


def resolve(settings: Settings, environ: Mapping[str, str], cwd: Path) -> Settings:
    """The same settings with `state_dir` and `signing_key` absolute paths and `db` a database URL."""
    state = settings.state_dir
    place = _absolute(state, environ, cwd) if state else platform_state_dir(environ, cwd)
    url = f"sqlite:///{place / 'blackboard.db'}" if settings.db is None else None
    key = settings.signing_key
    return msgspec.structs.replace(
        settings,
        state_dir=str(place),
        db=url or database_url(str(settings.db), environ, cwd),
        signing_key=None if key is None else str(_absolute(key, environ, cwd)),
    )


def platform_state_dir(environ: Mapping[str, str], cwd: Path) -> Path:
    """Where this platform keeps state: `$XDG_STATE_HOME/blackboard`, else `~/.local/state/blackboard`."""
    base = environ.get("XDG_STATE_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: a relative one is ignored
        base = "~/.local/state"
    return _absolute(base, environ, cwd) / "blackboard"


def database_url(name: str, environ: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """A database URL from what people type: a URL stays as it is, a path becomes an SQLite URL. Raises
    `Malformed` for a URL of PostgreSQL without its //, which is no path and may hold a password.
    """
    if "://" not in name and name.startswith(("postgresql:", "postgres:")):
        raise Malformed("write a database on PostgreSQL as postgresql://user@host/database", member="db")
    environ = os.environ if environ is None else environ
    cwd = Path.cwd() if cwd is None else cwd
    if not name.startswith("sqlite:///"):
        return name if "://" in name else f"sqlite:///{_absolute(name, environ, cwd)}"
    return f"sqlite:///{_absolute(name.removeprefix('sqlite:///'), environ, cwd)}"


def make_state_dir(settings: Settings) -> Path:
    """The state directory, made with mode 0700 where it is missing. Raises `Malformed`."""
    place = Path(settings.state_dir) if settings.state_dir else platform_state_dir(os.environ, Path.cwd())
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Malformed(
            f"the state directory {place} cannot be made: {error.strerror}; name another as --state-dir, "
            "BLACKBOARD_STATE_DIR or state_dir",
            member="state_dir",
            value=str(place),
        ) from error
    return place


def operator_token(state_dir: str | Path) -> str | None:
    """The local operator's token, None where `state_dir` has none that only its owner can read."""
    path = Path(state_dir) / OPERATOR_TOKEN
    try:
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            return None
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def is_loopback(host: str) -> bool:
    """Whether a host (no URL) is this machine, reached by no other."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _absolute(name: str, environ: Mapping[str, str], cwd: Path) -> Path:
    home = environ.get("HOME")
    if home and (name == "~" or name.startswith("~/")):
        return Path(home) / name[2:]
    return cwd / Path(name).expanduser()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Malformed(f"the settings file {path} cannot be read: {reason}", member=str(path)) from error


def _convert(origin: str, name: str, value: Any, *, strict: bool = False) -> Any:
    if name not in _TYPES:
        _refuse(name, _TYPES, "setting")
    try:
        converted = msgspec.convert(value, _TYPES[name], strict=strict)
    except msgspec.ValidationError as error:
        reason = str(error)
        raise Malformed(f"{origin} cannot be {shorten(value)}: {reason}", member=name, value=value) from error
    _check(origin, name, converted)
    return converted


def _check(origin: str, name: str, value: Any) -> None:
    wrong = None
    if name == "port":
        wrong = None if 0 <= value <= 65535 else "a port is a number from 0 to 65535"
    elif isinstance(value, str):
        wrong = None if value and "\0" not in value else "it is empty or holds a NUL character"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        wrong = None if value > 0 and math.isfinite(value) else "it is a number above 0"
    if wrong:
        raise Malformed(f"{origin} cannot be {shorten(value)}: {wrong}", member=name, value=value)


def _refuse(name: str, known: Iterable[str], what: str) -> NoReturn:
    by_folded = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    hint = f"did you mean {by_folded[near[0]]!r}?" if near else "docs/reference/settings.md lists them"
    raise Malformed(f"unknown {what}: {shorten(name)}; {hint}", member=name)
