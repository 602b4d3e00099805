"""What a PostgreSQL server tells of itself: one statement, which needs no privilege beside CONNECT."""

from __future__ import annotations

import time
from typing import Any, Final

import asyncpg

Figures = dict[str, str | int | bool]

_ASK: Final = """
SELECT
  current_setting('server_version') AS version,
  current_setting('server_version_num')::int AS version_number,
  current_setting('fsync') AS fsync,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('synchronous_standby_names') AS synchronous_standbys,
  current_setting('full_page_writes') AS full_page_writes,
  current_setting('default_transaction_isolation') AS isolation,
  current_setting('server_encoding') AS encoding,
  (extract(epoch FROM current_setting('statement_timeout')::interval) * 1000)::int AS statement_timeout_ms,
  (extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval) * 1000)::int
    AS idle_in_transaction_ms,
  pg_is_in_recovery() AS replica,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
  (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS encrypted,
  coalesce(inet_client_addr() = inet_server_addr() OR inet_client_addr() <<= '127.0.0.0/8', true) AS local,
  pg_database_size(current_database()) AS bytes,
  current_setting('max_connections')::int
    - current_setting('superuser_reserved_connections')::int
    - coalesce(current_setting('reserved_connections', true)::int, 0) AS connections_most,
  (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
  (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user) AS role_connections_most,
  (SELECT count(*)::int FROM pg_stat_activity WHERE usename = current_user AND datid IS NOT NULL)
    AS role_connections,
  (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
    AS database_connections_most,
  (SELECT numbackends FROM pg_stat_database WHERE datname = current_database()) AS database_connections,
  pg_backend_pid() AS process,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock
"""

_ASK_LITTLE: Final = """
SELECT version() AS version, pg_backend_pid() AS process,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock
"""
"""For engines that speak the protocol and have other catalogues."""


_UNKNOWN: Final = (
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedObjectError,
    asyncpg.UndefinedColumnError,
    asyncpg.UndefinedTableError,
    asyncpg.FeatureNotSupportedError,
)


async def look(connection: asyncpg.Connection) -> Figures:
    """What the server on the other side of this connection tells. Raises what the driver raises.

    `clock_ahead_ms`: how far the server's clock is ahead of ours. `pooled`: a pooler stands between, which
    gave us another process than the one that answers. What an engine does not tell is left out.
    """
    try:
        row, began, ended = await _ask(connection, _ASK)
    except _UNKNOWN:
        row, began, ended = await _ask(connection, _ASK_LITTLE)
    told = {name: value for name, value in row.items() if value is not None}
    middle = (began + ended) * 500_000  # of two moments in seconds, in microseconds
    found: Figures = {"engine": "postgresql"}
    pooled = told.pop("process") != connection.get_server_pid()
    ahead = round((told.pop("clock") - middle) / 1000)
    return found | told | {"pooled": pooled, "clock_ahead_ms": ahead}


async def own_session(one: asyncpg.Connection, other: asyncpg.Connection) -> bool:
    """Whether each of two open connections has a process of the server for itself, as a session needs.

    A pooler in transaction mode gives the same process to both, or another one to each statement.
    """
    ask = "SELECT pg_backend_pid()"
    first, second, again = [await connection.fetchval(ask) for connection in (one, other, one)]
    return bool(first == again != second)


async def _ask(connection: asyncpg.Connection, statement: str) -> tuple[dict[str, Any], float, float]:
    began = time.time()
    row = await connection.fetchrow(statement)
    return dict(row), began, time.time()
