"""Results and failures of another instance, merged by id: what is there stays as it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import ConflictError
from service.store import fleet, merged_rows, samples
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import ReplicateRow, SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.records import FailureRecord, Record, ResultRecord
from service.store.states import TrialState
from service.store.submission import insert_tags, point_row, sweep_row


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record."""

    is_new: bool = False
    refused: str = ""
    """Why it was left out; empty where it was not."""


@dataclass(slots=True)
class _Known:
    """What is there already of the things that records name."""

    results: set[tuple[str, str]]
    sweeps: dict[str, bool]
    """Whether each is over."""
    replicates: set[tuple[str, int]]
    points: dict[str, tuple[str, int, str]]
    """Sweep, position and spec_key."""
    trials: dict[str, tuple[str, str, TrialState]]
    """Sweep, first point and state."""
    hardware: set[str] = field(default_factory=set)


def merge(session: Session, records: Sequence[Record]) -> list[Outcome]:
    """Store what is not there yet; say of each what became of it.

    A record that contradicts what is there is left out: ids that stand for something else, or a
    sweep that is still being measured here.
    """
    known = _known(session, records)
    return [_outcome(session, record, known) for record in records]


def _outcome(session: Session, record: Record, known: _Known) -> Outcome:
    if _is_known(record, known):
        return Outcome()
    try:
        _refuse_contradictions(record, known)
        with session.begin_nested():
            _insert(session, record, known)
    except ConflictError as error:
        return Outcome(refused=error.detail)
    except IntegrityError:
        taken = "its positions are taken by other points or trials of the same sweep"
        return Outcome(refused=taken)
    _note(record, known)
    return Outcome(is_new=True)


def _is_known(record: Record, known: _Known) -> bool:
    if isinstance(record, ResultRecord):
        return (record.trial.id, record.point_id) in known.results
    return known.trials.get(record.trial.id) == _own(record)


def _own(record: Record) -> tuple[str, str, TrialState]:
    """What a trial stands for."""
    return record.sweep.id, record.trial.points[0].id, record.state


def _refuse_contradictions(record: Record, known: _Known) -> None:
    sweep, trial = record.sweep, record.trial
    if not known.sweeps.get(sweep.id, True):
        raise ConflictError(f"sweep {sweep.id} is still being measured here")
    for point in trial.points:
        here = known.points.get(point.id)
        if here is not None and here != (sweep.id, point.position, point.spec.spec_key):
            raise ConflictError(f"point {point.id} stands for something else here")
    own = _own(record)
    if known.trials.get(trial.id, own) != own:
        what = f"trial {trial.id} stands for something else here, or ended another way"
        raise ConflictError(what)


def _insert(session: Session, record: Record, known: _Known) -> None:
    _insert_sweep(session, record, known)
    _insert_trial(session, record, known)
    connection = session.connection()
    if isinstance(record, FailureRecord):
        connection.execute(insert(AttemptRow), merged_rows.attempt_rows(record))
        return
    connection.execute(insert(ResultRow), merged_rows.result_row(record))
    if record.samples is not None:
        samples.insert_all(
            session,
            record.trial.id,
            record.point_id,
            passes=record.samples,
            collectives=record.collectives or (),
        )


def _insert_sweep(session: Session, record: Record, known: _Known) -> None:
    sweep = record.sweep
    if record.hardware is not None and record.hardware.hardware_key not in known.hardware:
        fleet.note_hardware(session, record.hardware)
    if sweep.id not in known.sweeps:
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
        over = {
            "hardware_key": sweep.hardware_key,
            "finished_at": sweep.finished_at or record.ended_at,
        }
        session.connection().execute(insert(SweepRow), row | over)
        insert_tags(session, sweep.id, sweep.spec)


def _insert_trial(session: Session, record: Record, known: _Known) -> None:
    connection = session.connection()
    sweep, trial = record.sweep, record.trial
    if (sweep.id, trial.replicate) not in known.replicates:
        connection.execute(insert(ReplicateRow), {"sweep_id": sweep.id, "number": trial.replicate})
    for place, point in enumerate(trial.points):
        if point.id not in known.points:
            row = point_row(point.id, sweep.id, point.position, point.spec, rejection=None)
            first = {"paired_with": trial.points[0].id} if place else {}
            connection.execute(insert(PointRow), row | first)
    if trial.id not in known.trials:
        connection.execute(insert(TrialRow), merged_rows.trial_row(record))


def _note(record: Record, known: _Known) -> None:
    sweep, trial = record.sweep, record.trial
    if isinstance(record, ResultRecord):
        known.results.add((trial.id, record.point_id))
    if record.hardware is not None:
        known.hardware.add(record.hardware.hardware_key)
    known.sweeps[sweep.id] = True
    known.replicates.add((sweep.id, trial.replicate))
    for point in trial.points:
        known.points[point.id] = (sweep.id, point.position, point.spec.spec_key)
    known.trials[trial.id] = _own(record)


def _known(session: Session, records: Iterable[Record]) -> _Known:
    sweep_ids = {record.sweep.id for record in records}
    trial_ids = {record.trial.id for record in records}
    point_ids = {point.id for record in records for point in record.trial.points}
    results = select(ResultRow.trial_id, ResultRow.point_id).where(
        ResultRow.trial_id.in_(trial_ids)
    )
    sweeps = select(SweepRow.id, SweepRow.finished_at).where(SweepRow.id.in_(sweep_ids))
    replicates = select(ReplicateRow.sweep_id, ReplicateRow.number).where(
        ReplicateRow.sweep_id.in_(sweep_ids)
    )
    points = select(PointRow.id, PointRow.sweep_id, PointRow.position, PointRow.spec_key).where(
        PointRow.id.in_(point_ids)
    )
    trials = select(TrialRow.id, TrialRow.sweep_id, TrialRow.point_id, TrialRow.state).where(
        TrialRow.id.in_(trial_ids)
    )
    return _Known(
        results={(row.trial_id, row.point_id) for row in session.execute(results)},
        sweeps={row.id: row.finished_at is not None for row in session.execute(sweeps)},
        replicates={(row.sweep_id, row.number) for row in session.execute(replicates)},
        points={
            row.id: (row.sweep_id, row.position, row.spec_key) for row in session.execute(points)
        },
        trials={row.id: (row.sweep_id, row.point_id, row.state) for row in session.execute(trials)},
    )
