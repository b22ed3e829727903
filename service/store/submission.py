"""A sweep becomes rows: its points, and their trials in a random order for each replicate."""

import hashlib
import random
from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import insert
from sqlalchemy.orm import Session

from service.store import events
from service.store.clock import db_time
from service.store.events import Happening
from service.store.ids import new_ids
from service.store.models.point import PointRow
from service.store.models.sweep import ReplicateRow, SweepRow, SweepTagRow
from service.store.models.trial import TrialRow
from service.store.states import EventKind, TrialState
from workers.contract.calibration import AnySweepSpec, Probes
from workers.contract.expansion import Expansion
from workers.contract.point import PointSpec
from workers.contract.probe import Measurable
from workers.contract.sharding import Rejection

TrialPoints = tuple[str, str | None, Measurable]
"""What one trial measures: a point's id, that of the other point of a pair, and the point."""

_INSERT_SWEEP = insert(SweepRow)
_INSERT_TAGS = insert(SweepTagRow)
_INSERT_POINTS = insert(PointRow)
_INSERT_REPLICATES = insert(ReplicateRow)
_INSERT_TRIALS = insert(TrialRow)


def insert_sweep(
    session: Session,
    sweep_id: str,
    spec: AnySweepSpec,
    *,
    created_by: str,
    seed: int,
    expansion: Expansion | Probes,
) -> datetime:
    """Write all rows of a new sweep; return when. `expansion` has at least one point."""
    degrees = sorted({point.tp_degree for point in expansion.points})
    connection = session.connection()  # the ORM has no object of these rows to keep in step
    now = db_time(session)
    row = sweep_row(
        sweep_id,
        spec,
        created_at=now,
        created_by=created_by,
        seed=seed,
        degrees=degrees,
        num_points=len(expansion.points),
        num_rejected=len(expansion.rejected),
    )
    connection.execute(_INSERT_SWEEP, row)
    insert_tags(session, sweep_id, spec)
    points = _insert_points(session, sweep_id, expansion)
    replicates = [{"sweep_id": sweep_id, "number": number} for number in range(spec.replicates)]
    connection.execute(_INSERT_REPLICATES, replicates)
    insert_trials(
        session, sweep_id, points, num_replicates=spec.replicates, seed=seed, ready_at=now
    )
    created: dict[str, JsonValue] = {
        "num_points": len(expansion.points),
        "counts": {"queued": len(points) * spec.replicates},
    }
    events.append(session, sweep_id, Happening(EventKind.SWEEP_CREATED, created))
    return now


def random_order(count: int, *, seed: int, replicate: int) -> list[int]:
    """Which position each trial has in the replicate's pass; the same for ever for one seed."""
    positions = list(range(count))
    random.Random(f"{seed}:{replicate}").shuffle(positions)  # noqa: S311 - an order, not a secret
    return positions


def seed_from(name: str) -> int:
    """An order that nobody chose, the same for ever for what is named: 31 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) >> 1


def sweep_row(
    sweep_id: str,
    spec: AnySweepSpec,
    *,
    created_at: datetime,
    created_by: str,
    seed: int,
    degrees: Sequence[int],
    num_points: int,
    num_rejected: int,
) -> dict[str, object]:
    """Return what a sweep's row holds before anything is measured; `degrees` ascend."""
    return {
        "id": sweep_id,
        "name": spec.name,
        "spec": spec,
        "created_at": created_at,
        "created_by": created_by,
        "priority": spec.priority,
        "seed": seed,
        "sampling": spec.sampling,
        "profile": spec.profile,
        "group_kind": spec.group_kind,
        "num_replicates": spec.replicates,
        "num_devices": degrees[-1],
        "degrees": tuple(degrees),
        "accelerator_pattern": _pattern(spec.where.accelerator),
        "num_points": num_points,
        "num_rejected": num_rejected,
        "last_event_seq": 0,
    }


def insert_tags(session: Session, sweep_id: str, spec: AnySweepSpec) -> None:
    """Write the tags of a new sweep."""
    if spec.tags:
        tags = [{"sweep_id": sweep_id, "key": k, "value": v} for k, v in spec.tags.items()]
        session.connection().execute(_INSERT_TAGS, tags)


def _insert_points(
    session: Session, sweep_id: str, expansion: Expansion | Probes
) -> list[TrialPoints]:
    """Write the measured points, then the rejected; return what each trial measures."""
    ids = new_ids(len(expansion.points) + len(expansion.rejected))
    rows: list[dict[str, object]] = []
    trials: list[TrialPoints] = []
    for points in expansion.trials:
        first, other = ids[len(rows)], ids[len(rows) + 1] if expansion.is_paired else None
        trials.append((first, other, points[0]))
        for spec in points:
            row = point_row(ids[len(rows)], sweep_id, len(rows), spec, rejection=None)
            rows.append(row if row["id"] == first else row | {"paired_with": first})
    for rejection in expansion.rejected:
        spec = rejection.spec
        rows.append(point_row(ids[len(rows)], sweep_id, len(rows), spec, rejection=rejection))
    session.connection().execute(_INSERT_POINTS, rows)
    return trials


def point_row(
    point_id: str, sweep_id: str, position: int, spec: Measurable, *, rejection: Rejection | None
) -> dict[str, object]:
    """Return what a point's row holds."""
    return {
        "id": point_id,
        "sweep_id": sweep_id,
        "position": position,
        "spec": spec,
        "spec_key": spec.spec_key,
        "is_rejected": rejection is not None,
        "rejection": rejection,
        "paired_with": None,
        "kind": spec.kind.value,
        "tp_degree": spec.tp_degree,
        "dtype": spec.dtype.value,
        "collective_impl": spec.collective_impl.value,
        "launch": spec.launch.value,
        **_of_a_block(spec),
    }


def _of_a_block(spec: Measurable) -> dict[str, object]:
    if not isinstance(spec, PointSpec):
        names = ("model", "block", "arrangement", "phase", "overlap")
        return {**dict.fromkeys(names, ""), "batch": 0, "seq": 0}
    return {
        "model": spec.model.name,
        "block": spec.block.value,
        "arrangement": spec.arrangement.value,
        "phase": spec.phase.value,
        "overlap": spec.overlap.value,
        "batch": spec.batch,
        "seq": spec.seq,
    }


def insert_trials(
    session: Session,
    sweep_id: str,
    points: Sequence[TrialPoints],
    *,
    num_replicates: int,
    seed: int,
    ready_at: datetime,
    after: int = 0,
) -> None:
    """Queue a trial of each for each replicate, in a random order behind `after` others."""
    ids = iter(new_ids(len(points) * num_replicates))
    rows = [
        {
            "id": next(ids),
            "sweep_id": sweep_id,
            "point_id": point_id,
            "pair_point_id": pair_point_id,
            "kind": spec.kind,
            "replicate": replicate,
            "position": after + position,
            "state": TrialState.QUEUED,
            "attempt": 0,
            "num_charged": 0,
            "ready_at": ready_at,
        }
        for replicate in range(num_replicates)
        for (point_id, pair_point_id, spec), position in zip(
            points, random_order(len(points), seed=seed, replicate=replicate), strict=True
        )
    ]
    session.connection().execute(_INSERT_TRIALS, rows)


def _pattern(accelerator: str | None) -> str | None:
    """Turn a part of a name into a LIKE pattern, escaped with a backslash."""
    if accelerator is None:
        return None
    escaped = accelerator.lower().replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
