"""Bearer tokens: made, looked up, listed, revoked.

A token is 256 random bits; the store keeps its SHA-256 and never the secret. Looking one up goes by that
digest, so nothing about a secret can be learnt from how long a comparison takes. What was looked up is
remembered for two seconds: a revocation made here counts at once, one made by another process within that.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final, NamedTuple, assert_never

import msgspec

from blackboard import canonical
from blackboard.errors import Malformed, NotAllowed, NotFound, Unauthenticated
from blackboard.messages import commands as ask
from blackboard.messages.limits import DEFAULT_LIMITS
from blackboard.messages.principal import Principal
from blackboard.messages.replies import TokenReply, TokensReply
from blackboard.service.effects import Clock, wall_clock
from blackboard.store.contract import Store, StoredToken

__all__ = ["TOKEN_PREFIX", "Tokens", "digest_of", "new_secret"]

TOKEN_PREFIX: Final = "bb_"  # noqa: S105 - what every token begins with
REMEMBERED_SECONDS: Final = 2.0
_REMEMBERED: Final = 4096
_NAME_BYTES: Final = DEFAULT_LIMITS.identifier_bytes
_PATTERNS: Final = 256
_DAY: Final = 86_400_000_000
_WILD: Final = frozenset("*?[")


class _Known(NamedTuple):
    """What was found for a digest: whom (None: nobody), until when that may be believed, when it expires."""

    principal: Principal | None
    until: float
    expires_at: int | None


def new_secret() -> str:
    """A fresh token: 256 random bits, URL-safe, recognisable by its prefix."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: bytes | str) -> bytes:
    """What the store keeps of a token."""
    return sha256(secret.encode() if isinstance(secret, str) else secret).digest()


class Tokens:
    """The tokens of one store. `now` is the clock that they are dated and expire by."""

    def __init__(self, store: Store, *, now: Clock = wall_clock) -> None:
        self._store = store
        self._now = now
        self._known: dict[bytes, _Known] = {}
        self._changes = 0

    def known(self, secret: bytes) -> Principal | None:
        """Who holds this token, where that was found out within the last two seconds."""
        known = self._known.get(sha256(secret).digest())
        if known is None or known.until <= time.monotonic():
            return None
        if known.expires_at is not None and known.expires_at <= self._now():
            return None
        return known.principal

    async def authenticate(self, secret: bytes) -> Principal:
        """Who holds this token. Raises `Unauthenticated`, the same for unknown, expired and revoked."""
        digest = sha256(secret).digest()
        known = self._known.get(digest)
        if known is None or known.until <= time.monotonic():
            known = await self._look_up(digest)
        if known.principal is None or (known.expires_at is not None and known.expires_at <= self._now()):
            raise Unauthenticated(
                "the token is unknown, expired or revoked; ask an operator for another "
                "(blackboard token create)"
            )
        return known.principal

    async def _look_up(self, digest: bytes) -> _Known:
        changes = self._changes
        stored = await self._store.token(digest)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        principal = (
            None if stored is None or stored.reply.revoked_at is not None else _principal(stored.reply)
        )
        expires_at = None if stored is None else stored.reply.expires_at
        known = _Known(principal, time.monotonic() + REMEMBERED_SECONDS, expires_at)
        if changes == self._changes:  # else a token was revoked meanwhile, perhaps this one
            self._known[digest] = known
        return known

    async def execute(self, principal: Principal, command: ask.TokenCommand) -> TokenReply | TokensReply:
        """Create, list or revoke. Raises `NotAllowed`, `Malformed`, `NotFound`."""
        match command:
            case ask.CreateToken():
                return await self.create(principal, command)
            case ask.ListTokens():
                return await self.listing(principal)
            case ask.RevokeToken(id=token_id):
                return await self.revoke(principal, token_id)
            case _ as unknown:
                assert_never(unknown)

    async def create(self, principal: Principal, command: ask.CreateToken) -> TokenReply:
        """Make a token within what `principal` may do; the reply holds the secret, this once."""
        _check_operator(principal)
        _check_wanted(command)
        _check_within(principal, command)
        secret, now = new_secret(), self._now()
        reply = TokenReply(
            id="token-" + secrets.token_hex(8),
            role=command.role,
            name=command.name,
            boards=command.boards,
            grants=command.grants,
            created_at=now,
            expires_at=None if command.days is None else now + round(command.days * _DAY),
        )
        await self._store.put_token(StoredToken(digest_of(secret), reply))
        return msgspec.structs.replace(reply, token=secret)

    async def listing(self, principal: Principal) -> TokensReply:
        """Every token whose boards are within the caller's, without secrets."""
        _check_operator(principal)
        stored = await self._store.tokens()
        return TokensReply(
            tokens=[one.reply for one in stored if _covers(principal.boards, one.reply.boards)]
        )

    async def revoke(self, principal: Principal, token_id: str) -> TokenReply:
        """End a token at once; revoking it again changes nothing. Raises `NotFound`."""
        _check_operator(principal)
        for stored in await self._store.tokens():
            if stored.reply.id == token_id and _covers(principal.boards, stored.reply.boards):
                return await self._revoke(stored)
        raise NotFound(
            f"there is no token {token_id!r} here; blackboard token list shows the ids",
            members={"value": token_id},
        )

    async def _revoke(self, stored: StoredToken) -> TokenReply:
        if stored.reply.revoked_at is not None:
            return stored.reply
        reply = msgspec.structs.replace(stored.reply, revoked_at=self._now())
        try:
            await self._store.put_token(StoredToken(stored.digest, reply))
        finally:
            self._changes += 1
            self._known.pop(stored.digest, None)
        return reply


