"""Where a command goes, and as whom: a server or a file, chosen once from flags, environment and settings."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

import blackboard
from blackboard import config
from blackboard.cli import output, passwords
from blackboard.cli.demo import BOARDS as DEMO_BOARDS
from blackboard.cli.demo import FILE as DEMO_FILE
from blackboard.errors import BlackboardError, NotFound, UnknownBoard

if TYPE_CHECKING:
    from blackboard.client import Board
    from blackboard.config import Settings

PROG = "blackboard"
ROLES = ("agent", "operator", "auditor")
_REACH_SECONDS = 0.5


@dataclass(frozen=True)
class Target:
    """A server (`token`) or a database; `found` tells how it was found where nobody named it."""

    url: str
    token: str | None = None
    found: str | None = None

    @property
    def is_server(self) -> bool:
        """Whether it is reached over HTTP."""
        return self.url.startswith(("http://", "https://"))

    @property
    def is_shared(self) -> bool:
        """Whether it is a database that several servers may share."""
        return self.url.startswith(passwords.SHARED)

    @property
    def file(self) -> Path | None:
        """The SQLite file, where it is one."""
        prefix = "sqlite:///"
        return Path(self.url.removeprefix(prefix)) if self.url.startswith(prefix) else None


@dataclass(frozen=True)
class Session:
    """One run of one command.

    `acts` are the roles that may run it; the first, unless it is `agent`, is who acts on a file when
    nobody is named. `demo`: without a target, a board of the demo is looked for in the demo's file too.
    """

    acts: tuple[str, ...] = ()
    demo: bool = True
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def json(self) -> bool:
        """Whether the answer is for a program."""
        return bool(self.flags.get("json"))

    @cached_property
    def settings(self) -> Settings:
        """The settings, with what the command line says laid over them."""
        named = {name: self.flags.get(name) for name in ("state_dir", "db")}
        return config.load(named, file=self.flags.get("config"))

    @cached_property
    def board(self) -> str:
        """The board that was named."""
        if not self._named_board:
            raise click.UsageError("name a board: --board NAME, or BLACKBOARD_BOARD in the environment")
        return self._named_board

    @property
    def database(self) -> str:
        """The URL of the database. Raises `NotFound` where it names a file that is not there."""
        found = Target(str(self.settings.db))
        if found.file is not None and not found.file.exists():
            raise NotFound(f"there is no file {found.file}: name another as --db")
        return found.url

    @property
    def _named_board(self) -> str | None:
        if "board" not in self.flags:  # the command concerns no board
            return None
        name = self.flags["board"] or os.environ.get("BLACKBOARD_BOARD")
        return str(name) if name else None

    @cached_property
    def target(self) -> Target:
        """Where the command goes: what a flag names, the environment's server, a local server, the file."""
        if self.flags.get("db") and self.flags.get("server"):
            raise click.UsageError("--db names a database and --server a server: give one of them")
        server = self.flags.get("server") or (
            not self.flags.get("db") and os.environ.get("BLACKBOARD_SERVER")
        )
        if server:
            url = _address(server)
            return Target(url, self._token(url))
        if self.flags.get("db"):
            return Target(str(self.settings.db))
        return self._found()

    def in_demo(self, target: Target) -> Target | None:
        """The demo's file, where nobody named a target and the board is one of its boards."""
        path = Path(str(self.settings.state_dir)) / DEMO_FILE
        known = self.demo and self._named_board in DEMO_BOARDS.values() and path.exists()
        if target.found is None or not known:
            return None
        return Target(f"sqlite:///{path}", found=f"the demo's file {path}")

    @cached_property
    def identity(self) -> dict[str, str]:
        """Who acts on a file, as `connect` takes it: one of agent, operator and auditor."""
        named = {role: self.flags[role] for role in ROLES if self.flags.get(role)}
        if len(named) > 1:
            raise click.UsageError(
                f"one identity acts at a time; got {', '.join(f'--{role}' for role in named)}"
            )
        if not named:
            named = self._identity_from_environment()
        for role in named:
            if role not in self.acts:
                wanted = " or ".join(f"--{role}" for role in self.acts)
                raise click.UsageError(f"this command acts as {wanted} NAME, not as --{role}")
        return named

    def again(self, command: str, *arguments: str) -> str:
        """The command line that goes on from this one, at the same place and as the same caller; a
        database's password is left out.
        """
        named = [
            part
            for option in ("board", *ROLES, "db", "server", "state_dir", "config")
            if (value := self.flags.get(option))
            for part in (f"--{option.replace('_', '-')}", passwords.shown(str(value)))
        ]
        return " ".join([program(), shlex.join([*command.split(), *arguments, *named])])

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Board]:
        """A connection to the board, closed when the block ends."""
        target = self.target
        if (there := self.in_demo(target)) and not await self._has_board(target):
            target = there
        async with blackboard.connect(target.url, **self._arguments(target)) as board:
            yield board

    def _arguments(self, target: Target) -> dict[str, Any]:
        arguments: dict[str, Any] = {"board": self.board if "board" in self.flags else None}
        if not target.is_server:
            return arguments | self.identity | {"settings": self.settings}
        named = {role: self.flags[role] for role in ROLES if self.flags.get(role)}
        if named and not self._named_token:
            ((role, name), *_) = named.items()
            raise click.UsageError(
                f"over HTTP the token says who acts: make one with `blackboard token create {role} {name}` "
                f"and give it as --token or BLACKBOARD_TOKEN (--{role} alone goes with --db)"
            )
        return arguments | named | {"token": target.token}

    async def _has_board(self, target: Target) -> bool:
        if target.file is not None and not target.file.exists():
            return False
        try:
            async with blackboard.connect(target.url, **self._arguments(target)) as board:
                await board.get_board()
        except UnknownBoard:
            return False
        except BlackboardError:
            if target.is_shared:
                raise
            return False
        return True

    def _identity_from_environment(self) -> dict[str, str]:
        for role in self.acts:
            if name := os.environ.get(f"BLACKBOARD_{role.upper()}"):
                return {role: name}
        if self.acts[0] == "agent":
            raise click.UsageError(
                "say which agent acts: --agent NAME, or BLACKBOARD_AGENT in the environment"
            )
        return {self.acts[0]: _user()}

    @property
    def _named_token(self) -> str | None:
        token = self.flags.get("token") or os.environ.get("BLACKBOARD_TOKEN")
        return str(token) if token else None

    def _token(self, url: str) -> str | None:
        if self._named_token:
            return self._named_token
        local = self._local_server()
        return local.token if local and _same_place(local.url, url) else None

    def _found(self) -> Target:
        local = self._local_server()
        if local:
            token = self._named_token or local.token
            return Target(local.url, token, found=f"the local server {local.url}")
        url = str(self.settings.db)
        return Target(url, found=f"the database {passwords.shown(url)}")

    def _local_server(self) -> Target | None:
        from blackboard.server.discovery import find_server, read_operator_token

        state = str(self.settings.state_dir)
        running = find_server(state)
        if running is None or not answers(running.url):
            return None
        return Target(running.url, read_operator_token(state))


