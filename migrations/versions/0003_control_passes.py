"""Samples of the control, which takes turns with the passes of a point.

Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

STEPS = ("clean", "split", "compute")
CONTROL = ("control_gemm", "control_collective")


def upgrade() -> None:
    allow(STEPS + CONTROL)


def downgrade() -> None:
    passes = sa.table("samples", sa.column("pass", sa.String))
    op.execute(sa.delete(passes).where(passes.c["pass"].in_(CONTROL)))
    allow(STEPS)


def allow(passes: tuple[str, ...]) -> None:
    listed = ", ".join(f"'{name}'" for name in passes)
    name = op.f("ck_samples_pass")
    with op.batch_alter_table("samples") as samples:
        samples.drop_constraint(name, type_="check")
        samples.create_check_constraint(name, f"pass IN ({listed})")
