"""What a PostgreSQL URL names, and how it is said without its password."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from blackboard.errors import Malformed

SCHEMES = ("postgresql", "postgres")
PORT = 5432

SECRETS = frozenset({"password", "passfile", "sslpassword"})
"""Options of a URL that are never shown."""

_WRITING = "target_session_attrs=read-write"
_PRIMARY = "target_session_attrs=primary"

_FORM = "postgresql://user:password@host:5432/database"


class Address(NamedTuple):
    """A database: the URL that is handed to the driver, and the one that may be shown."""

    dsn: str
    shown: str


def parse(url: str) -> Address:
    """Read a URL. Raises `Malformed`, which shows nothing of what may be a password."""
    try:
        parts = urlsplit(url)
        place = _place(parts)
    except ValueError:
        raise _malformed("this URL's host or port cannot be read") from None
    if parts.scheme not in SCHEMES or "\0" in url:
        raise _malformed("this is no URL of a PostgreSQL database")
    if parts.fragment:
        raise _malformed("a URL ends at #: write it as %23 where it belongs to a name or password")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    if "@" in parts.path or not all(name.replace("_", "").isalpha() for name in given):
        # What stands there may be the rest of a password, and would be shown.
        raise _malformed("this URL's host cannot be read: in a name or password write @ / ? as %40 %2F %3F")
    database = unquote(parts.path[1:]) or given.get("database") or given.get("dbname")
    user = unquote(parts.username) if parts.username else given.get("user")
    shown = f"postgresql://{_named(user)}{place}/{quote(database or '', safe='')}{_options(given)}"
    # Both find the primary among several hosts; but the driver takes no session for read-write that is
    # read-only by our own wish, as those that read are.
    return Address("postgresql" + url[len(parts.scheme) :].replace(_WRITING, _PRIMARY), shown)


def _place(parts: SplitResult) -> str:
    if "," in parts.netloc:  # several hosts, of which the driver takes the first that answers
        return parts.netloc.rpartition("@")[2]
    host, port = parts.hostname, parts.port
    shown = f"[{host}]" if host and ":" in host else host or ""
    return shown if port in (None, PORT) else f"{shown}:{port}"


def _named(user: str | None) -> str:
    return f"{quote(user, safe='')}@" if user else ""


def _options(given: dict[str, str]) -> str:
    known = {"user", "database", "dbname"}
    kept = sorted((name, value) for name, value in given.items() if name not in SECRETS | known)
    return f"?{urlencode(kept, safe='/')}" if kept else ""


def _malformed(what: str) -> Malformed:
    return Malformed(f"{what}: write {_FORM}", member="db")
