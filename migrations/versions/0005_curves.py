"""Curves of collective times over message sizes, taken from files of nccl-tests.

Revises: 0004
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"

OPERATIONS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "gather",
    "scatter",
    "broadcast",
    "reduce",
    "sendrecv",
)


def upgrade() -> None:
    name = sa.String(200)
    document = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
    listed = ", ".join(f"'{operation}'" for operation in OPERATIONS)
    op.create_table(
        "curves",
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("hardware", name, nullable=False),
        sa.Column("content_sha256", sa.String(64), nullable=False),
        sa.Column("operation", sa.String(20), nullable=False),
        sa.Column("dtype", sa.String(40), nullable=False),
        sa.Column("num_ranks", sa.Integer(), nullable=False),
        sa.Column("num_nodes", sa.Integer()),
        sa.Column("accelerator", name, nullable=False),
        sa.Column("rows", document, nullable=False),
        sa.Column("source", name, nullable=False),
        sa.Column("imported_by", name, nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curves")),
        sa.UniqueConstraint(
            "hardware", "content_sha256", name=op.f("uq_curves_hardware_content_sha256")
        ),
        sa.CheckConstraint(f"operation IN ({listed})", name=op.f("ck_curves_operation")),
    )


def downgrade() -> None:
    op.drop_table("curves")
