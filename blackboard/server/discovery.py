"""How local commands find the server: two files in its state directory.

`operator.token` (mode 0600) holds the token of the local operator, `server.json` the address. Both are
replaced whole, never written in place, so a reader sees the old file or the new one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from blackboard.config import OPERATOR_TOKEN, operator_token
from blackboard.errors import Malformed
from blackboard.messages.principal import Grants
from blackboard.messages.replies import TokenReply
from blackboard.server.tokens import TOKEN_PREFIX, digest_of, new_secret
from blackboard.service.effects import wall_clock
from blackboard.store.contract import Store, StoredToken

__all__ = [
    "SERVER_FILE",
    "RunningServer",
    "announce",
    "ensure_operator_token",
    "find_server",
    "read_operator_token",
    "retract",
]

SERVER_FILE: Final = "server.json"
LOCAL_OPERATOR: Final = "local"


class RunningServer(Struct, frozen=True, kw_only=True):
    """What `server.json` says. `pid` is for people to read: nothing is ever decided by it."""

    url: str
    database: str
    durability: str
    pid: int
    version: str
    token_file: str | None = None


async def ensure_operator_token(state_dir: str | Path, store: Store) -> Path:
    """The file with the local operator's token, which `store` knows afterwards; returns its path.

    A token that is there is kept, and made known to a store that has not met it (several databases may
    share one state directory). One that was revoked, has expired, or could be read by others is replaced.
    """
    path = Path(state_dir) / OPERATOR_TOKEN
    secret = read_operator_token(state_dir)
    stored = None if secret is None else await store.token(digest_of(secret))
    if stored is not None and not _is_over(stored.reply):
        return path
    if secret is None or stored is not None:
        secret = new_secret()
    now = wall_clock()
    reply = TokenReply(
        id="token-" + secrets.token_hex(8),
        role="operator",
        name=LOCAL_OPERATOR,
        boards=["*"],
        grants=Grants(),
        created_at=now,
    )
    await store.put_token(StoredToken(digest_of(secret), reply))
    _replace(path, secret + "\n")
    return path


def _is_over(reply: TokenReply) -> bool:
    return reply.revoked_at is not None or (reply.expires_at is not None and reply.expires_at <= wall_clock())


def read_operator_token(state_dir: str | Path) -> str | None:
    """The local operator's token, None where there is none that only its owner can read."""
    secret = operator_token(state_dir) or ""
    return secret if secret.startswith(TOKEN_PREFIX) and len(secret) >= len(TOKEN_PREFIX) + 43 else None


def announce(state_dir: str | Path, running: RunningServer) -> None:
    """Write `server.json`. Raises `Malformed` where the directory cannot be written."""
    _replace(Path(state_dir) / SERVER_FILE, msgspec.json.format(msgspec.json.encode(running)).decode() + "\n")


def retract(state_dir: str | Path, running: RunningServer) -> None:
    """Remove `server.json` where it still speaks of `running`, not of a server that started since."""
    if find_server(state_dir) == running:
        with contextlib.suppress(OSError):
            (Path(state_dir) / SERVER_FILE).unlink()


def find_server(state_dir: str | Path) -> RunningServer | None:
    """The server that announced itself last, None where none did. It may have ended since: ask it."""
    try:
        return msgspec.json.decode((Path(state_dir) / SERVER_FILE).read_bytes(), type=RunningServer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Malformed(
            f"{path} cannot be written: {error.strerror}; name another directory as --state-dir",
            member="state_dir",
            value=str(path),
        ) from error
