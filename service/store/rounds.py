"""Further rounds of a sweep that refines its break-evens: new points, queued as the last end."""

from datetime import datetime
from functools import cache

from sqlalchemy import Select, bindparam, func, insert, select, update
from sqlalchemy.orm import Session

from service.analysis.breakeven import Times
from service.analysis.refinement import Timed, next_points
from service.store import results
from service.store.clock import db_now
from service.store.ids import new_ids
from service.store.models.point import PointRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import TrialRow
from service.store.result_filter import ResultFilter
from service.store.submission import insert_trials, point_row
from workers.contract.calibration import AnySweepSpec
from workers.contract.point import PointSpec
from workers.contract.refine import Refine
from workers.contract.sharding import judge
from workers.contract.sweep import SweepSpec


def begin_next(session: Session, sweep_id: str) -> bool:
    """Queue what the finished round asks for; False where nothing is.

    The sweep is locked, and none of its trials is queued or held.
    """
    sweep = session.connection().execute(_sweep(), {"ended_sweep_id": sweep_id}).one()
    if sweep.cancel_requested_at is not None or not isinstance(sweep.spec, SweepSpec):
        return False
    if sweep.spec.refine is None:
        return False
    points = _wanted(session, sweep_id, sweep.spec.refine, asked=sweep.spec.batch)
    if points:
        _queue(session, sweep_id, points, seed=sweep.seed, num_replicates=sweep.num_replicates)
    return bool(points)


@cache
def _sweep() -> Select[AnySweepSpec, int, datetime | None, int]:
    return select(
        SweepRow.spec, SweepRow.seed, SweepRow.cancel_requested_at, SweepRow.num_replicates
    ).where(SweepRow.id == bindparam("ended_sweep_id"))


def _wanted(
    session: Session, sweep_id: str, refine: Refine, *, asked: tuple[int, ...]
) -> list[PointSpec]:
    """New points, none that was tried before, as many as may still be added."""
    known = session.execute(
        select(PointRow.spec_key, PointRow.batch).where(PointRow.sweep_id == sweep_id)
    ).all()
    tried = {row.spec_key for row in known}
    num_added = sum(row.batch not in asked for row in known)
    trials = [
        Timed(
            spec=trial.spec,
            replicate=trial.replicate,
            times=Times(trial.summary.step_time_us, trial.summary.compute_time_us),
        )
        for trial in results.measured(session, ResultFilter(sweep_ids=(sweep_id,)))
    ]
    new = [
        spec
        for spec in next_points(trials, rel_width=refine.rel_width)
        if spec.spec_key not in tried and judge(spec) is None
    ]
    return new[: max(refine.max_points - num_added, 0)]


def _queue(
    session: Session, sweep_id: str, points: list[PointSpec], *, seed: int, num_replicates: int
) -> None:
    """Behind the points and trials there are, in a random order of their own."""
    after, place, now = session.execute(
        select(
            select(func.max(PointRow.position) + 1)
            .where(PointRow.sweep_id == sweep_id)
            .scalar_subquery(),
            select(func.max(TrialRow.position) + 1)
            .where(TrialRow.sweep_id == sweep_id)
            .scalar_subquery(),
            db_now(session),
        )
    ).one()
    ids = new_ids(len(points))
    rows = [
        point_row(point_id, sweep_id, after + at, spec, rejection=None)
        for at, (point_id, spec) in enumerate(zip(ids, points, strict=True))
    ]
    session.connection().execute(insert(PointRow), rows)
    insert_trials(
        session,
        sweep_id,
        [(point_id, None, spec) for point_id, spec in zip(ids, points, strict=True)],
        num_replicates=num_replicates,
        seed=seed + place,
        ready_at=now,
        after=place,
    )
    session.execute(
        update(SweepRow)
        .where(SweepRow.id == sweep_id)
        .values(num_points=SweepRow.num_points + len(points)),
        execution_options={"synchronize_session": False},
    )
