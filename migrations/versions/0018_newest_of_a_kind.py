"""Indices for the newest results of a kind on one hardware.

Revises: 0017
"""

from alembic import op

revision = "0018"
down_revision = "0017"

POINTS = (("block", "phase", "dtype", "tp_degree"), ("tp_degree", "collective_impl"))
BEFORE, AFTER = ("point_id", "replicate"), ("point_id", "replicate", "hardware_key")


def upgrade() -> None:
    for columns in POINTS:
        op.create_index(_name("points", columns), "points", list(columns))
    op.drop_index(_name("results", BEFORE), "results")
    op.create_index(_name("results", AFTER), "results", list(AFTER))


def downgrade() -> None:
    op.drop_index(_name("results", AFTER), "results")
    op.create_index(_name("results", BEFORE), "results", list(BEFORE))
    for columns in reversed(POINTS):
        op.drop_index(_name("points", columns), "points")


def _name(table: str, columns: tuple[str, ...]) -> str:
    return op.f(f"ix_{table}_{'_'.join(columns)}")
