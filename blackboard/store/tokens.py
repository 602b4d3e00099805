"""Tokens as columns of the table `tokens` and back."""

from __future__ import annotations

from typing import Any

import msgspec

from blackboard.messages.principal import Grants
from blackboard.messages.replies import TokenReply
from blackboard.store.contract import StoredToken

_boards = msgspec.json.Decoder(list[str])
_grants = msgspec.json.Decoder(Grants)
_encode = msgspec.json.Encoder(order="sorted").encode


def token_to_columns(token: StoredToken) -> tuple[Any, ...]:
    """The columns in the table's order. The secret is never among them."""
    reply = token.reply
    return (
        reply.id,
        token.digest,
        reply.role,
        reply.name,
        _encode(reply.boards).decode(),
        _encode(reply.grants).decode(),
        reply.created_at,
        reply.expires_at,
        reply.revoked_at,
    )


def token_from_columns(columns: tuple[Any, ...]) -> StoredToken:
    """The token that these columns hold."""
    identifier, digest, role, name, boards, grants, created_at, expires_at, revoked_at = columns
    reply = TokenReply(
        id=identifier,
        role=role,
        name=name,
        boards=_boards.decode(boards),
        grants=_grants.decode(grants),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )
    return StoredToken(digest, reply)
