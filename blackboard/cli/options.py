"""The options that commands share, and how a command becomes a click command."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import click

from blackboard.cli.session import ROLES, Session

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_DB = click.option("--db", metavar="FILE|URL", help="An SQLite file or database URL, opened in this process.")
_SERVER = click.option("--server", metavar="URL", help="A server, as http://HOST:PORT.")
_TOKEN = click.option("--token", metavar="TOKEN", help="The bearer token for the server.")
_BOARD = click.option("--board", metavar="NAME", help="The board (or BLACKBOARD_BOARD).")
_STATE = click.option("--state-dir", metavar="DIR", help="Where this machine's state is.")
_CONFIG = click.option("--config", metavar="FILE", help="Settings, instead of ./blackboard.toml.")
_JSON = click.option("--json", is_flag=True, help="Answer in JSON.")
_DEBUG = click.option("--debug", is_flag=True, help="Show the traceback of an unexpected failure.")
_WHO = {
    "agent": click.option("--agent", metavar="NAME", help="Act on a database as this agent."),
    "operator": click.option("--operator", metavar="NAME", help="Act on a database as this operator."),
    "auditor": click.option("--auditor", metavar="NAME", help="Act on a database as this auditor."),
}

HERE = (_STATE, _CONFIG, _JSON, _DEBUG)
"""Options of every command that reads settings."""

PLACE = (_DB, _SERVER, _TOKEN, *HERE)
"""Options of every command that goes to a server or a file."""

TURN = click.option("--turn", type=click.IntRange(min=0), metavar="N", help="The agent's turn number.")
KEY = click.option("--idempotency-key", metavar="KEY", help="Makes the command repeatable under this key.")


def command(
    name: str,
    *options: Callable[..., Any],
    acts: tuple[str, ...] = (),
    board: bool = True,
    demo: bool = True,
    group: click.Group | None = None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that goes to a board: its function gets a `Session` and its own options.

    A coroutine function is run to its end. Its docstring is the help text; `acts`, `board` and `demo` as
    in `Session`.
    """
    shared = ((_BOARD,) if board else ()) + tuple(_WHO[role] for role in ROLES if role in acts) + PLACE
    return build(name, options, shared, lambda flags: Session(acts, demo, flags), group)


def local(
    name: str, *options: Callable[..., Any], database: bool = False, group: click.Group | None = None
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that needs settings at most, and with `database` one database."""
    shared = ((_DB,) if database else ()) + HERE
    return build(name, options, shared, lambda flags: Session(flags=flags), group)


def build(
    name: str,
    options: tuple[Callable[..., Any], ...],
    shared: tuple[Callable[..., Any], ...],
    session: Callable[[dict[str, Any]], Session],
    group: click.Group | None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make the click command out of its own and its shared options."""
    names = {option.name for option in _parameters(shared)}
    assert names.isdisjoint(option.name for option in _parameters(options)), name

    def decorate(function: Callable[..., Any]) -> click.Command:
        def call(**given: Any) -> Any:
            flags = {key: value for key, value in given.items() if key in names}
            rest = {key: value for key, value in given.items() if key not in names}
            answer = function(session(flags), **rest)
            return asyncio.run(answer) if inspect.iscoroutine(answer) else answer

        call.__doc__ = function.__doc__
        wrapped: Callable[..., Any] = call
        for option in reversed(options + shared):
            wrapped = option(wrapped)
        make = click.command if group is None else group.command
        return make(name, short_help=_summary(function))(wrapped)

    return decorate


def _summary(function: Callable[..., Any]) -> str:
    # The first sentence, whole: click would cut it.
    return " ".join((inspect.getdoc(function) or "").split()).partition(". ")[0].rstrip(".") + "."


def _parameters(options: tuple[Callable[..., Any], ...]) -> list[click.Parameter]:
    def probe() -> None: ...

    for option in options:
        option(probe)
    found: list[click.Parameter] = getattr(probe, "__click_params__", [])
    return found
