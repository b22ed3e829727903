"""A night held against the baseline of its schedule."""

from dataclasses import replace
from datetime import datetime
from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.comparison import Verdict
from service.errors import ServiceError
from service.reports import comparison
from service.reports.selection import Selection
from service.reports.sides import Side
from service.store import baselines
from service.store.clock import db_time
from service.store.held_nights import DueNight, HeldNight
from workers.contract.frozen import Frozen


class HeldReport(Frozen):
    """What holding a night against the baseline came to, once its sweep was over."""

    sweep_id: str
    baseline: str = Field(description="Its name then.")
    baseline_sweep_id: str | None
    verdict: Verdict | None = Field(
        description="Over all points; null where nothing could be compared: see the sentence."
    )
    ratio: float | None
    ci_low: float | None
    ci_high: float | None
    num_points: int
    num_slower: int
    num_faster: int
    sentence: str
    compared_at: datetime

    @classmethod
    def of(cls, night: HeldNight) -> Self:
        """Publish what the row tells."""
        return cls(**{name: getattr(night, name) for name in cls.model_fields})


def hold(session: Session, due: DueNight) -> HeldNight:
    """Compare a night with its baseline; where that cannot be done, say why. Nothing is written."""
    try:
        before = baselines.sweep_of(session, due.baseline)
        found = comparison.between(
            session,
            Side(Selection(sweep=(before,)), "?baseline"),
            Side(Selection(sweep=(due.sweep_id,)), "?candidate"),
        )
    except ServiceError as error:
        return _night(session, due, sentence=error.detail)
    night = replace(
        _night(session, due, sentence=found.sentence),
        baseline_sweep_id=before,
        num_points=found.coverage.common,
        num_slower=found.counts[Verdict.SLOWER],
        num_faster=found.counts[Verdict.FASTER],
    )
    overall = found.overall
    if overall is None:
        return night
    return replace(
        night,
        verdict=overall.verdict,
        ratio=overall.ratio,
        ci_low=overall.ci_low,
        ci_high=overall.ci_high,
    )


def _night(session: Session, due: DueNight, *, sentence: str) -> HeldNight:
    return HeldNight(
        sweep_id=due.sweep_id,
        schedule_id=due.schedule_id,
        baseline=due.baseline,
        sentence=sentence,
        compared_at=db_time(session),
    )
