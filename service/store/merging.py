"""Results and failures of another instance, merged by id.

What is measured here stays as it is. Where a trial failed here and was measured there, or failed
there after further attempts, it has ended as it did there; so the order of files makes no
difference, and a file that comes again changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import insert, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.errors import ConflictError
from service.store import fleet, merged_rows, samples
from service.store.merged_known import Known, KnownTrial
from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import ReplicateRow, SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.records import FailureRecord, Record
from service.store.states import TrialState
from service.store.submission import insert_tags, point_row

_ONE_AT_A_TIME = 0x7470_696D  # "tpim": any number that nobody else locks
_LONGEST_WAIT = "30s"
"""As long as on SQLite; several may be before it."""
ENDED = (TrialState.SUCCEEDED, TrialState.FAILED)
"""How trials that records tell of have ended."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record."""

    is_new: bool = False
    refused: str = ""
    """Why it was left out; empty where it was not."""


def merge(session: Session, records: Sequence[Record]) -> list[Outcome]:
    """Store what is not there yet; say of each what became of it.

    A record that contradicts what is there is left out: ids that stand for something else, or a
    sweep that is still being measured here.
    """
    _wait_for_others(session)
    known = Known.about(session, records)
    return [_outcome(session, record, known) for record in records]


def _wait_for_others(session: Session) -> None:
    """One batch is merged at a time, as on SQLite all is written.

    Two that write parts of one new sweep would each find its rows there when they are written, and
    not when they were looked for.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text(f"SET LOCAL lock_timeout = '{_LONGEST_WAIT}'"))
        session.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _ONE_AT_A_TIME})


def _outcome(session: Session, record: Record, known: Known) -> Outcome:
    if known.has(record):
        return Outcome()
    try:
        _refuse_contradictions(record, known)
        with session.begin_nested():
            _write(session, record, known)
    except ConflictError as error:
        return Outcome(refused=error.detail)
    except IntegrityError:
        taken = "its positions are taken by other points or trials of the same sweep"
        return Outcome(refused=taken)
    known.note(record)
    return Outcome(is_new=True)


def _refuse_contradictions(record: Record, known: Known) -> None:
    sweep, trial, own = record.sweep, record.trial, KnownTrial.of(record)
    if known.sweeps.get(sweep.id, record.over_at) is None:
        raise _still_measured(record)
    for point in trial.points:
        here = known.points.get(point.id)
        if here is not None and here != (sweep.id, point.position, point.spec.spec_key):
            raise ConflictError(f"point {point.id} stands for something else here")
    standing = known.trials.get(trial.id, own)
    if not standing.is_same_as(own):
        raise ConflictError(f"trial {trial.id} stands for something else here")
    if standing.state not in ENDED:
        raise ConflictError(f"trial {trial.id} is {standing.state} here")


def _write(session: Session, record: Record, known: Known) -> None:
    _write_sweep(session, record, known)
    _write_trial(session, record, known)
    connection = session.connection()
    if isinstance(record, FailureRecord):
        rows = merged_rows.attempt_rows(record, besides=known.attempts)
        connection.execute(insert(AttemptRow), rows)
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


def _write_sweep(session: Session, record: Record, known: Known) -> None:
    """The sweep as it was when it was over, the last time where it was put back.

    ConflictError where somebody here has put it back meanwhile.
    """
    sweep, connection = record.sweep, session.connection()
    if record.hardware is not None and record.hardware.hardware_key not in known.hardware:
        fleet.note_hardware(session, record.hardware)
    if sweep.id not in known.sweeps:
        row = merged_rows.new_sweep_row(record)
        connection.execute(insert(SweepRow), row)
        insert_tags(session, sweep.id, sweep.spec)
    elif record.over_at > (known.sweeps[sweep.id] or record.over_at):
        is_over = SweepRow.id == sweep.id, SweepRow.finished_at.is_not(None)
        ended = update(SweepRow).where(*is_over).values(merged_rows.ended_sweep(record))
        if not connection.execute(ended).rowcount:
            raise _still_measured(record)


def _write_trial(session: Session, record: Record, known: Known) -> None:
    connection = session.connection()
    sweep, trial = record.sweep, record.trial
    if (sweep.id, trial.replicate) not in known.replicates:
        connection.execute(insert(ReplicateRow), {"sweep_id": sweep.id, "number": trial.replicate})
    for place, point in enumerate(trial.points):
        if point.id not in known.points:
            row = point_row(point.id, sweep.id, point.position, point.spec, rejection=None)
            first = {"paired_with": trial.points[0].id} if place else {}
            connection.execute(insert(PointRow), row | first)
    here = known.trials.get(trial.id)
    if here is None:
        connection.execute(insert(TrialRow), merged_rows.new_trial_row(record))
    elif here.gives_way_to(KnownTrial.of(record)):
        _end_as_told(session, record)


def _end_as_told(session: Session, record: Record) -> None:
    """ConflictError where somebody has put the trial back meanwhile."""
    failed = TrialRow.id == record.trial.id, TrialRow.state == TrialState.FAILED
    ended = update(TrialRow).where(*failed).values(merged_rows.ended_trial(record))
    if not session.connection().execute(ended).rowcount:
        raise _still_measured(record)


def _still_measured(record: Record) -> ConflictError:
    return ConflictError(f"sweep {record.sweep.id} is still being measured here")
