"""The one seam where what PostgreSQL and its driver raise becomes an error of the tree.

PostgreSQL's codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

import ssl
from typing import Literal

from asyncpg.exceptions import InterfaceError, InternalClientError, PostgresError

from blackboard.errors import (
    BlackboardError,
    IntegrityFailure,
    Malformed,
    OutcomeUnknown,
    SchemaMismatch,
    StoreBusy,
    Unavailable,
)

Doing = Literal["connect", "read", "write"]
Taken = Literal["seq", "command"]


class WrongCount(Exception):
    """PostgreSQL reported another number of rows than it was given."""


DRIVER_ERRORS = (PostgresError, InterfaceError, InternalClientError, OSError, TimeoutError, WrongCount)
"""What the driver raises: PostgreSQL's errors, its own, and the network's."""

RETRY_SECONDS = 1

SERIALIZATION = "40001"
DEADLOCK = "40P01"
UNIQUE = "23505"
RETRIED = frozenset({SERIALIZATION, DEADLOCK})
"""Nothing is wrong: the same transaction goes through when it is tried again."""

REFUSED_USER = frozenset({"28P01", "28000"})
"""A wrong password, or none; a role that may not come in from here."""

_GONE = frozenset({"57P01", "57P02", "57P05"})
"""The server ended this session: shut down, crashed, or cut it for being idle."""

_SEQ_KEYS = ("pk_events", "pk_boards", "uq_events_board_key_revision")
_COMMAND_KEYS = ("uq_events_board_actor_command_id",)
# A distributed table's shards append a number to the names.


def state_of(error: BaseException) -> str:
    """The SQLSTATE, empty for what is not PostgreSQL's own."""
    return getattr(error, "sqlstate", None) or ""


def lost(error: BaseException) -> bool:
    """Whether the connection went away, so that nobody can say what became of its last statement."""
    if isinstance(error, PostgresError):
        state = state_of(error)
        return state[:2] == "08" or state in _GONE
    return isinstance(error, DRIVER_ERRORS) and not _refused(error)


def _refused(error: BaseException) -> bool:
    """Whether the driver did not send what it was given."""
    # Of the driver's own errors those about values are `ValueError`s too (its `DataError` is not public).
    return isinstance(error, InterfaceError) and isinstance(error, ValueError)


def taken(error: BaseException) -> Taken | None:
    """Which key of the log a row violates, None for another error."""
    if state_of(error) != UNIQUE:
        return None
    named = getattr(error, "constraint_name", None) or ""
    if named.startswith(_COMMAND_KEYS):
        return "command"
    return "seq" if named.startswith(_SEQ_KEYS) else None


def translated(error: BaseException, where: str, doing: Doing) -> BlackboardError:
    """What a caller is told. A write that failed was not stored, except after `OutcomeUnknown`.

    `where` is the database's URL without its password.
    """
    if doing == "connect":
        return _unreachable(error, where)
    if _refused(error):
        return _unstorable(error)
    if lost(error):
        return _cut(error, where, doing)
    return _answered(error, where, doing)


def closed(where: str) -> Unavailable:
    """The store was closed."""
    return Unavailable(f"the database {where} is not open", members={"retry_after": RETRY_SECONDS})


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")  # what follows is the driver's advice to programmers


def _said(error: BaseException) -> str:
    text = _first_line(error)
    if isinstance(error, PostgresError):
        return f"PostgreSQL says {state_of(error)}: {text}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _unstorable(error: BaseException) -> Malformed:
    cause = error.__cause__
    if isinstance(cause, UnicodeEncodeError):
        return Malformed("text with a lone surrogate is neither stored nor found", value=ascii(cause.object))
    if isinstance(cause, OverflowError) or "out of" in str(error):
        return Malformed("an integer beyond 64 bits is neither stored nor found")
    return Malformed(f"this value is neither stored nor found ({error})")


def _cut(error: BaseException, where: str, doing: Doing) -> BlackboardError:
    if doing == "read":
        return _unavailable(f"the connection to {where} was lost; try again", error)
    what = (
        f"{where} did not take what it was given"
        if isinstance(error, WrongCount)
        else f"the connection to {where} was lost while it wrote"
    )
    return OutcomeUnknown(
        f"{what}: it may or may not have been stored. Send it again with the same idempotency key "
        f"({_said(error)})",
        members={"retry_after": RETRY_SECONDS},
    )


