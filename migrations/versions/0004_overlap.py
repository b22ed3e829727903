"""Collectives that run under compute are timed on their own; ranks that send to one another.

Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

STANDALONE, SEND_RECV = "standalone", "send_recv"
PASSES = ("clean", "split", "compute", "control_gemm", "control_collective")
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")


def upgrade() -> None:
    with op.batch_alter_table("collective_samples") as samples:
        samples.add_column(
            sa.Column("timed_in", sa.String(20), nullable=False, server_default="split")
        )
    allow("collective_samples", "timed_in", *PASSES, STANDALONE, is_new=True)
    with op.batch_alter_table("collective_samples") as samples:
        samples.alter_column("timed_in", server_default=None)
    allow("samples", "pass", *PASSES, STANDALONE)
    allow("collective_samples", "op", *COLLECTIVES, SEND_RECV)


def downgrade() -> None:
    """Drop what older versions do not know, sample by sample; their results stay."""
    passes = sa.table("samples", sa.column("pass", sa.String))
    op.execute(sa.delete(passes).where(passes.c["pass"] == STANDALONE))
    timings = sa.table(
        "collective_samples", sa.column("op", sa.String), sa.column("timed_in", sa.String)
    )
    unknown = sa.or_(timings.c.op == SEND_RECV, timings.c.timed_in == STANDALONE)
    op.execute(sa.delete(timings).where(unknown))
    allow("samples", "pass", *PASSES)
    allow("collective_samples", "op", *COLLECTIVES)
    with op.batch_alter_table("collective_samples") as samples:
        samples.drop_constraint(op.f("ck_collective_samples_timed_in"), type_="check")
        samples.drop_column("timed_in")


def allow(table: str, column: str, *values: str, is_new: bool = False) -> None:
    listed = ", ".join(f"'{value}'" for value in values)
    name = op.f(f"ck_{table}_{column}")
    with op.batch_alter_table(table) as changed:
        if not is_new:
            changed.drop_constraint(name, type_="check")
        changed.create_check_constraint(name, f"{column} IN ({listed})")
