"""Schedules, and every decision about a time that one of them named.

Revises: 0008
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    name, moment = sa.String(200), sa.DateTime(timezone=True)
    document = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("name", name, nullable=False),
        sa.Column("cron", name, nullable=False),
        sa.Column("zone", name, nullable=False),
        sa.Column("sweep", document, nullable=False),
        sa.Column("baseline", name),
        sa.Column("catch_up", sa.String(20), nullable=False),
        sa.Column("most_catch_ups", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.String(20), nullable=False),
        sa.Column("jitter_s", sa.Integer(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("created_by", name, nullable=False),
        sa.Column("decided_until", moment, nullable=False),
        sa.Column("next_start_at", moment),
        sa.Column("paused_at", moment),
        sa.Column("paused_until", moment),
        sa.Column("pause_reason", name, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
        sa.UniqueConstraint("name", name=op.f("uq_schedules_name")),
        sa.CheckConstraint(
            "catch_up IN ('skip', 'latest', 'all')", name=op.f("ck_schedules_catch_up")
        ),
        sa.CheckConstraint(
            "overlap IN ('skip', 'queue', 'cancel_previous')", name=op.f("ck_schedules_overlap")
        ),
    )
    op.create_index(op.f("ix_schedules_next_start_at"), "schedules", ["next_start_at"])
    op.create_table(
        "schedule_decisions",
        sa.Column("schedule_id", sa.String(36), nullable=False),
        sa.Column("scheduled_for", moment, nullable=False),
        sa.Column("decided_at", moment, nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("sweep_id", sa.String(36)),
        sa.PrimaryKeyConstraint("schedule_id", "scheduled_for", name=op.f("pk_schedule_decisions")),
        sa.ForeignKeyConstraint(
            ["schedule_id"],
            ["schedules.id"],
            name=op.f("fk_schedule_decisions_schedule_id_schedules"),
        ),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f("fk_schedule_decisions_sweep_id_sweeps")
        ),
        sa.CheckConstraint(
            "action IN ('fired', 'skipped', 'missed', 'refused')",
            name=op.f("ck_schedule_decisions_action"),
        ),
    )


def downgrade() -> None:
    op.drop_table("schedule_decisions")
    op.drop_index(op.f("ix_schedules_next_start_at"), table_name="schedules")
    op.drop_table("schedules")
