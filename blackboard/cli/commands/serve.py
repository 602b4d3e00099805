"""`serve`: the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec

from blackboard import config
from blackboard.cli import output, passwords
from blackboard.cli.options import local
from blackboard.cli.session import Session
from blackboard.config import Settings

_METAVARS: dict[type, str] = {int: "N", float: "SECONDS", str: "TEXT"}


def _option(field: msgspec.structs.FieldInfo) -> Callable[..., Any]:
    flag = f"--{field.name.replace('_', '-')}"
    text = config.ABOUT[field.name]
    kind = msgspec.inspect.type_info(field.type)
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    if any(isinstance(one, msgspec.inspect.BoolType) for one in kinds):
        return click.option(f"{flag}/--no-{flag[2:]}", field.name, default=None, help=text)
    literal = next((one for one in kinds if isinstance(one, msgspec.inspect.LiteralType)), None)
    if literal is not None:
        return click.option(
            flag, field.name, type=click.Choice([str(one) for one in literal.values]), help=text
        )
    number: type = {msgspec.inspect.IntType: int, msgspec.inspect.FloatType: float}.get(type(kinds[0]), str)
    return click.option(flag, field.name, type=number, metavar=_METAVARS[number], help=text)


def _settings() -> tuple[Callable[..., Any], ...]:
    return tuple(_option(field) for field in msgspec.structs.fields(Settings) if field.name != "state_dir")


@local("serve", *_settings())
def serve(session: Session, **flags: Any) -> int:
    """Run the server until SIGTERM or Ctrl-C; what was acknowledged is stored by then. Every option is a
    setting: BLACKBOARD_<NAME> in the environment and <name> in blackboard.toml mean the same.
    """
    from blackboard.server.run import run_server

    flags["state_dir"] = session.flags["state_dir"]
    settings = config.load(flags, file=session.flags["config"])
    if passwords.holds_password(flags["db"] or ""):
        output.note(
            "blackboard serve: the password in --db is in this machine's list of processes for all to see; "
            "give the URL as BLACKBOARD_DB or in blackboard.toml, or the password in PGPASSFILE"
        )
    return run_server(settings)
