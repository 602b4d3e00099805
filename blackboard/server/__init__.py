"""The board over HTTP: `run_server` is what `blackboard serve` runs.

`Application` is the ASGI application over a service; `Tokens` makes, lists and revokes tokens, on a store
alone too; `find_server` and `read_operator_token` are how local commands find a server that runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blackboard.server.app import Application
    from blackboard.server.discovery import (
        RunningServer,
        ensure_operator_token,
        find_server,
        read_operator_token,
    )
    from blackboard.server.run import run_server, serve
    from blackboard.server.tokens import Tokens

__all__ = [
    "Application",
    "RunningServer",
    "Tokens",
    "ensure_operator_token",
    "find_server",
    "read_operator_token",
    "run_server",
    "serve",
]

_HOMES = {
    "Application": "app",
    "Tokens": "tokens",
    "run_server": "run",
    "serve": "run",
}


def __getattr__(name: str) -> Any:
    # Imported when first used: a command that only looks for a server must not load an HTTP server.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'discovery')}"), name)
