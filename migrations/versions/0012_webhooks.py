"""Where findings are told, and each message with its attempts.

Revises: 0011
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    identity, name, word = sa.String(36), sa.String(200), sa.String(20)
    moment = sa.DateTime(timezone=True)
    document = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    op.create_table(
        "webhooks",
        sa.Column("id", identity, nullable=False),
        sa.Column("name", name, nullable=False),
        sa.Column("kind", word, nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text()),
        sa.Column("events", document, nullable=False),
        sa.Column("policy", name),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("created_by", name, nullable=False),
        sa.Column("disabled_at", moment),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
        sa.UniqueConstraint("name", name=op.f("uq_webhooks_name")),
        sa.CheckConstraint("kind IN ('webhook', 'slack', 'email')", name=op.f("ck_webhooks_kind")),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", identity, nullable=False),
        sa.Column("webhook_id", identity, nullable=False),
        sa.Column("finding_id", identity),
        sa.Column("announcement", word, nullable=False),
        sa.Column("state", word, nullable=False),
        sa.Column("body", sa.Text()),
        sa.Column("num_attempts", sa.Integer(), nullable=False),
        sa.Column("next_attempt_at", moment, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("finished_at", moment),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_deliveries_webhook_id_webhooks")
        ),
        sa.ForeignKeyConstraint(
            ["finding_id"], ["findings.id"], name=op.f("fk_deliveries_finding_id_findings")
        ),
        sa.CheckConstraint(
            "announcement IN ('suspect', 'confirmed', 'recovered', 'test')",
            name=op.f("ck_deliveries_announcement"),
        ),
        sa.CheckConstraint(
            "state IN ('pending', 'delivered', 'failed')", name=op.f("ck_deliveries_state")
        ),
    )
    op.create_index(op.f("ix_deliveries_webhook_id_id"), "deliveries", ["webhook_id", "id"])
    op.create_index(
        "ix_deliveries_pending",
        "deliveries",
        ["next_attempt_at"],
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )


def downgrade() -> None:
    op.drop_index("ix_deliveries_pending", table_name="deliveries")
    op.drop_index(op.f("ix_deliveries_webhook_id_id"), table_name="deliveries")
    op.drop_table("deliveries")
    op.drop_table("webhooks")
