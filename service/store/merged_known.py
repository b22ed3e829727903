"""What is here already of the things that records from another instance name."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.store.models.point import PointRow
from service.store.models.result import ResultRow
from service.store.models.sweep import ReplicateRow, SweepRow
from service.store.models.trial import AttemptRow, TrialRow
from service.store.records import Record, ResultRecord
from service.store.states import TrialState


@dataclass(frozen=True, slots=True)
class KnownTrial:
    """A trial as it stands here."""

    sweep_id: str
    point_id: str
    """Of its first point."""
    replicate: int
    state: TrialState
    attempt: int

    @classmethod
    def of(cls, record: Record) -> Self:
        """As a record has it."""
        trial = record.trial
        return cls(
            record.sweep.id, trial.points[0].id, trial.replicate, record.state, trial.attempt
        )

    def is_same_as(self, other: Self) -> bool:
        """Whether both are about one execution, however it ended."""
        return (self.sweep_id, self.point_id, self.replicate) == (
            other.sweep_id,
            other.point_id,
            other.replicate,
        )

    def gives_way_to(self, other: Self) -> bool:
        """A failure does to a measured result, and to a failure after further attempts."""
        if self.state is not TrialState.FAILED:
            return False
        return other.state is TrialState.SUCCEEDED or other.attempt > self.attempt


@dataclass(slots=True)
class Known:
    """By id; kept true while records are merged."""

    results: set[tuple[str, str]]
    attempts: set[tuple[str, int]]
    sweeps: dict[str, datetime | None]
    """When each was over; None while it is measured here."""
    replicates: set[tuple[str, int]]
    points: dict[str, tuple[str, int, str]]
    """Sweep, position and spec_key."""
    trials: dict[str, KnownTrial]
    hardware: set[str] = field(default_factory=set)

    @classmethod
    def about(cls, session: Session, records: Iterable[Record]) -> Self:
        """Read what records name; their sweeps first, which others then leave as they are."""
        sweep_ids = {record.sweep.id for record in records}
        trial_ids = {record.trial.id for record in records}
        point_ids = {point.id for record in records for point in record.trial.points}
        sweeps = _locked_sweeps(session, sweep_ids)
        return cls(
            results=_results(session, trial_ids),
            attempts=_attempts(session, trial_ids),
            sweeps=sweeps,
            replicates=_replicates(session, sweep_ids),
            points=_points(session, point_ids),
            trials=_trials(session, trial_ids),
        )

    def has(self, record: Record) -> bool:
        """Whether it says nothing new."""
        here = self.trials.get(record.trial.id)
        if here is None or not here.is_same_as(KnownTrial.of(record)):
            return False
        if isinstance(record, ResultRecord):
            return (record.trial.id, record.point_id) in self.results
        return all((record.trial.id, one.attempt) in self.attempts for one in record.attempts)

    def note(self, record: Record) -> None:
        """Know what was just written."""
        sweep, trial, own = record.sweep, record.trial, KnownTrial.of(record)
        if isinstance(record, ResultRecord):
            self.results.add((trial.id, record.point_id))
        else:
            self.attempts |= {(trial.id, one.attempt) for one in record.attempts}
        if record.hardware is not None:
            self.hardware.add(record.hardware.hardware_key)
        self.sweeps[sweep.id] = max(self.sweeps.get(sweep.id) or record.over_at, record.over_at)
        self.replicates.add((sweep.id, trial.replicate))
        for point in trial.points:
            self.points[point.id] = (sweep.id, point.position, point.spec.spec_key)
        here = self.trials.get(trial.id)
        if here is None or here.gives_way_to(own):
            self.trials[trial.id] = own


def _results(session: Session, trial_ids: set[str]) -> set[tuple[str, str]]:
    chosen = select(ResultRow.trial_id, ResultRow.point_id)
    rows = session.execute(chosen.where(ResultRow.trial_id.in_(trial_ids)))
    return {(row.trial_id, row.point_id) for row in rows}


def _attempts(session: Session, trial_ids: set[str]) -> set[tuple[str, int]]:
    chosen = select(AttemptRow.trial_id, AttemptRow.attempt)
    rows = session.execute(chosen.where(AttemptRow.trial_id.in_(trial_ids)))
    return {(row.trial_id, row.attempt) for row in rows}


def _locked_sweeps(session: Session, ids: set[str]) -> dict[str, datetime | None]:
    chosen = select(SweepRow.id, SweepRow.finished_at).where(SweepRow.id.in_(ids))
    rows = session.execute(chosen.order_by(SweepRow.id).with_for_update(key_share=True))
    return {row.id: row.finished_at for row in rows}


def _replicates(session: Session, sweep_ids: set[str]) -> set[tuple[str, int]]:
    chosen = select(ReplicateRow.sweep_id, ReplicateRow.number)
    rows = session.execute(chosen.where(ReplicateRow.sweep_id.in_(sweep_ids)))
    return {(row.sweep_id, row.number) for row in rows}


def _points(session: Session, ids: set[str]) -> dict[str, tuple[str, int, str]]:
    chosen = select(PointRow.id, PointRow.sweep_id, PointRow.position, PointRow.spec_key)
    rows = session.execute(chosen.where(PointRow.id.in_(ids)))
    return {row.id: (row.sweep_id, row.position, row.spec_key) for row in rows}


def _trials(session: Session, ids: set[str]) -> dict[str, KnownTrial]:
    of = TrialRow
    chosen = select(of.id, of.sweep_id, of.point_id, of.replicate, of.state, of.attempt)
    rows = session.execute(chosen.where(TrialRow.id.in_(ids)))
    return {
        row.id: KnownTrial(row.sweep_id, row.point_id, row.replicate, row.state, row.attempt)
        for row in rows
    }
