"""Messages that take a finding back; going back, they are lost.

Revises: 0018
"""

from alembic import op

revision = "0019"
down_revision = "0018"

BEFORE = "'suspect', 'confirmed', 'recovered', 'test'"


def upgrade() -> None:
    _allow(f"{BEFORE}, 'withdrawn'")


def downgrade() -> None:
    op.execute("DELETE FROM deliveries WHERE announcement = 'withdrawn'")
    _allow(BEFORE)


def _allow(announcements: str) -> None:
    name = op.f("ck_deliveries_announcement")
    with op.batch_alter_table("deliveries") as table:
        table.drop_constraint(name, type_="check")
        table.create_check_constraint(name, f"announcement IN ({announcements})")
