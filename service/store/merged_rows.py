"""What the rows of a trial from another instance hold."""

from collections.abc import Collection

from sqlalchemy import func

from service.store.models.sweep import SweepRow
from service.store.records import FailureRecord, Record, ResultRecord
from service.store.submission import sweep_row


def new_sweep_row(record: Record) -> dict[str, object]:
    """The sweep, which is over."""
    sweep = record.sweep
    row = sweep_row(
        sweep.id,
        sweep.spec,
        created_at=sweep.created_at,
        created_by=sweep.created_by,
        seed=sweep.seed,
        degrees=sweep.degrees,
        num_points=sweep.num_points,
        num_rejected=sweep.num_rejected,
    )
    return row | {"hardware_key": sweep.hardware_key, "finished_at": record.over_at}


def ended_sweep(record: Record) -> dict[str, object]:
    """Of a sweep that is here, what may be new once it is over again; what it is bound to stays."""
    sweep = record.sweep
    return {
        "hardware_key": func.coalesce(SweepRow.hardware_key, sweep.hardware_key),
        "num_points": sweep.num_points,
        "finished_at": record.over_at,
    }


def new_trial_row(record: Record) -> dict[str, object]:
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
        "ready_at": record.sweep.created_at,
        **ended_trial(record),
    }


def ended_trial(record: Record) -> dict[str, object]:
    """Of a trial, how it ended."""
    trial = record.trial
    return {
        "state": record.state,
        "attempt": trial.attempt,
        "num_charged": trial.attempt,
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


def attempt_rows(
    record: FailureRecord, *, besides: Collection[tuple[str, int]]
) -> list[dict[str, object]]:
    """Every attempt at it but those of `besides`, each a trial's id and a number."""
    trial_id = record.trial.id
    return [
        {"trial_id": trial_id, **dict(one)}
        for one in record.attempts
        if (trial_id, one.attempt) not in besides
    ]
