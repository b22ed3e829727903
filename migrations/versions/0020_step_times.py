"""Step time, compute time and control of a result, which its summary holds too, as columns.

Who compares thousands of results need not read their documents. On SQLite the columns come before
the documents, which a row has to be read through to reach what is behind them. Indices end
with what is newest, or with all that is asked.

Revises: 0019
"""

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"

DOCUMENT = sa.JSON(none_as_null=True).with_variant(
    postgresql.JSONB(none_as_null=True), "postgresql"
)
TIMES = ("step_time_us", "compute_time_us")
ORDER = ("group_kind", *TIMES, "control", "environment")
POINTS = "points"
RESULTS = "results"
Indices = tuple[tuple[str, tuple[str, ...]], ...]
BEFORE: Indices = (
    (POINTS, ("block", "phase", "dtype", "tp_degree")),
    (POINTS, ("tp_degree", "collective_impl")),
    (RESULTS, ("spec_key", "hardware_key", "created_at")),
)
AFTER: Indices = (
    (POINTS, ("block", "phase", "dtype", "sweep_id")),
    (POINTS, ("tp_degree", "collective_impl", "sweep_id")),
    (POINTS, ("model", "phase", "kind", "spec_key")),
    (RESULTS, ("spec_key", "hardware_key", "point_id", "sweep_id")),
)
AT_ONCE = 1000


def upgrade() -> None:
    for name in TIMES:
        op.add_column("results", sa.Column(name, sa.Double(), nullable=True))
    op.add_column("results", sa.Column("control", DOCUMENT, nullable=True))
    _fill()
    with op.batch_alter_table(RESULTS, partial_reordering=[ORDER]) as results:
        for name in TIMES:
            results.alter_column(name, existing_type=sa.Double(), nullable=False)
    _replace(BEFORE, AFTER)


def downgrade() -> None:
    _replace(AFTER, BEFORE)
    with op.batch_alter_table(RESULTS) as results:
        for name in ("control", *reversed(TIMES)):
            results.drop_column(name)


def _fill() -> None:
    """Read by Python: SQLite's own reading of a decimal number may be off in the last bit."""
    rows = sa.table(
        "results",
        sa.column("trial_id", sa.String),
        sa.column("point_id", sa.String),
        *(sa.column(name, sa.Double) for name in TIMES),
        sa.column("control", DOCUMENT),
    )
    is_this = (
        rows.c.trial_id == sa.bindparam("of_trial"),
        rows.c.point_id == sa.bindparam("of_point"),
    )
    change = sa.update(rows).where(*is_this)
    for several in _summaries():
        values = [
            {
                "of_trial": trial_id,
                "of_point": point_id,
                **{name: told[name] for name in TIMES},
                "control": json.dumps(told["control"]) if told.get("control") else None,
            }
            for trial_id, point_id, told in several
        ]
        op.get_bind().execute(change, values)


def _summaries() -> Iterator[list[tuple[str, str, dict[str, object]]]]:
    """Page by page; the engine leaves JSON as text."""
    rows = sa.table(
        "results",
        sa.column("trial_id", sa.String),
        sa.column("point_id", sa.String),
        sa.column("summary", DOCUMENT),
    )
    keys = (rows.c.trial_id, rows.c.point_id)
    page = sa.select(*keys, rows.c.summary).order_by(*keys).limit(AT_ONCE)
    found = op.get_bind().execute(page).all()
    while found:
        yield [(trial_id, point_id, json.loads(told)) for trial_id, point_id, told in found]
        last = sa.tuple_(*keys) > (found[-1][0], found[-1][1])
        found = op.get_bind().execute(page.where(last)).all()


def _replace(old: Indices, new: Indices) -> None:
    for table, columns in old:
        op.drop_index(_name(table, columns), table)
    for table, columns in new:
        op.create_index(_name(table, columns), table, list(columns))


def _name(table: str, columns: tuple[str, ...]) -> str:
    return op.f(f"ix_{table}_{'_'.join(columns)}")
