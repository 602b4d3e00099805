"""The release that reads board format 3; snapshots get a row that says when they are whole.

It also begins to say of each revision which releases work on it, so that servers of two releases may share
a database while one replaces the other. It only adds: the release before goes on with what it uses.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None
contracts = False

NAME = sa.Text().with_variant(TEXT(collation="C"), "postgresql")
FORMATS = sa.table("formats", sa.column("format", sa.Integer), sa.column("release", sa.Text))
OLD = sa.table(
    "snapshots",
    *(sa.column(name) for name in ("board", "fingerprint", "seq", "part", "digest", "state")),
)
PARTS = sa.table(
    "saved_parts", *(sa.column(name) for name in ("board", "fingerprint", "seq", "part", "state"))
)
BOARDS = sa.table(
    "saved_boards",
    *(sa.column(name) for name in ("board", "fingerprint", "seq", "digest", "parts", "bytes")),
)


def upgrade() -> None:
    op.bulk_insert(FORMATS, [{"format": 3, "release": "0.3.0"}])
    revisions()
    snapshots()
    copy()


def revisions() -> None:
    made = op.create_table(
        "revisions",
        sa.Column("revision", NAME, nullable=False),
        sa.Column("release", sa.Text, nullable=False, comment="the release that brought it"),
        sa.Column(
            "works_from", sa.Text, nullable=False, comment="the oldest revision whose release works on it"
        ),
        sa.PrimaryKeyConstraint("revision", name="pk_revisions"),
    )
    op.bulk_insert(
        made,
        [
            {"revision": "0001", "release": "0.1.0", "works_from": "0001"},
            {"revision": "0002", "release": "0.2.0", "works_from": "0001"},
            {"revision": "0003", "release": "0.3.0", "works_from": "0002"},
        ],
    )


def snapshots() -> None:
    op.create_table(
        "saved_boards",
        sa.Column("board", NAME, nullable=False),
        sa.Column("fingerprint", NAME, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column(
            "digest", sa.LargeBinary, nullable=False, comment="of the log's hash at seq and the whole state"
        ),
        sa.Column("parts", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False, comment="of all parts"),
        sa.PrimaryKeyConstraint("board", "fingerprint", "seq", name="pk_saved_boards"),
    )
    op.create_table(
        "saved_parts",
        sa.Column("board", NAME, nullable=False),
        sa.Column("fingerprint", NAME, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("part", sa.Integer, nullable=False, comment="0.. : a large state is stored in parts"),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("board", "fingerprint", "seq", "part", name="pk_saved_parts"),
    )


def copy() -> None:
    """What snapshots there are. One that was cut short stays unusable: its digest does not fit."""
    old = OLD.c
    key = (old.board, old.fingerprint, old.seq)
    op.execute(PARTS.insert().from_select([*PARTS.c.keys()], sa.select(*key, old.part, old.state)))
    whole = sa.select(*key, old.digest, sa.func.count(), sa.func.sum(sa.func.length(old.state)))
    op.execute(BOARDS.insert().from_select([*BOARDS.c.keys()], whole.group_by(*key, old.digest)))


def downgrade() -> None:
    for table in ("saved_parts", "saved_boards", "revisions"):
        op.drop_table(table)
    op.execute(FORMATS.delete().where(FORMATS.c.format == 3))
