"""The log, its snapshots, tokens and formats."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
contracts = False

NAME = sa.Text().with_variant(TEXT(collation="C"), "postgresql")  # keys sort by code point everywhere
IS_ENTRY = sa.text("kind = 'entry.written'")
IS_FIRST = sa.text("request_digest IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "boards",
        sa.Column("id", NAME, nullable=False),
        sa.Column("opened_at", sa.BigInteger, nullable=False, comment="microseconds UTC"),
        sa.PrimaryKeyConstraint("id", name="pk_boards"),
    )
    events()
    op.create_table(
        "snapshots",
        sa.Column("board", NAME, nullable=False),
        sa.Column("fingerprint", NAME, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("part", sa.Integer, nullable=False, comment="0.. : a large state is stored in parts"),
        sa.Column(
            "digest", sa.LargeBinary, nullable=False, comment="of the log's hash at seq and the whole state"
        ),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("board", "fingerprint", "seq", "part", name="pk_snapshots"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", NAME, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False, comment="SHA-256 of the secret"),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("boards", sa.Text, nullable=False, comment="JSON list of patterns"),
        sa.Column("grants", sa.Text, nullable=False, comment="JSON object"),
        sa.Column("created_at", sa.BigInteger, nullable=False, comment="microseconds UTC"),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
    )
    formats()


def events() -> None:
    op.create_table(
        "events",
        sa.Column("board", NAME, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("actor", NAME, nullable=False),
        sa.Column("turn", sa.BigInteger),
        sa.Column("command_id", NAME, nullable=False),
        sa.Column("request_digest", sa.LargeBinary),
        sa.Column("key", NAME),
        sa.Column("revision", sa.BigInteger),
        sa.Column("recorded_at", sa.BigInteger, nullable=False, comment="microseconds UTC"),
        sa.Column("body", sa.Text, comment="canonical JSON, digested as stored; NULL once redacted"),
        sa.Column("salt", sa.LargeBinary, comment="16 bytes; NULL once redacted"),
        sa.Column("body_digest", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("board", "seq", name="pk_events"),
    )
    op.create_index(
        "uq_events_board_key_revision",
        "events",
        ["board", "key", "revision"],
        unique=True,
        sqlite_where=IS_ENTRY,
        postgresql_where=IS_ENTRY,
    )
    op.create_index(
        "uq_events_board_actor_command_id",
        "events",
        ["board", "actor", "command_id"],
        unique=True,
        sqlite_where=IS_FIRST,
        postgresql_where=IS_FIRST,
    )


def formats() -> None:
    made = op.create_table(
        "formats",
        sa.Column("format", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("release", sa.Text, nullable=False, comment="the first release that reads this format"),
        sa.PrimaryKeyConstraint("format", name="pk_formats"),
    )
    op.bulk_insert(made, [{"format": 1, "release": "0.1.0"}])


def downgrade() -> None:
    for table in ("formats", "tokens", "snapshots", "events", "boards"):
        op.drop_table(table)
