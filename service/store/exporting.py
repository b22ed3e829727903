"""Results and failures with all they hang on, page by page, for another instance or a table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from service.store import failed_points, results, samples
from service.store.models.fleet import HardwareRow
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.pages import Page
from service.store.records import (
    AttemptRecord,
    FailureRecord,
    PointRecord,
    ResultRecord,
    SweepRecord,
    TrialRecord,
)
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial
from workers.contract.hardware import DeviceFacts, Hardware


@dataclass(frozen=True, slots=True)
class _Around:
    """What the results of one page hang on, by id."""

    sweeps: Mapping[str, SweepRecord]
    trials: Mapping[str, TrialRecord]
    devices: Mapping[tuple[str, str], tuple[DeviceFacts, ...]]


def page(
    session: Session,
    which: ResultFilter,
    *,
    limit: int,
    cursor: str | None = None,
    include_samples: bool = False,
) -> Page[ResultRecord]:
    """All results of some points, newest sweep first; `limit` counts points."""
    found = results.page(session, which, limit=limit, cursor=cursor)
    trials = [trial for point in found.items for trial in point.trials]
    around = _Around(
        sweeps=_sweeps(session, {trial.sweep_id for trial in trials}),
        trials=_trials(session, {trial.id for trial in trials}),
        devices=_devices(session, {trial.id for trial in trials}),
    )
    records = [_record(trial, around) for trial in trials]
    if include_samples:
        records = [_with_samples(session, record) for record in records]
    return Page(tuple(records), found.next_cursor)


def failures(
    session: Session, which: ResultFilter, *, limit: int, cursor: str | None = None
) -> Page[FailureRecord]:
    """Failed trials of some points, newest first."""
    found = failed_points.trials(session, which, limit=limit, cursor=cursor)
    trials = _trials(session, [trial_id for trial_id, _ in found.items])
    attempts = _attempts(session, trials)
    sweeps = _sweeps(session, {sweep_id for _, sweep_id in found.items})
    hardware = _hardware(session, {one.hardware_key for one in sweeps.values()})
    records = tuple(
        FailureRecord(
            sweep=sweeps[sweep_id],
            trial=trials[trial_id],
            hardware=hardware.get(sweeps[sweep_id].hardware_key or ""),
            attempts=tuple(attempts[trial_id]),
        )
        for trial_id, sweep_id in found.items
    )
    return Page(records, found.next_cursor)


def _record(trial: MeasuredTrial, around: _Around) -> ResultRecord:
    return ResultRecord(
        sweep=around.sweeps[trial.sweep_id],
        trial=around.trials[trial.id],
        point_id=trial.point_id,
        spec_key=trial.spec_key,
        hardware=trial.hardware,
        hardware_key=trial.hardware_key,
        link_class=trial.link_class,
        node=trial.node,
        group_id=trial.group_id,
        group_kind=trial.group_kind,
        environment=trial.environment,
        devices=around.devices[trial.id, trial.point_id],
        hosts=trial.hosts,
        proof=trial.proof,
        summary=trial.summary,
        quality=trial.quality,
        stop_rule=trial.stop_rule,
        num_warmup_steps=trial.num_warmup_steps,
        peak_memory_bytes=trial.peak_memory_bytes,
        wall_ns=trial.wall_ns,
        timed_ns=trial.timed_ns,
        created_at=trial.created_at,
    )


def _with_samples(session: Session, record: ResultRecord) -> ResultRecord:
    key = record.trial.id, record.point_id
    found = {
        "samples": samples.find(session, *key),
        "collectives": samples.collectives(session, *key),
    }
    return record.model_copy(update=found)


def _sweeps(session: Session, ids: Iterable[str]) -> dict[str, SweepRecord]:
    columns = SweepRow.__table__.c
    rows = session.connection().execute(select(*columns).where(columns.id.in_(ids)))
    return {
        row.id: SweepRecord(
            id=row.id,
            spec=row.spec,
            created_at=row.created_at,
            created_by=row.created_by,
            seed=row.seed,
            hardware_key=row.hardware_key,
            degrees=row.degrees,
            num_points=row.num_points,
            num_rejected=row.num_rejected,
            finished_at=row.finished_at,
        )
        for row in rows
    }


def _trials(session: Session, ids: Iterable[str]) -> dict[str, TrialRecord]:
    columns = TrialRow.__table__.c
    rows = session.connection().execute(select(*columns).where(columns.id.in_(ids))).all()
    named = {id_ for row in rows for id_ in (row.point_id, row.pair_point_id) if id_ is not None}
    points = {
        row.id: PointRecord(id=row.id, position=row.position, spec=row.spec)
        for row in session.execute(
            select(PointRow.id, PointRow.position, PointRow.spec).where(PointRow.id.in_(named))
        )
    }
    return {row.id: _trial(row, points) for row in rows}


def _trial(row: Row[*tuple[object, ...]], points: Mapping[str, PointRecord]) -> TrialRecord:
    ids = (row.point_id,) if row.pair_point_id is None else (row.point_id, row.pair_point_id)
    return TrialRecord(
        id=row.id,
        points=tuple(points[id_] for id_ in ids),
        kind=row.kind,
        replicate=row.replicate,
        position=row.position,
        attempt=row.attempt,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


def _devices(
    session: Session, ids: Iterable[str]
) -> dict[tuple[str, str], tuple[DeviceFacts, ...]]:
    chosen = select(ResultRow.trial_id, ResultRow.point_id, ResultRow.devices)
    rows = session.execute(chosen.where(ResultRow.trial_id.in_(ids)))
    return {(row.trial_id, row.point_id): row.devices for row in rows}


def _attempts(session: Session, ids: Iterable[str]) -> dict[str, list[AttemptRecord]]:
    """By trial, in their order."""
    columns = AttemptRow.__table__.c
    chosen = select(*columns).where(columns.trial_id.in_(ids))
    found: dict[str, list[AttemptRecord]] = {}
    for row in session.connection().execute(chosen.order_by(columns.trial_id, columns.attempt)):
        given = {name: getattr(row, name) for name in AttemptRecord.model_fields}
        found.setdefault(row.trial_id, []).append(AttemptRecord.model_validate(given))
    return found


def _hardware(session: Session, keys: Iterable[str | None]) -> dict[str, Hardware]:
    known = [key for key in keys if key is not None]
    chosen = select(HardwareRow.hardware_key, HardwareRow.facts)
    rows = session.execute(chosen.where(HardwareRow.hardware_key.in_(known)))
    return {row.hardware_key: row.facts for row in rows}
