"""Sweeps may ask for profiles, which are kept beside their results.

Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    with op.batch_alter_table("sweeps") as sweeps:
        sweeps.add_column(
            sa.Column("profile", sa.Boolean, nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("sweeps") as sweeps:
        sweeps.alter_column("profile", server_default=None)
    op.create_table(
        "profiles",
        sa.Column("trial_id", sa.String(36), nullable=False),
        sa.Column("point_id", sa.String(36), nullable=False),
        sa.Column("collective_share", sa.Double, nullable=True),
        sa.Column("trace_gzip", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("trial_id", "point_id", name=op.f("pk_profiles")),
        sa.ForeignKeyConstraint(
            ["trial_id", "point_id"],
            ["results.trial_id", "results.point_id"],
            name=op.f("fk_profiles_trial_id_results"),
        ),
    )


def downgrade() -> None:
    op.drop_table("profiles")
    with op.batch_alter_table("sweeps") as sweeps:
        sweeps.drop_column("profile")