def program() -> str:
    """How this command was called, so that a line which is told can be pasted."""
    called = Path(sys.argv[0])
    if called.name != PROG:
        return PROG
    found = shutil.which(PROG)
    if found is not None and Path(found).resolve() == called.resolve():
        return PROG
    script = called.parents[2] / "scripts" / PROG if called.parent.parent.name == ".venv" else called
    place = script if script.is_file() else called
    with contextlib.suppress(ValueError):
        return shlex.quote(f"./{place.relative_to(Path.cwd())}")
    return shlex.quote(str(place))


def _address(server: str) -> str:
    # Anything else would be taken for the name of a file, and the file would be made.
    if server.startswith(passwords.SHARED):
        raise click.UsageError(f"{passwords.shown(server)} is a database, not a server: name it as --db")
    place = urlsplit(server)
    if place.scheme in ("http", "https") and place.hostname:
        return server.rstrip("/")
    meant = server.partition("://")[2] or server
    raise click.UsageError(f"a server is named by its address, as http://{meant.strip('/')}; got {server!r}")


def answers(url: str) -> bool:
    """Whether somebody listens there."""
    # A file outlives a server that was killed: only one that can be reached counts.
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=_REACH_SECONDS):
            return True
    except OSError:
        return False


def _same_place(one: str, other: str) -> bool:
    local = {"localhost": "127.0.0.1", "::1": "127.0.0.1"}
    first, second = urlsplit(one), urlsplit(other)
    names = [local.get(place.hostname or "", place.hostname) for place in (first, second)]
    return names[0] == names[1] and first.port == second.port


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return output.visible(str(os.getuid()))
