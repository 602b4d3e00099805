"""The release that reads board format 2: records, verdicts and certificates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None
contracts = False

FORMATS = sa.table("formats", sa.column("format", sa.Integer), sa.column("release", sa.Text))


def upgrade() -> None:
    op.bulk_insert(FORMATS, [{"format": 2, "release": "0.2.0"}])


def downgrade() -> None:
    op.execute(FORMATS.delete().where(FORMATS.c.format == 2))
