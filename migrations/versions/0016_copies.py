"""Calibrations copy memory too.

Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

KINDS = ("block", "collective", "gemm")
COPY = "copy"


def upgrade() -> None:
    allow(*KINDS, COPY)


def downgrade() -> None:
    """Copies are lost, and what was measured of them."""
    of_copies = f"SELECT id FROM trials WHERE kind = '{COPY}'"  # noqa: S608 - a constant
    for table in ("samples", "collective_samples", "profiles", "results", "attempts"):
        op.execute(f"DELETE FROM {table} WHERE trial_id IN ({of_copies})")  # noqa: S608
    trials = sa.table("trials", sa.column("kind", sa.String))
    op.execute(sa.delete(trials).where(trials.c.kind == COPY))
    points = sa.table("points", sa.column("kind", sa.String))
    op.execute(sa.delete(points).where(points.c.kind == COPY))
    allow(*KINDS)


def allow(*kinds: str) -> None:
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    name = op.f("ck_trials_kind")
    with op.batch_alter_table("trials") as trials:
        trials.drop_constraint(name, type_="check")
        trials.create_check_constraint(name, f"kind IN ({listed})")
