"""`blackboard serve`: from settings to a server that runs until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import uvicorn

from blackboard import __version__
from blackboard.config import Settings, is_loopback, make_state_dir
from blackboard.errors import BlackboardError, Malformed, Unavailable
from blackboard.server.app import Application
from blackboard.server.connections import KEEP_ALIVE_SECONDS, Connection, HttpServer
from blackboard.server.discovery import RunningServer, announce, ensure_operator_token, retract
from blackboard.server.supervisor import tell_supervisor
from blackboard.service import Service
from blackboard.store import open_store

__all__ = ["run_server", "serve"]

BACKLOG: Final = 2048
SWITCH_SECONDS: Final = 0.0001
"""How long a thread that has something to do waits for the one that runs. The store's thread has, several
times in each commit, and Python's own 5 ms are longer than a commit."""

FORCED: Final = 2
"""The exit code of a server that was told twice to stop, and did not wait."""


def run_server(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code. Everything it says goes to stderr.

    `settings` as `config.load` returns them. Raises nothing that a user could cause: what cannot be served is
    told in one line.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    # What the imports left lives as long as the process: no collection need look at it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        _check_binding(settings)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(serve(settings))
    except BlackboardError as error:
        _say(f"blackboard serve: {error.detail}")
        return error.exit_code
    except KeyboardInterrupt:
        return FORCED


async def serve(settings: Settings, *, ready: Callable[[RunningServer], None] | None = None) -> int:
    """Serve until a signal; `ready` is called once connections are accepted."""
    state_dir = make_state_dir(settings)
    listening = _listen(settings)
    local = is_loopback(settings.host) and not settings.behind_proxy
    async with _store_of(settings) as service:
        token_file = (
            await ensure_operator_token(state_dir, service.store) if is_loopback(settings.host) else None
        )
        application = Application(service, settings, local=local)
        server = HttpServer(_config(application, settings), application.stop)
        running = _describe(settings, service, listening, token_file)
        announce(state_dir, running)
        _say(_readiness(running, shared=service.store.shared))
        tell_supervisor("READY=1")
        if ready is not None:
            ready(running)
        try:
            await server.serve(sockets=[listening])
        finally:
            retract(state_dir, running)
        if server.force_exit:
            _say("blackboard serve: stopped without waiting for what was under way")
            return FORCED
    _say("blackboard serve: stopped; everything that was acknowledged is stored")
    return 0


@contextlib.asynccontextmanager
async def _store_of(settings: Settings) -> AsyncIterator[Service]:
    """A service over the settings' store, drained and closed at the end, whatever happens."""
    store = await open_store(str(settings.db), settings)
    try:
        service = Service(store, settings)
        try:
            yield service
        finally:
            await service.close()
    finally:
        await store.close()


def _config(application: Application, settings: Settings) -> uvicorn.Config:
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
    )
    try:
        config.load()
    except OSError as error:
        raise Malformed(
            f"no TLS with {settings.tls_cert} and {settings.tls_key}: {error.strerror or error}",
            member="tls_cert",
            value=settings.tls_cert,
        ) from error
    return config


def _check_binding(settings: Settings) -> None:
    """Tokens must not cross a network in the clear."""
    if is_loopback(settings.host) or settings.tls_cert or settings.behind_proxy:
        return
    raise Malformed(
        f"{settings.host} can be reached from other machines, and tokens would cross the network in the "
        "clear: give --tls-cert and --tls-key, or --behind-proxy where a proxy terminates TLS",
        member="host",
        value=settings.host,
    )


def _listen(settings: Settings) -> socket.socket:
    host, port = settings.host, settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise Unavailable(f"{host} is no address of this machine: {error.strerror}") from error
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"{host}:{port} cannot be listened on: {error.strerror}; another server may be there. Choose "
            "another with --port (0: any that is free)"
        ) from error
    return listening


def _describe(
    settings: Settings, service: Service, listening: socket.socket, token_file: Path | None
) -> RunningServer:
    host, port = listening.getsockname()[:2]
    scheme = "https" if settings.tls_cert else "http"
    name = settings.host if settings.host == "localhost" else f"[{host}]" if ":" in host else host
    return RunningServer(
        url=f"{scheme}://{name}:{port}",
        database=service.store.url,
        durability=settings.durability,
        pid=os.getpid(),
        version=__version__,
        token_file=None if token_file is None else str(token_file),
    )


def _readiness(running: RunningServer, *, shared: bool) -> str:
    token = f"token in {running.token_file}" if running.token_file else _first_token(running, shared=shared)
    told = (running.url, running.database, f"durability {running.durability}", token)
    return f"blackboard serve: ready at {' · '.join(told)}"


def _first_token(running: RunningServer, *, shared: bool) -> str:
    # A file has one owner, and that is this server.
    when = "" if shared else ", while no server runs"
    return f"make a token{when}: blackboard token create operator NAME --db {shlex.quote(running.database)}"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - absent on some platforms
    except ImportError:  # Windows
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
