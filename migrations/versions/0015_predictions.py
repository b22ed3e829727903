"""Points keep what was predicted of them before they ran.

Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "predictions",
        sa.Column("point_id", sa.String(36), nullable=False),
        sa.Column("hardware_key", sa.String(40), nullable=False),
        sa.Column("basis", sa.String(40), nullable=False),
        sa.Column("time_us", sa.Double(), nullable=False),
        sa.Column("low_us", sa.Double()),
        sa.Column("high_us", sa.Double()),
        sa.Column("calibration", sa.Text(), nullable=False),
        sa.Column("known_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("point_id", name=op.f("pk_predictions")),
        sa.ForeignKeyConstraint(
            ["point_id"], ["points.id"], name=op.f("fk_predictions_point_id_points")
        ),
    )


def downgrade() -> None:
    op.drop_table("predictions")
