"""A sweep as its rows tell it, and as it is before they can be read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from service.store import derived
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow
from service.store.states import ACTIVE, PointState, SweepState, TrialState
from workers.contract.calibration import AnySweepSpec, Probes
from workers.contract.expansion import Expansion


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as its rows tell it."""

    id: str
    name: str
    spec: AnySweepSpec
    created_at: datetime
    created_by: str
    priority: int
    tags: dict[str, str]
    seed: int
    state: SweepState
    hardware_key: str | None
    num_points: int
    """Points that are measured; the rejected are counted apart."""
    num_rejected: int
    num_trials: int
    num_done: int
    """Trials that are over, however they ended."""
    counts: dict[TrialState, int]
    """Trials by state; every state is there."""
    point_counts: dict[PointState, int]
    """Points by state; every state is there."""
    mean_trial_s: float | None
    """Wall time of a succeeded trial inside its group; None before the first."""
    cancel_requested_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class NamedSweep:
    """A sweep as it is chosen from a list."""

    id: str
    name: str
    spec: AnySweepSpec
    created_at: datetime
    state: SweepState


def as_submitted(
    sweep_id: str,
    spec: AnySweepSpec,
    *,
    created_at: datetime,
    created_by: str,
    seed: int,
    expansion: Expansion | Probes,
) -> Sweep:
    """What `find` would read: the commit, which a dispatcher may wait for, need not wait for it."""
    num_points, num_rejected = len(expansion.points), len(expansion.rejected)
    num_trials = len(expansion.trials) * spec.replicates
    return Sweep(
        id=sweep_id,
        name=spec.name,
        spec=spec,
        created_at=created_at,
        created_by=created_by,
        priority=spec.priority,
        tags=dict(spec.tags),
        seed=seed,
        state=SweepState.QUEUED,
        hardware_key=None,
        num_points=num_points,
        num_rejected=num_rejected,
        num_trials=num_trials,
        num_done=0,
        counts=dict.fromkeys(TrialState, 0) | {TrialState.QUEUED: num_trials},
        point_counts=dict.fromkeys(PointState, 0)
        | {PointState.QUEUED: num_points, PointState.REJECTED: num_rejected},
        mean_trial_s=None,
        cancel_requested_at=None,
        finished_at=None,
    )


def load(session: Session, chosen: Select[SweepRow]) -> list[Sweep]:
    """Those that a statement chooses, in its order."""
    rows = session.execute(
        chosen.add_columns(derived.sweep_state()), execution_options={"populate_existing": True}
    ).all()
    ids = [row.id for row, _ in rows]
    counts = derived.trial_counts(session, ids)
    point_counts = derived.point_counts(session, counts)
    means = _mean_trial_s(session, ids)
    return [
        _sweep(
            row,
            state=SweepState(state),
            counts=counts[row.id],
            point_counts=point_counts[row.id],
            mean_trial_s=means.get(row.id),
        )
        for row, state in rows
    ]


def _sweep(
    row: SweepRow,
    *,
    state: SweepState,
    counts: dict[TrialState, int],
    point_counts: dict[PointState, int],
    mean_trial_s: float | None,
) -> Sweep:
    num_trials = sum(counts.values())
    return Sweep(
        id=row.id,
        name=row.name,
        spec=row.spec,
        created_at=row.created_at,
        created_by=row.created_by,
        priority=row.priority,
        tags=dict(row.spec.tags),
        seed=row.seed,
        state=state,
        hardware_key=row.hardware_key,
        num_points=row.num_points,
        num_rejected=row.num_rejected,
        num_trials=num_trials,
        num_done=num_trials - sum(counts[active] for active in ACTIVE),
        counts=counts,
        point_counts=point_counts,
        mean_trial_s=mean_trial_s,
        cancel_requested_at=row.cancel_requested_at,
        finished_at=row.finished_at,
    )


def _mean_trial_s(session: Session, sweep_ids: Sequence[str]) -> dict[str, float]:
    rows = session.execute(
        select(ResultRow.sweep_id, func.avg(ResultRow.wall_ns))
        .where(ResultRow.sweep_id.in_(sweep_ids))
        .group_by(ResultRow.sweep_id)
    )
    return {sweep_id: float(mean) / 1e9 for sweep_id, mean in rows}
