"""Probes of calibrations are found among all points.

Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_PROBES = sa.text("kind <> 'block'")


def upgrade() -> None:
    op.create_index(
        "ix_points_probes",
        "points",
        ["sweep_id", "position"],
        sqlite_where=_PROBES,
        postgresql_where=_PROBES,
    )


def downgrade() -> None:
    op.drop_index("ix_points_probes", table_name="points")
