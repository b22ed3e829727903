"""Results keep what surrounded their timed steps.

Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    document = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    with op.batch_alter_table("results") as results:
        results.add_column(sa.Column("hosts", document, nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("results") as results:
        results.drop_column("hosts")
