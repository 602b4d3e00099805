"""`connect` and `connect_sync`: from a URL to a board."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Generator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from blackboard import canonical, config
from blackboard.client.board import Board
from blackboard.client.portal import run, shared_loop
from blackboard.client.retry import RetryPolicy
from blackboard.client.sync import SyncBoard
from blackboard.config import Settings
from blackboard.errors import Malformed, NotAllowed
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.principal import Grants, Principal, Role

if TYPE_CHECKING:
    from blackboard.client.embedded import EmbeddedTransport

__all__ = ["Connecting", "Options", "connect", "connect_sync"]

EMBEDDED_GRANTS: Final = Grants(records=["chatter"])


class Options(TypedDict, total=False):
    """What `connect` takes besides the URL.

    `board`: the board's name; only listing boards and tokens does without. `agent`, `operator`, `auditor`:
    who acts. Embedded, exactly one of them is named; over HTTP the token says it, and a name given here must
    be the token's. `grants`: embedded, what the principal may do beyond its role (default: add chatter).
    `settings`: embedded, instead of those of environment and `blackboard.toml`.

    Over HTTP, `token`: the bearer token; else BLACKBOARD_TOKEN, else on loopback the local operator's.
    `timeout`: seconds without a byte after which an attempt is given up (30); `retry`: how often it is made
    again; `connections`: most requests in flight (128); `tls`: a context of your own for https.
    """

    board: str | None
    agent: str | None
    operator: str | None
    auditor: str | None
    grants: Grants | Mapping[str, Any] | None
    settings: Settings | None
    token: str | None
    timeout: float
    retry: RetryPolicy
    connections: int
    tls: ssl.SSLContext | None


def connect(url: str, **options: Unpack[Options]) -> Connecting:
    """Connect to a board: `await` it, or enter it with `async with`, and get a `Board`.

    An `http` or `https` URL is a server's. Anything else names a database in which the board lives
    embedded, in this process: `sqlite:///board.db` (made and migrated where needed), a path, `memory://`, or
    `postgresql://user:password@host/database`, which other processes and servers may use at the same time.
    Connections of one process to one database share one store, opened with the settings and the password of
    the first.

    Raises `Malformed` for arguments that do not fit, `NotAllowed` where a name is given that is not the
    token's, `StoreBusy` where another process owns the file, `SchemaMismatch` where this release does
    not work on the tables as they are, `Unavailable`.
    """
    return Connecting(url, _Checked(**options))


def connect_sync(url: str, **options: Unpack[Options]) -> SyncBoard:
    """The same for code without an event loop: a `SyncBoard`, which is its own context manager too."""
    checked = _Checked(**options)
    if _is_server(url):
        portal = shared_loop()
        board = run(portal, _open_server(url, checked))
        return SyncBoard(board, portal, lambda: run(portal, board.close()))
    transport = _open_embedded(url, checked)
    return SyncBoard(Board(transport, checked.board), transport.runtime, transport.close_blocking)


class Connecting:
    """A board that is about to be connected."""

    def __init__(self, url: str, checked: _Checked) -> None:
        self._url = url
        self._checked = checked
        self._board: Board | None = None

    def __await__(self) -> Generator[Any, None, Board]:
        return self._open().__await__()

    async def __aenter__(self) -> Board:
        self._board = await self._open()
        return self._board

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._board is not None:
            await self._board.close()

    async def _open(self) -> Board:
        if _is_server(self._url):
            return await _open_server(self._url, self._checked)
        transport = await asyncio.to_thread(_open_embedded, self._url, self._checked)
        return Board(transport, self._checked.board)


class _Checked(Struct, frozen=True, kw_only=True):
    """The options, each there and each of its form."""

    board: str | None = None
    agent: str | None = None
    operator: str | None = None
    auditor: str | None = None
    grants: Grants | Mapping[str, Any] | None = None
    settings: Settings | None = None
    token: str | None = None
    timeout: float = 30.0
    retry: RetryPolicy = RetryPolicy()
    connections: int = 128
    tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        for member in ("board", "agent", "operator", "auditor"):
            name = getattr(self, member)
            if name is not None:
                _check_name(name, member)
        if len(self.named) > 1:
            raise Malformed(f"one principal acts at a time, not {' and '.join(self.named)}", member="agent")
        if self.timeout <= 0:
            raise Malformed("timeout is a number of seconds above 0", member="timeout", value=self.timeout)
        if self.connections < 1:
            raise Malformed("connections are 1 or more", member="connections", value=self.connections)

    @property
    def named(self) -> dict[Role, str]:
        roles: tuple[Role, ...] = ("agent", "operator", "auditor")
        return {role: name for role in roles if (name := getattr(self, role)) is not None}

    @property
    def principal(self) -> Principal:
        """Who acts on an embedded board. Raises `Malformed`."""
        if not self.named:
            raise Malformed('an embedded board needs to know who acts: agent="executor"', member="agent")
        if self.token is not None:
            raise Malformed("an embedded board takes no token: the principal is named", member="token")
        ((role, name),) = self.named.items()
        return Principal(role=role, name=name, grants=_grants(self.grants))


def _check_name(name: object, member: str) -> None:
    if not isinstance(name, str):
        raise Malformed(f"{member} is a name, not {name!r}", member=member, value=name)
    canonical.check_identifier(name, member=member, max_bytes=DEFAULT_LIMITS.identifier_bytes)


def _grants(grants: Grants | Mapping[str, Any] | None) -> Grants:
    if grants is None:
        return EMBEDDED_GRANTS
    try:
        found = grants if isinstance(grants, Grants) else msgspec.convert(dict(grants), Grants)
        found.check_records("grants/records")
        return found
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise Malformed(f"these are no grants: {error}", member="grants", value=grants) from error


def _is_server(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _open_embedded(url: str, checked: _Checked) -> EmbeddedTransport:
    from blackboard.client.embedded import EmbeddedTransport  # noqa: PLC0415 - a server's client needs no store
    from blackboard.service.runtime import acquire  # noqa: PLC0415 - likewise

    principal = checked.principal
    settings = checked.settings if checked.settings is not None else config.load({"db": url})
    return EmbeddedTransport(acquire(config.database_url(url), settings), principal)


async def _open_server(url: str, checked: _Checked) -> Board:
    from blackboard.client.http import HttpTransport, ServerAddress  # noqa: PLC0415 - aiohttp takes its time

    if checked.grants is not None or checked.settings is not None:
        raise Malformed(
            "over HTTP the token carries the grants, and the server its settings", member="grants"
        )
    token = _token(url, checked)
    address = ServerAddress(url, token, checked.timeout, checked.connections, checked.tls, checked.retry)
    transport = HttpTransport(address)
    board = Board(transport, checked.board)
    if checked.named:
        try:
            await board.list_boards()
            _check_actor(transport.actor, checked.named)
        except BaseException:
            await board.close()
            raise
    return board


def _check_actor(actor: str | None, named: Mapping[Role, str]) -> None:
    ((role, name),) = named.items()
    if actor != f"{role}:{name}":
        raise NotAllowed(
            f"the token acts as {actor or 'someone unnamed'}, not as {role}:{name}; over HTTP the token says "
            f"who acts: leave {role}= out, or take the other token",
            members={"actor": actor},
        )


def _token(url: str, checked: _Checked) -> str | None:
    token = checked.token or os.environ.get("BLACKBOARD_TOKEN")
    if token is None and _is_loopback(url) and not checked.named.keys() - {"operator"}:
        token = config.operator_token(str(config.load().state_dir))
    if token is not None and not (token.isascii() and token.isprintable()):
        raise Malformed("a token is printable ASCII without line breaks", member="token")
    return token


def _is_loopback(url: str) -> bool:
    try:
        return config.is_loopback(urlsplit(url).hostname or "")
    except ValueError:  # no URL: whoever sends to it says so
        return False
