"""Takes away the snapshots in their old place, which no release from 0.3.0 on looks at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TEXT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None
contracts = True

NAME = sa.Text().with_variant(TEXT(collation="C"), "postgresql")
REVISIONS = sa.table(
    "revisions", *(sa.column(name, sa.Text) for name in ("revision", "release", "works_from"))
)


def upgrade() -> None:
    op.bulk_insert(REVISIONS, [{"revision": "0004", "release": "0.3.0", "works_from": "0003"}])
    op.drop_table("snapshots")


def downgrade() -> None:
    """Snapshots are made from the log: the release before makes its own."""
    op.execute(REVISIONS.delete().where(REVISIONS.c.revision == "0004"))
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
