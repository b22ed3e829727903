"""Nights that were held against their schedule's baseline: which are to be, and what it came to."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import exists, func, insert, select
from sqlalchemy.orm import Session

from service.analysis.comparison import Verdict
from service.store.models.schedule import ScheduleComparisonRow, ScheduleDecisionRow, ScheduleRow
from service.store.models.sweep import SweepRow


@dataclass(frozen=True, slots=True)
class DueNight:
    """A finished sweep of a schedule that names a baseline, not held against it yet."""

    sweep_id: str
    schedule_id: str
    baseline: str


@dataclass(frozen=True, slots=True)
class HeldNight:
    """What holding a night against a baseline came to."""

    sweep_id: str
    schedule_id: str
    baseline: str
    """Its name then."""
    sentence: str
    compared_at: datetime
    baseline_sweep_id: str | None = None
    """None where the baseline could not be used."""
    verdict: Verdict | None = None
    """None where nothing could be compared; the sentence says why."""
    ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    num_points: int = 0
    num_slower: int = 0
    num_faster: int = 0


def due(session: Session, *, limit: int) -> list[DueNight]:
    """Newest first."""
    is_held = exists(
        select(1).where(ScheduleComparisonRow.sweep_id == ScheduleDecisionRow.sweep_id)
    )
    chosen = (
        select(ScheduleDecisionRow.sweep_id, ScheduleRow.id, ScheduleRow.baseline)
        .join(ScheduleRow, ScheduleRow.id == ScheduleDecisionRow.schedule_id)
        .join(SweepRow, SweepRow.id == ScheduleDecisionRow.sweep_id)
        .where(
            ScheduleRow.baseline.is_not(None),
            SweepRow.finished_at.is_not(None),
            SweepRow.cancel_requested_at.is_(None),
            ~is_held,
        )
        .order_by(ScheduleDecisionRow.scheduled_for.desc())
        .limit(limit)
    )
    return [DueNight(row.sweep_id, row.id, row.baseline) for row in session.execute(chosen)]


def keep(session: Session, night: HeldNight) -> bool:
    """Keep it with the schedule's row locked; False where another was faster, or it is gone."""
    lock = select(ScheduleRow.id).where(ScheduleRow.id == night.schedule_id).with_for_update()
    same = select(1).where(ScheduleComparisonRow.sweep_id == night.sweep_id)
    if session.scalar(lock) is None or session.scalar(select(exists(same))):
        return False
    session.execute(insert(ScheduleComparisonRow).values(asdict(night)))
    return True


def of_sweeps(session: Session, sweep_ids: Iterable[str]) -> dict[str, HeldNight]:
    """Those of them that were held, by sweep."""
    chosen = select(ScheduleComparisonRow).where(ScheduleComparisonRow.sweep_id.in_(sweep_ids))
    return {row.sweep_id: _held(row) for row in session.scalars(chosen)}


def newest(session: Session, schedule_ids: Sequence[str]) -> dict[str, HeldNight]:
    """The last night of each schedule, where any was held."""
    last = (
        select(func.max(ScheduleComparisonRow.sweep_id))
        .where(ScheduleComparisonRow.schedule_id.in_(schedule_ids))
        .group_by(ScheduleComparisonRow.schedule_id)
    )
    chosen = select(ScheduleComparisonRow).where(ScheduleComparisonRow.sweep_id.in_(last))
    return {row.schedule_id: _held(row) for row in session.scalars(chosen)}


def _held(row: ScheduleComparisonRow) -> HeldNight:
    return HeldNight(
        sweep_id=row.sweep_id,
        schedule_id=row.schedule_id,
        baseline=row.baseline,
        baseline_sweep_id=row.baseline_sweep_id,
        verdict=row.verdict,
        ratio=row.ratio,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        num_points=row.num_points,
        num_slower=row.num_slower,
        num_faster=row.num_faster,
        sentence=row.sentence,
        compared_at=row.compared_at,
    )
