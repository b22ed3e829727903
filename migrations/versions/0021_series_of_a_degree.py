"""An index for the results of one kind of point at one TP degree: the series of a prediction.

Revises: 0020
"""

from alembic import op

revision = "0021"
down_revision = "0020"

COLUMNS = ("block", "phase", "dtype", "tp_degree", "collective_impl", "sweep_id")
NAME = f"ix_points_{'_'.join(COLUMNS)}"


def upgrade() -> None:
    op.create_index(op.f(NAME), "points", list(COLUMNS))


def downgrade() -> None:
    op.drop_index(op.f(NAME), "points")
