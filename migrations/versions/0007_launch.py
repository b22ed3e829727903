"""Points say how their steps are started; those of before were started eagerly.

Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    with op.batch_alter_table("points") as points:
        points.add_column(
            sa.Column("launch", sa.String(40), nullable=False, server_default="eager")
        )
    with op.batch_alter_table("points") as points:
        points.alter_column("launch", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("points") as points:
        points.drop_column("launch")
