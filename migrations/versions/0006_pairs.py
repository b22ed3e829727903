"""Pairs: the second point knows its first, and a trial has a result of each of its points.

Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ID = sa.String(36)
SAMPLES = {"samples": ("pass", "rank"), "collective_samples": ("position",)}
MEASURED = "NOT is_rejected"


def upgrade() -> None:
    with op.batch_alter_table("points") as points:
        points.add_column(sa.Column("paired_with", ID, nullable=True))
        name = op.f("fk_points_paired_with_points")
        points.create_foreign_key(name, "points", ["paired_with"], ["id"])
    number_measured_points(f"{MEASURED} AND paired_with IS NULL")
    for table in SAMPLES:
        refer_to_no_result(table, "trial_id")
    identify("results", "trial_id", "point_id")
    for table, rest in SAMPLES.items():
        with op.batch_alter_table(table) as samples:
            samples.add_column(sa.Column("point_id", ID, nullable=True))
        op.execute(
            f"UPDATE {table} SET point_id = (SELECT point_id FROM results "  # noqa: S608 - constants
            f"WHERE results.trial_id = {table}.trial_id)"
        )
        with op.batch_alter_table(table) as samples:
            samples.alter_column("point_id", existing_type=ID, nullable=False)
        identify(table, "trial_id", "point_id", *rest)
        refer_to_result(table, "trial_id", "point_id")


def downgrade() -> None:
    """What was measured of second points is lost, and they with it."""
    of_second = "point_id IN (SELECT id FROM points WHERE paired_with IS NOT NULL)"
    for table in (*SAMPLES, "results"):
        op.execute(f"DELETE FROM {table} WHERE {of_second}")  # noqa: S608 - constants
    op.execute("UPDATE trials SET pair_point_id = NULL")
    op.execute("DELETE FROM points WHERE paired_with IS NOT NULL")
    for table, rest in SAMPLES.items():
        refer_to_no_result(table, "trial_id", "point_id")
        identify(table, "trial_id", *rest)
        with op.batch_alter_table(table) as samples:
            samples.drop_column("point_id")
    identify("results", "trial_id")
    for table in SAMPLES:
        refer_to_result(table, "trial_id")
    number_measured_points(MEASURED)
    with op.batch_alter_table("points") as points:
        points.drop_constraint(op.f("fk_points_paired_with_points"), type_="foreignkey")
        points.drop_column("paired_with")


def number_measured_points(condition: str) -> None:
    where = sa.text(condition)
    op.drop_index("uq_points_measured", table_name="points")
    op.create_index(
        op.f("uq_points_measured"),
        "points",
        ["sweep_id", "spec_key"],
        unique=True,
        sqlite_where=where,
        postgresql_where=where,
    )


def identify(table: str, *columns: str) -> None:
    """Replace the primary key."""
    name = op.f(f"pk_{table}")
    with op.batch_alter_table(table) as rows:
        rows.drop_constraint(name, type_="primary")
        rows.create_primary_key(name, list(columns))


def refer_to_no_result(table: str, *columns: str) -> None:
    with op.batch_alter_table(table) as samples:
        samples.drop_constraint(reference(table, columns), type_="foreignkey")


def refer_to_result(table: str, *columns: str) -> None:
    names = list(columns)
    with op.batch_alter_table(table) as samples:
        samples.create_foreign_key(reference(table, columns), "results", names, names)


def reference(table: str, columns: tuple[str, ...]) -> str:
    return op.f(f"fk_{table}_{'_'.join(columns)}_results")
