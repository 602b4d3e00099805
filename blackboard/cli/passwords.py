"""Database URLs as they may be shown, and whether one holds a password."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qs, urlsplit

from blackboard.errors import Malformed

SHARED = ("postgresql://", "postgres://")
_SECRETS = ("password", "sslpassword")


def shown(url: str) -> str:
    """The URL without a password; of one that cannot be read, no more than its scheme."""
    if not url.startswith(SHARED):
        return url
    from blackboard.store.urls import identity

    try:
        return identity(url)
    except Malformed:
        return f"{url.partition('://')[0]}://..."


def holds_password(url: str) -> bool:
    """Whether who reads this URL has a password; also where it cannot be read."""
    if not url.startswith(SHARED):
        return False
    try:
        return _names_one(urlsplit(url))
    except ValueError:
        return True


def _names_one(parts: SplitResult) -> bool:
    # What stands behind a / or ? belongs to the password where an @ comes after it; so does a port that is
    # no number (`parts.port` raises then).
    torn = parts.port is not None and "@" in parts.path + parts.query
    return bool(parts.password) or torn or any(name in _SECRETS for name in parse_qs(parts.query))
