"""Sweeps: created, looked at, stopped, put back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import Select, bindparam, func, select, tuple_
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store import derived, sweep_changes
from service.store.idempotency import IdempotencyKey, reserve
from service.store.ids import new_id
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow, SweepTagRow
from service.store.pages import Page, cut, decode_cursor
from service.store.states import ACTIVE, PointState, SweepState, TrialState
from service.store.submission import insert_sweep
from workers.contract.calibration import AnySweepSpec, Probes
from workers.contract.sweep import Expansion

_OPEN = (SweepState.QUEUED, SweepState.RUNNING)
"""States of few sweeps, whatever there was before: only those are looked at."""


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


def create(
    session: Session,
    spec: AnySweepSpec,
    *,
    created_by: str,
    seed: int,
    expansion: Expansion | Probes,
    idempotency: IdempotencyKey | None = None,
) -> Sweep:
    """Store the sweep, its points and its trials; the first one again where the key was used."""
    sweep_id = new_id()
    if idempotency is not None:
        first = reserve(
            session,
            principal=idempotency.principal,
            key=idempotency.key,
            body_hash=idempotency.body_hash,
            sweep_id=sweep_id,
        )
        if first != sweep_id:
            return find(session, first)
    now = insert_sweep(
        session, sweep_id, spec, created_by=created_by, seed=seed, expansion=expansion
    )
    return _as_submitted(
        sweep_id, spec, created_at=now, created_by=created_by, seed=seed, expansion=expansion
    )


def find(session: Session, sweep_id: str) -> Sweep:
    """NotFoundError if there is none."""
    found = find_all(session, [sweep_id])
    if not found:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    return found[0]


def find_all(session: Session, sweep_ids: Sequence[str]) -> list[Sweep]:
    """Those of them that there are, in no order."""
    return _load(session, select(SweepRow).where(SweepRow.id.in_(sweep_ids)))


def is_over(session: Session, sweep_id: str) -> bool:
    """Whether nothing of it is left to do; far cheaper than `find`. NotFoundError if none."""
    found = session.connection().scalar(_is_over(), {"sweep_id": sweep_id})
    if found is None:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    return found


@cache
def _is_over() -> Select[bool]:
    return select(SweepRow.finished_at.is_not(None)).where(SweepRow.id == bindparam("sweep_id"))


def check_known(session: Session, *sweep_ids: str) -> None:
    """NotFoundError names the first that there is not."""
    known = set(session.scalars(select(SweepRow.id).where(SweepRow.id.in_(sweep_ids))))
    for sweep_id in sweep_ids:
        if sweep_id not in known:
            raise NotFoundError(f"there is no sweep {sweep_id!r}")


def page(
    session: Session,
    *,
    state: SweepState | None = None,
    tag: tuple[str, str] | None = None,
    since: datetime | None = None,
    limit: int,
    cursor: str | None = None,
) -> Page[Sweep]:
    """Newest first. `tag` is a key and its value."""
    filters = ("sweeps", state, tag, since)
    chosen = select(SweepRow).order_by(SweepRow.created_at.desc(), SweepRow.id.desc())
    if state is not None:
        chosen = chosen.where(derived.sweep_state() == state.value)
        if state in _OPEN:
            chosen = chosen.where(SweepRow.finished_at.is_(None))
    if tag is not None:
        tagged = select(SweepTagRow.sweep_id).where(
            SweepTagRow.key == tag[0], SweepTagRow.value == tag[1]
        )
        chosen = chosen.where(SweepRow.id.in_(tagged))
    if since is not None:
        chosen = chosen.where(SweepRow.created_at >= since)
    if cursor is not None:
        (last,) = decode_cursor(cursor, filters=filters, types=(str,))
        key = tuple_(SweepRow.created_at, SweepRow.id)
        before = select(SweepRow.created_at, SweepRow.id).where(SweepRow.id == last)
        chosen = chosen.where(key < before.scalar_subquery())
    items = _load(session, chosen.limit(limit + 1))
    return cut(items, limit=limit, key=lambda sweep: (sweep.id,), filters=filters)


def cancel(session: Session, sweep_id: str) -> Sweep:
    """Cancel what is queued; what is held ends through its dispatcher. A finished sweep stays."""
    sweep_changes.cancel_sweep(session, sweep_id)
    return find(session, sweep_id)


def retry(session: Session, sweep_id: str) -> Sweep:
    """Put failed trials back. ConflictError if none failed or the sweep was cancelled."""
    sweep_changes.retry_sweep(session, sweep_id)
    return find(session, sweep_id)


def _as_submitted(
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


def _load(session: Session, chosen: Select[SweepRow]) -> list[Sweep]:
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
