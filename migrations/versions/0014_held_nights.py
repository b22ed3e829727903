"""Nights held against their schedule's baseline, and the A/A control of a schedule.

Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    sweep_id, name, moment = sa.String(36), sa.String(200), sa.DateTime(timezone=True)
    with op.batch_alter_table("schedules") as table:
        table.add_column(
            sa.Column("aa_control", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("schedules") as table:
        table.alter_column("aa_control", server_default=None)
    op.create_table(
        "schedule_comparisons",
        sa.Column("sweep_id", sweep_id, nullable=False),
        sa.Column("schedule_id", sweep_id, nullable=False),
        sa.Column("baseline", name, nullable=False),
        sa.Column("baseline_sweep_id", sweep_id),
        sa.Column("verdict", sa.String(20)),
        sa.Column("ratio", sa.Double()),
        sa.Column("ci_low", sa.Double()),
        sa.Column("ci_high", sa.Double()),
        sa.Column("num_points", sa.Integer(), nullable=False),
        sa.Column("num_slower", sa.Integer(), nullable=False),
        sa.Column("num_faster", sa.Integer(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("compared_at", moment, nullable=False),
        sa.CheckConstraint(
            "verdict IN ('faster', 'slower', 'same', 'inconclusive')",
            name=op.f("ck_schedule_comparisons_verdict"),
        ),
        sa.PrimaryKeyConstraint("sweep_id", name=op.f("pk_schedule_comparisons")),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f("fk_schedule_comparisons_sweep_id_sweeps")
        ),
        sa.ForeignKeyConstraint(
            ["schedule_id"],
            ["schedules.id"],
            name=op.f("fk_schedule_comparisons_schedule_id_schedules"),
        ),
        sa.ForeignKeyConstraint(
            ["baseline_sweep_id"],
            ["sweeps.id"],
            name=op.f("fk_schedule_comparisons_baseline_sweep_id_sweeps"),
        ),
    )
    op.create_index(
        op.f("ix_schedule_comparisons_schedule_id_sweep_id"),
        "schedule_comparisons",
        ["schedule_id", "sweep_id"],
    )


def downgrade() -> None:
    op.drop_table("schedule_comparisons")
    with op.batch_alter_table("schedules") as table:
        table.drop_column("aa_control")
