"""Baselines: sweeps pinned under a name.

Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    name, moment = sa.String(200), sa.DateTime(timezone=True)
    op.create_table(
        "baselines",
        sa.Column("name", name, nullable=False),
        sa.Column("sweep_id", sa.String(36), nullable=False),
        sa.Column("note", name, nullable=False),
        sa.Column("pinned_at", moment, nullable=False),
        sa.Column("pinned_by", name, nullable=False),
        sa.Column("expires_at", moment),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_baselines")),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f("fk_baselines_sweep_id_sweeps")
        ),
    )


def downgrade() -> None:
    op.drop_table("baselines")