def _principal(reply: TokenReply) -> Principal:
    return Principal(
        role=reply.role, name=reply.name, boards=tuple(reply.boards), grants=reply.grants, token_id=reply.id
    )


def _check_operator(principal: Principal) -> None:
    if principal.role != "operator":
        raise NotAllowed(
            f"tokens are an operator's business, and this one is {principal.actor}; ask an operator",
            members={"value": principal.role},
        )


def _check_wanted(command: ask.CreateToken) -> None:
    canonical.check_identifier(command.name, member="/name", max_bytes=_NAME_BYTES)
    _check_patterns(command.boards, "/boards", least=1)
    _check_patterns(command.grants.writes or (), "/grants/writes")
    _check_patterns(command.grants.records, "/grants/records")
    command.grants.check_records("/grants/records")
    if command.grants.prefix:
        canonical.check_identifier(command.grants.prefix, member="/grants/prefix", max_bytes=_NAME_BYTES * 2)


def _check_patterns(patterns: Sequence[str], member: str, *, least: int = 0) -> None:
    if not least <= len(patterns) <= _PATTERNS:
        raise Malformed(
            f"{member[1:]} names {len(patterns)} patterns; from {least} to {_PATTERNS} are accepted",
            member=member,
            limit=_PATTERNS,
            value=len(patterns),
        )
    for index, pattern in enumerate(patterns):
        canonical.check_identifier(pattern, member=f"{member}/{index}", max_bytes=_NAME_BYTES * 2)


def _check_within(principal: Principal, command: ask.CreateToken) -> None:
    """A token reaches no further than the operator's own, whose role alone gives it record kinds and
    the right to report compactions.
    """
    if not _covers(principal.boards, command.boards):
        raise NotAllowed(
            f"boards {command.boards} reach beyond this token's own: {list(principal.boards)}",
            members={"member": "/boards", "limit": list(principal.boards)},
        )
    own, wanted = principal.grants, command.grants
    if own.writes is not None and (wanted.writes is None or not _covers(own.writes, wanted.writes)):
        raise NotAllowed(
            f"grants.writes reaches beyond this token's own: {own.writes}",
            members={"member": "/grants/writes", "limit": own.writes},
        )
    if not wanted.prefix.startswith(own.prefix):
        raise NotAllowed(
            f"grants.prefix is not within this token's own: {own.prefix!r}",
            members={"member": "/grants/prefix", "limit": own.prefix},
        )
    if own.records and not _covers(own.records, wanted.records):
        raise NotAllowed(
            f"grants.records reaches beyond this token's own: {own.records}",
            members={"member": "/grants/records", "limit": own.records},
        )


def _covers(own: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether everything that a wanted pattern can match is surely matched by one of `own`."""
    return all(any(_within(pattern, outer) for outer in own) for pattern in wanted)


def _within(pattern: str, outer: str) -> bool:
    if outer in ("*", pattern):
        return True
    if _WILD.isdisjoint(pattern):
        return fnmatchcase(pattern, outer)
    stem = outer[:-1]
    return outer.endswith("*") and _WILD.isdisjoint(stem) and _literal(pattern).startswith(stem)


def _literal(pattern: str) -> str:
    """The part of a pattern before its first wildcard."""
    ends = [index for index, character in enumerate(pattern) if character in _WILD]
    return pattern[: ends[0]] if ends else pattern
