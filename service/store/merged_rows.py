"""What the rows of a trial from another instance hold."""

from service.store.records import FailureRecord, Record, ResultRecord


def trial_row(record: Record) -> dict[str, object]:
    """The trial, as it ended."""
    trial = record.trial
    return {
        "id": trial.id,
        "sweep_id": record.sweep.id,
        "point_id": trial.points[0].id,
        "pair_point_id": trial.points[1].id if len(trial.points) > 1 else None,
        "kind": trial.kind,
        "replicate": trial.replicate,
        "position": trial.position,
        "state": record.state,
        "attempt": trial.attempt,
        "num_charged": trial.attempt,
        "ready_at": record.sweep.created_at,
        "started_at": trial.started_at,
        "finished_at": record.ended_at,
    }


def result_row(record: ResultRecord) -> dict[str, object]:
    """What it measured of one point."""
    same = (
        "point_id",
        "spec_key",
        "hardware_key",
        "link_class",
        "node",
        "group_id",
        "group_kind",
        "environment",
        "devices",
        "hosts",
        "proof",
        "summary",
        "quality",
        "stop_rule",
        "num_warmup_steps",
        "peak_memory_bytes",
        "wall_ns",
        "timed_ns",
        "created_at",
    )
    return {
        **{name: getattr(record, name) for name in same},
        "trial_id": record.trial.id,
        "sweep_id": record.sweep.id,
        "attempt": record.trial.attempt,
        "replicate": record.trial.replicate,
    }


def attempt_rows(record: FailureRecord) -> list[dict[str, object]]:
    """Every attempt at it."""
    return [{"trial_id": record.trial.id, **dict(attempt)} for attempt in record.attempts]
