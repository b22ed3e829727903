"""Findings: what the nights of schedules show, judged once for each sweep.

Revises: 0010
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"

STATES = "'suspect', 'confirmed', 'acknowledged', 'fixed', 'recovered', 'dismissed'"


def upgrade() -> None:
    key, name, moment = sa.String(40), sa.String(200), sa.DateTime(timezone=True)
    sweep_id, word = sa.String(36), sa.String(20)
    document = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    op.create_table(
        "judgements",
        sa.Column("sweep_id", sweep_id, nullable=False),
        sa.Column("policy", name, nullable=False),
        sa.Column("detector_version", sa.Integer(), nullable=False),
        sa.Column("judged_at", moment, nullable=False),
        sa.Column("num_nights", sa.Integer(), nullable=False),
        sa.Column("num_series", sa.Integer(), nullable=False),
        sa.Column("num_suspects", sa.Integer(), nullable=False),
        sa.Column("num_confirmed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("sweep_id", name=op.f("pk_judgements")),
        sa.ForeignKeyConstraint(
            ["sweep_id"], ["sweeps.id"], name=op.f("fk_judgements_sweep_id_sweeps")
        ),
    )
    op.create_index(op.f("ix_judgements_policy_judged_at"), "judgements", ["policy", "judged_at"])
    op.create_table(
        "findings",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("policy", name, nullable=False),
        sa.Column("hardware_key", key, nullable=False),
        sa.Column("kind", word, nullable=False),
        sa.Column("cause", word, nullable=False),
        sa.Column("state", word, nullable=False),
        sa.Column("dismissal", word),
        sa.Column("night_sweep_id", sweep_id, nullable=False),
        sa.Column("last_good_sweep_id", sweep_id),
        sa.Column("judged_sweep_id", sweep_id, nullable=False),
        sa.Column("nodes", document, nullable=False),
        sa.Column("cases", document, nullable=False),
        sa.Column("effect_relative", sa.Double(), nullable=False),
        sa.Column("normalised_effect", sa.Double()),
        sa.Column("covariate", sa.Text()),
        sa.Column("members", document, nullable=False),
        sa.Column("judged_by", document, nullable=False),
        sa.Column("inputs_hash", key, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("confirmed_at", moment),
        sa.Column("changed_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_findings")),
        *(
            sa.ForeignKeyConstraint(
                [column], ["sweeps.id"], name=op.f(f"fk_findings_{column}_sweeps")
            )
            for column in ("night_sweep_id", "last_good_sweep_id", "judged_sweep_id")
        ),
        sa.CheckConstraint(
            "kind IN ('level', 'drift', 'dispersion')", name=op.f("ck_findings_kind")
        ),
        sa.CheckConstraint(
            "cause IN ('method', 'roll_out', 'code', 'node', 'link', 'unexplained')",
            name=op.f("ck_findings_cause"),
        ),
        sa.CheckConstraint(f"state IN ({STATES})", name=op.f("ck_findings_state")),
        sa.CheckConstraint(
            "dismissal IN ('false_positive', 'hardware', 'method', 'merged', 'withdrawn')",
            name=op.f("ck_findings_dismissal"),
        ),
    )
    op.create_index(op.f("ix_findings_policy_hardware_key"), "findings", ["policy", "hardware_key"])
    op.create_index(op.f("ix_findings_state_id"), "findings", ["state", "id"])
    op.create_table(
        "finding_changes",
        sa.Column("finding_id", sa.String(36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", word, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("changed_by", name, nullable=False),
        sa.Column("changed_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("finding_id", "number", name=op.f("pk_finding_changes")),
        sa.ForeignKeyConstraint(
            ["finding_id"], ["findings.id"], name=op.f("fk_finding_changes_finding_id_findings")
        ),
        sa.CheckConstraint(f"state IN ({STATES})", name=op.f("ck_finding_changes_state")),
    )


def downgrade() -> None:
    op.drop_table("finding_changes")
    op.drop_index(op.f("ix_findings_state_id"), table_name="findings")
    op.drop_index(op.f("ix_findings_policy_hardware_key"), table_name="findings")
    op.drop_table("findings")
    op.drop_index(op.f("ix_judgements_policy_judged_at"), table_name="judgements")
    op.drop_table("judgements")