def _unavailable(what: str, error: BaseException) -> Unavailable:
    return Unavailable(f"{what} ({_said(error)})", members={"retry_after": RETRY_SECONDS})


def _busy(what: str, error: BaseException) -> StoreBusy:
    return StoreBusy(f"{what} ({_said(error)})", members={"retry_after": RETRY_SECONDS})


def _unreachable(error: BaseException, where: str) -> BlackboardError:
    match state_of(error):
        case "28P01" | "28000":
            return _unavailable(
                f"{where} refuses this user: check its name and password, and the server's pg_hba.conf",
                error,
            )
        case "3D000":
            return _unavailable(f"{where} does not exist: create it, or name another database", error)
        case "42501":
            return _unavailable(f"{where} lets this user in nowhere: grant CONNECT on the database", error)
        case "53300":
            return _unavailable(
                f"{where} has no connection left: raise its max_connections, or lower write_connections and "
                "read_connections of the servers that share it",
                error,
            )
        case "57P03":
            return _unavailable(f"{where} is starting up or shutting down; try again", error)
        case "08P01":
            return _unavailable(
                f"{where} does not take the settings of a session: a pooler in between must hand them on "
                "(see the page on PostgreSQL: poolers)",
                error,
            )
        case "42704" | "22023":
            return Malformed(
                f"{where} has options that PostgreSQL does not take ({_first_line(error)})", member="db"
            )
        case _:
            return _not_there(error, where)


def _not_there(error: BaseException, where: str) -> BlackboardError:
    """What the driver or the network says where PostgreSQL said nothing."""
    # An SSLCertVerificationError is a ValueError too, and nothing is wrong with the request for it.
    if isinstance(error, ssl.SSLError):
        return _unavailable(
            f"no safe connection to {where}: check its certificate, and sslmode and sslrootcert of the URL",
            error,
        )
    if isinstance(error, ConnectionError) and "SSL upgrade" in str(error):
        return _unavailable(f"{where} speaks no TLS: set ssl = on there, or another sslmode here", error)
    if isinstance(error, FileNotFoundError):
        return _unavailable(f"{where} names a socket or a file of a certificate that is not there", error)
    if isinstance(error, ValueError):
        return Malformed(f"{where} has options that cannot be used ({_first_line(error)})", member="db")
    return _unavailable(
        f"{where} cannot be reached: check that PostgreSQL runs there, and the host and port", error
    )


def _answered(error: BaseException, where: str, doing: Doing) -> BlackboardError:
    stored = "nothing was stored; " if doing == "write" else ""
    state = state_of(error)
    match state:
        case "40001" | "40P01":
            return _busy(f"others keep changing the same rows of {where}; {stored}try again", error)
        case "55P03" | "57014":
            return _busy(
                f"{where} did not answer within the time a statement may take; {stored}try again, or raise "
                "statement_timeout_seconds",
                error,
            )
        case "22021" | "22P05":
            return Malformed("text with a NUL, or that the database's encoding has not, is not stored")
        case "25006":
            return _unavailable(
                f"{where} is read-only: it is a replica, or its default_transaction_read_only is on; {stored}"
                "name the primary",
                error,
            )
        case "25P03":
            return _unavailable(
                f"{where} ended a transaction that waited for longer than idle_in_transaction_seconds; "
                f"{stored}try again",
                error,
            )
        case "26000" | "42P05":
            return _unavailable(
                f"{where} does not keep prepared statements: a pooler in transaction mode is in between; "
                f"{stored}let it pool sessions (see the page on PostgreSQL: poolers)",
                error,
            )
        case "42P01" | "42703" | "3F000":
            return SchemaMismatch(
                f"{where} has not this release's tables; run `blackboard db upgrade` ({_said(error)})"
            )
        case "42501":
            return _unavailable(
                f"this user of {where} may not do that; {stored}grant it SELECT, INSERT, UPDATE and "
                "DELETE on the tables",
                error,
            )
        case "53100":
            return _unavailable(
                f"no space is left for {where}; {stored}free some: writing then goes on", error
            )
        case "XX001" | "XX002":
            return IntegrityFailure(
                f"{where} is damaged; {stored}keep a copy of it and restore a backup ({_said(error)})"
            )
        case _:
            return _unavailable(f"the database {where} cannot be used now; {stored}try again", error)
