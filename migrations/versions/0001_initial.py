"""Sweeps, the queue of trials, results with their samples, events, tokens and the fleet.

Revises: nothing
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

ID, KEY, WORD, NAME = sa.String(36), sa.String(40), sa.String(40), sa.String(200)
INSTANT = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
QUEUED = "state = 'queued'"
HELD = "state IN ('leased', 'running')"


def upgrade() -> None:
    create_fleet()
    create_sweeps()
    create_sweep_companions()
    create_points()
    create_trials()
    create_attempts()
    create_results()
    create_samples()
    create_events()
    create_tokens()


def downgrade() -> None:
    for table in (
        "tokens",
        "events",
        "collective_samples",
        "samples",
        "results",
        "attempts",
        "trials",
        "points",
        "replicates",
        "idempotency_keys",
        "sweep_tags",
        "sweeps",
        "pools",
        "nodes",
        "hardware",
    ):
        op.drop_table(table)


def create_fleet() -> None:
    op.create_table(
        "hardware",
        sa.Column("hardware_key", KEY, nullable=False),
        sa.Column("facts", DOCUMENT, nullable=False),
        sa.Column("accelerator", NAME, nullable=False),
        sa.Column("first_seen_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("hardware_key", name=op.f("pk_hardware")),
    )
    op.create_table(
        "nodes",
        sa.Column("name", NAME, nullable=False),
        sa.Column("pool", NAME, nullable=False),
        sa.Column("address", NAME, nullable=False),
        sa.Column("hardware_key", KEY, nullable=False),
        sa.Column("num_slots", sa.Integer, nullable=False),
        sa.Column("slot_memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("environment", DOCUMENT, nullable=False),
        sa.Column("topology", sa.Text, nullable=False),
        sa.Column("first_seen_at", INSTANT, nullable=False),
        sa.Column("last_seen_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_nodes")),
        reference("nodes", "hardware_key", "hardware.hardware_key"),
    )
    op.create_table(
        "pools",
        sa.Column("name", NAME, nullable=False),
        sa.Column("owner", NAME, nullable=False),
        sa.Column("lease_expires_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_pools")),
    )


def create_sweeps() -> None:
    op.create_table(
        "sweeps",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("spec", DOCUMENT, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("created_by", NAME, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("sampling", DOCUMENT, nullable=False),
        sa.Column("group_kind", sa.String(20), nullable=False),
        sa.Column("num_replicates", sa.Integer, nullable=False),
        sa.Column("num_devices", sa.Integer, nullable=False),
        sa.Column("degrees", DOCUMENT, nullable=False),
        sa.Column("accelerator_pattern", sa.String(600)),
        sa.Column("hardware_key", KEY),
        sa.Column("num_points", sa.Integer, nullable=False),
        sa.Column("num_rejected", sa.Integer, nullable=False),
        sa.Column("last_event_seq", sa.Integer, nullable=False),
        sa.Column("cancel_requested_at", INSTANT),
        sa.Column("finished_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweeps")),
        one_of("sweeps", "group_kind", "fresh", "regrouped"),
    )
    op.create_index(op.f("ix_sweeps_created_at_id"), "sweeps", ["created_at", "id"])
    partial_index("ix_sweeps_open", "sweeps", ["priority", "created_at"], "finished_at IS NULL")


def create_sweep_companions() -> None:
    op.create_table(
        "sweep_tags",
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("key", NAME, nullable=False),
        sa.Column("value", NAME, nullable=False),
        sa.PrimaryKeyConstraint("sweep_id", "key", name=op.f("pk_sweep_tags")),
        reference("sweep_tags", "sweep_id", "sweeps.id"),
    )
    op.create_index(
        op.f("ix_sweep_tags_key_value_sweep_id"), "sweep_tags", ["key", "value", "sweep_id"]
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("principal", NAME, nullable=False),
        sa.Column("key", NAME, nullable=False),
        sa.Column("body_hash", sa.String(64), nullable=False),
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("principal", "key", name=op.f("pk_idempotency_keys")),
        sa.ForeignKeyConstraint(
            ["sweep_id"],
            ["sweeps.id"],
            name=op.f("fk_idempotency_keys_sweep_id_sweeps"),
            deferrable=True,
            initially="DEFERRED",
        ),
    )
    op.create_table(
        "replicates",
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("sweep_id", "number", name=op.f("pk_replicates")),
        reference("replicates", "sweep_id", "sweeps.id"),
    )


def create_points() -> None:
    op.create_table(
        "points",
        sa.Column("id", ID, nullable=False),
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("spec", DOCUMENT, nullable=False),
        sa.Column("spec_key", KEY, nullable=False),
        sa.Column("is_rejected", sa.Boolean, nullable=False),
        sa.Column("rejection", DOCUMENT),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("model", NAME, nullable=False),
        sa.Column("block", WORD, nullable=False),
        sa.Column("arrangement", WORD, nullable=False),
        sa.Column("phase", WORD, nullable=False),
        sa.Column("tp_degree", sa.Integer, nullable=False),
        sa.Column("batch", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("dtype", WORD, nullable=False),
        sa.Column("collective_impl", WORD, nullable=False),
        sa.Column("overlap", WORD, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_points")),
        sa.UniqueConstraint("sweep_id", "position", name=op.f("uq_points_sweep_id_position")),
        reference("points", "sweep_id", "sweeps.id"),
    )
    partial_index(
        "uq_points_measured", "points", ["sweep_id", "spec_key"], "NOT is_rejected", unique=True
    )
    op.create_index(op.f("ix_points_spec_key"), "points", ["spec_key"])
    op.create_index(
        op.f("ix_points_model_block_phase_tp_degree"),
        "points",
        ["model", "block", "phase", "tp_degree"],
    )


def create_trials() -> None:
    op.create_table(
        "trials",
        sa.Column("id", ID, nullable=False),
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("point_id", ID, nullable=False),
        sa.Column("pair_point_id", ID),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("replicate", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("num_charged", sa.Integer, nullable=False),
        sa.Column("owner", NAME),
        sa.Column("lease_expires_at", INSTANT),
        sa.Column("ready_at", INSTANT, nullable=False),
        sa.Column("started_at", INSTANT),
        sa.Column("finished_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trials")),
        sa.UniqueConstraint(
            "sweep_id", "replicate", "position", name=op.f("uq_trials_sweep_id_replicate_position")
        ),
        reference("trials", "sweep_id", "sweeps.id"),
        reference("trials", "point_id", "points.id"),
        reference("trials", "pair_point_id", "points.id"),
        sa.ForeignKeyConstraint(
            ["sweep_id", "replicate"],
            ["replicates.sweep_id", "replicates.number"],
            name=op.f("fk_trials_sweep_id_replicate_replicates"),
        ),
        one_of("trials", "kind", "block", "collective", "gemm"),
        one_of(
            "trials",
            "state",
            "queued",
            "leased",
            "running",
            "succeeded",
            "failed",
            "cancelled",
        ),
    )
    op.create_index(op.f("ix_trials_sweep_id_state"), "trials", ["sweep_id", "state"])
    op.create_index(op.f("ix_trials_point_id_state"), "trials", ["point_id", "state"])
    partial_index("ix_trials_queued", "trials", ["sweep_id", "replicate", "position"], QUEUED)
    partial_index("ix_trials_held", "trials", ["sweep_id", "replicate"], HELD)


def create_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("trial_id", ID, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("owner", NAME, nullable=False),
        sa.Column("granted_at", INSTANT, nullable=False),
        sa.Column("started_at", INSTANT),
        sa.Column("ended_at", INSTANT),
        sa.Column("outcome", sa.String(20)),
        sa.Column("code", NAME),
        sa.Column("message", sa.Text),
        sa.Column("rank", sa.Integer),
        sa.Column("signal", sa.Integer),
        sa.Column("node", NAME),
        sa.Column("log_tail", sa.Text),
        sa.Column("is_final", sa.Boolean),
        sa.PrimaryKeyConstraint("trial_id", "attempt", name=op.f("pk_attempts")),
        reference("attempts", "trial_id", "trials.id"),
        one_of("attempts", "outcome", "succeeded", "failed", "expired", "released", "cancelled"),
    )


def create_results() -> None:
    op.create_table(
        "results",
        sa.Column("trial_id", ID, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("point_id", ID, nullable=False),
        sa.Column("replicate", sa.Integer, nullable=False),
        sa.Column("spec_key", KEY, nullable=False),
        sa.Column("hardware_key", KEY, nullable=False),
        sa.Column("link_class", NAME, nullable=False),
        sa.Column("node", NAME, nullable=False),
        sa.Column("group_id", NAME, nullable=False),
        sa.Column("group_kind", sa.String(20), nullable=False),
        sa.Column("environment", DOCUMENT, nullable=False),
        sa.Column("devices", DOCUMENT, nullable=False),
        sa.Column("proof", DOCUMENT, nullable=False),
        sa.Column("summary", DOCUMENT, nullable=False),
        sa.Column("quality", DOCUMENT, nullable=False),
        sa.Column("stop_rule", NAME, nullable=False),
        sa.Column("num_warmup_steps", sa.Integer, nullable=False),
        sa.Column("peak_memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("wall_ns", sa.BigInteger, nullable=False),
        sa.Column("timed_ns", sa.BigInteger, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("trial_id", name=op.f("pk_results")),
        reference("results", "trial_id", "trials.id"),
        reference("results", "sweep_id", "sweeps.id"),
        reference("results", "point_id", "points.id"),
        reference("results", "hardware_key", "hardware.hardware_key"),
        one_of("results", "group_kind", "fresh", "regrouped"),
    )
    op.create_index(op.f("ix_results_sweep_id_wall_ns"), "results", ["sweep_id", "wall_ns"])
    op.create_index(op.f("ix_results_point_id_replicate"), "results", ["point_id", "replicate"])
    op.create_index(
        op.f("ix_results_spec_key_hardware_key_created_at"),
        "results",
        ["spec_key", "hardware_key", "created_at"],
    )
    op.create_index(op.f("ix_results_created_at_trial_id"), "results", ["created_at", "trial_id"])


def create_samples() -> None:
    op.create_table(
        "samples",
        sa.Column("trial_id", ID, nullable=False),
        sa.Column("pass", sa.String(20), nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("num_steps", sa.Integer, nullable=False),
        sa.Column("step_ns", sa.LargeBinary, nullable=False),
        sa.Column("forward_ns", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("trial_id", "pass", "rank", name=op.f("pk_samples")),
        reference("samples", "trial_id", "results.trial_id"),
        one_of("samples", "pass", "clean", "split", "compute"),
    )
    op.create_table(
        "collective_samples",
        sa.Column("trial_id", ID, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("op", sa.String(20), nullable=False),
        sa.Column("place", NAME, nullable=False),
        sa.Column("message_bytes", sa.BigInteger, nullable=False),
        sa.Column("wire_ns", sa.LargeBinary, nullable=False),
        sa.Column("wait_ns", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("trial_id", "position", name=op.f("pk_collective_samples")),
        reference("collective_samples", "trial_id", "results.trial_id"),
        one_of("collective_samples", "op", "all_reduce", "all_gather", "reduce_scatter"),
    )


def create_events() -> None:
    op.create_table(
        "events",
        sa.Column("sweep_id", ID, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("data", DOCUMENT, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("sweep_id", "seq", name=op.f("pk_events")),
        reference("events", "sweep_id", "sweeps.id"),
    )


def create_tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("secret_sha256", sa.String(64), nullable=False),
        sa.Column("scopes", DOCUMENT, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT),
        sa.Column("revoked_at", INSTANT),
        sa.Column("last_used_at", INSTANT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )


def reference(table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}_{target.partition('.')[0]}")
    return sa.ForeignKeyConstraint([column], [target], name=name)


def one_of(table: str, column: str, *values: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=op.f(f"ck_{table}_{column}"))


def partial_index(
    name: str, table: str, columns: list[str], condition: str, *, unique: bool = False
) -> None:
    where = sa.text(condition)
    op.create_index(
        op.f(name), table, columns, unique=unique, sqlite_where=where, postgresql_where=where
    )
