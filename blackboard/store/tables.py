"""The tables, as SQLAlchemy Core metadata. Alembic owns them: `migrations/` makes exactly these.

Every key of the log begins with the board: no global sequence, no foreign key across boards, no trigger.
`events` has no index beyond its keys: at groups of 64 each further one costs a third of the rate.

On SQLite `events` is an ordinary rowid table. Measured against WITHOUT ROWID (200,000 rows, one board
and fifty): appends of 300-byte rows are equal, scans within a tenth, but a row above 1 KiB spills from a
clustered key's page and then takes twice the space and half the rate.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import TEXT

from blackboard.events.kinds import EntryWritten

NAMING = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}
METADATA = MetaData(naming_convention=NAMING)

NAME = Text().with_variant(TEXT(collation="C"), "postgresql")
"""Text that is a key: it sorts by code point on every engine, whatever the language of a server is."""

IS_ENTRY = text(f"kind = '{EntryWritten.KIND}'")
IS_FIRST = text("request_digest IS NOT NULL")

boards = Table(
    "boards",
    METADATA,
    Column("id", NAME, nullable=False),
    Column("opened_at", BigInteger, nullable=False, comment="microseconds UTC"),
    PrimaryKeyConstraint("id"),
)

events = Table(
    "events",
    METADATA,
    Column("board", NAME, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("actor", NAME, nullable=False),
    Column("turn", BigInteger),
    Column("command_id", NAME, nullable=False),
    Column("request_digest", LargeBinary),
    Column("key", NAME),
    Column("revision", BigInteger),
    Column("recorded_at", BigInteger, nullable=False, comment="microseconds UTC"),
    Column("body", Text, comment="canonical JSON, digested as stored; NULL once redacted"),
    Column("salt", LargeBinary, comment="16 bytes; NULL once redacted"),
    Column("body_digest", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    PrimaryKeyConstraint("board", "seq"),
    Index(
        "uq_events_board_key_revision",
        "board",
        "key",
        "revision",
        unique=True,
        sqlite_where=IS_ENTRY,
        postgresql_where=IS_ENTRY,
    ),
    Index(
        "uq_events_board_actor_command_id",
        "board",
        "actor",
        "command_id",
        unique=True,
        sqlite_where=IS_FIRST,
        postgresql_where=IS_FIRST,
    ),
)

saved_boards = Table(
    "saved_boards",
    METADATA,
    Column("board", NAME, nullable=False),
    Column("fingerprint", NAME, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False, comment="of the log's hash at seq and the whole state"),
    Column("parts", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False, comment="of all parts"),
    PrimaryKeyConstraint("board", "fingerprint", "seq"),
)
"""Snapshots that are whole: the row is written after its parts."""

saved_parts = Table(
    "saved_parts",
    METADATA,
    Column("board", NAME, nullable=False),
    Column("fingerprint", NAME, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("part", Integer, nullable=False, comment="0.. : a large state is stored in parts"),
    Column("state", LargeBinary, nullable=False),
    PrimaryKeyConstraint("board", "fingerprint", "seq", "part"),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", NAME, nullable=False),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of the secret"),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("boards", Text, nullable=False, comment="JSON list of patterns"),
    Column("grants", Text, nullable=False, comment="JSON object"),
    Column("created_at", BigInteger, nullable=False, comment="microseconds UTC"),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("digest"),
)

formats = Table(
    "formats",
    METADATA,
    Column("format", Integer, nullable=False, autoincrement=False),
    Column("release", Text, nullable=False, comment="the first release that reads this format"),
    PrimaryKeyConstraint("format"),
)

revisions = Table(
    "revisions",
    METADATA,
    Column("revision", NAME, nullable=False),
    Column("release", Text, nullable=False, comment="the release that brought it"),
    Column("works_from", Text, nullable=False, comment="the oldest revision whose release works on it"),
    PrimaryKeyConstraint("revision"),
)
