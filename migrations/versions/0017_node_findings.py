"""Findings of nodes that are flaky or missing; going back, they are lost.

Revises: 0016
"""

from alembic import op

revision = "0017"
down_revision = "0016"

OF_SERIES = "'level', 'drift', 'dispersion'"
OF_NODES = "'flaky', 'missing'"


def upgrade() -> None:
    _allow(f"{OF_SERIES}, {OF_NODES}")


def downgrade() -> None:
    lost = f"kind IN ({OF_NODES})"
    for table in ("deliveries", "finding_changes"):
        op.execute(
            f"DELETE FROM {table} WHERE finding_id IN (SELECT id FROM findings WHERE {lost})"  # noqa: S608 - our own words
        )
    op.execute(f"DELETE FROM findings WHERE {lost}")  # noqa: S608 - our own words
    _allow(OF_SERIES)


def _allow(kinds: str) -> None:
    name = op.f("ck_findings_kind")
    with op.batch_alter_table("findings") as table:
        table.drop_constraint(name, type_="check")
        table.create_check_constraint(name, f"kind IN ({kinds})")
