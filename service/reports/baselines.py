"""Baselines as they are shown, and what a sweep may be held against, with the reasons."""

from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.baselines import Earlier, LastGood, last_good, looked_at
from service.analysis.comparison import Verdict
from service.analysis.schedules.tags import TAG
from service.errors import NotFoundError
from service.reports import comparison
from service.store import baselines as stored
from service.store import schedules, sweeps
from service.store.baselines import Baseline
from service.store.result_filter import ResultFilter
from service.store.states import SweepState
from service.store.sweep import Sweep
from service.store.timed import TimedTrial, timed
from workers.contract.frozen import Frozen

MOST_EARLIER = 10
"""Newest sweeps that are all looked at for the last good one: each is compared with another."""
MOST_ALIKE = 1000
"""Earlier sweeps of the same points among which that one is sought."""
COMMIT, PARENT = "commit", "parent"
"""Tags by which a sweep says which commit it measured, and which one came before that."""


class BaselineReport(Frozen):
    """A sweep pinned under a name."""

    name: str
    sweep_id: str
    note: str
    pinned_at: datetime
    pinned_by: str
    expires_at: datetime | None
    is_expired: bool = Field(description="Whether comparisons refuse it.")

    @classmethod
    def of(cls, baseline: Baseline) -> Self:
        """Publish what the row tells."""
        return cls(**asdict(baseline))


class CandidateKind(StrEnum):
    """Why a sweep is proposed."""

    SCHEDULE = "schedule"
    PARENT = "parent"
    LAST_GOOD = "last_good"


class CandidateReport(Frozen):
    """A sweep that another may be held against."""

    kind: CandidateKind
    sweep_id: str
    created_at: datetime
    name: str | None = Field(description="Of the baseline that stands for it.")
    reason: str


class PassedOverReport(Frozen):
    """A sweep that was looked at and will not do."""

    sweep_id: str
    reason: str


class CandidatesReport(Frozen):
    """What a sweep may be held against, the most telling first."""

    sweep_id: str
    candidates: tuple[CandidateReport, ...]
    passed_over: tuple[PassedOverReport, ...]
    sentence: str


def list_all(session: Session) -> tuple[BaselineReport, ...]:
    """By name, expired ones too."""
    return tuple(BaselineReport.of(one) for one in stored.list_all(session))


def candidates(session: Session, sweep_id: str) -> CandidatesReport:
    """Propose baselines for a sweep. NotFoundError if there is no such sweep."""
    sweep = sweeps.find(session, sweep_id)
    good = _last_good(session, sweep)
    proposed = [
        (CandidateKind.SCHEDULE, _of_the_schedule(session, sweep)),
        (CandidateKind.PARENT, _of_the_parent(session, sweep)),
        (CandidateKind.LAST_GOOD, None if good.sweep_id is None else (good.sweep_id, good.reason)),
    ]
    found = [(kind, *one) for kind, one in proposed if one is not None and one[0] != sweep_id]
    ids = [one_id for _, one_id, _ in found]
    names = stored.names_of(session, ids)
    created_at = {one.id: one.created_at for one in sweeps.find_all(session, ids)}
    return CandidatesReport(
        sweep_id=sweep_id,
        candidates=tuple(
            CandidateReport(
                kind=kind,
                sweep_id=one_id,
                created_at=created_at[one_id],
                name=names.get(one_id),
                reason=reason,
            )
            for kind, one_id, reason in found
        ),
        passed_over=tuple(
            PassedOverReport(sweep_id=one.sweep_id, reason=one.reason) for one in good.passed_over
        ),
        sentence=f"the first of {len(found)} to hold it against" if found else good.reason,
    )


def _of_the_schedule(session: Session, sweep: Sweep) -> tuple[str, str] | None:
    name = sweep.tags.get(TAG)
    if name is None:
        return None
    try:
        schedule = schedules.find(session, name)
        if schedule.spec.baseline is None:
            return None
        baseline = stored.find(session, schedule.spec.baseline)
    except NotFoundError:
        return None  # the schedule, or what it names, is gone: it proposes nothing
    if baseline.is_expired:
        return None
    return baseline.sweep_id, f"schedule {name} is held against baseline {baseline.name}"


def _of_the_parent(session: Session, sweep: Sweep) -> tuple[str, str] | None:
    """The newest sweep of the parent commit that succeeded and measured the same points."""
    parent = sweep.tags.get(PARENT)
    if parent is None:
        return None
    own = stored.spec_keys(session, sweep.id)
    listed = sweeps.page(
        session, state=SweepState.SUCCEEDED, tag=(COMMIT, parent), limit=MOST_EARLIER
    )
    for one in listed.items:
        common = len(own & stored.spec_keys(session, one.id))
        if common:
            reason = f"it measured the parent commit {parent}, and {common} of {len(own)} points"
            return one.id, reason
    return None


def _last_good(session: Session, sweep: Sweep) -> LastGood:
    alike = stored.earlier_alike(session, sweep.id, limit=MOST_ALIKE)
    earlier = sweeps.find_all(session, looked_at(alike, num_newest=MOST_EARLIER))

    @lru_cache(2)
    def trials(sweep_id: str) -> list[TimedTrial]:
        return timed(session, ResultFilter(sweep_ids=(sweep_id,)))

    def slower_than(good: str, other: str) -> str | None:
        found = comparison.report(
            trials(good), trials(other), baseline_name=good, candidate_name=other
        )
        if found.overall is None or found.overall.verdict is not Verdict.SLOWER:
            return None
        return f"slower ({found.overall.ratio:.3f} times the step time)"

    return last_good(
        [
            Earlier(
                sweep_id=one.id,
                created_at=one.created_at,
                has_succeeded=one.state is SweepState.SUCCEEDED,
            )
            for one in earlier
        ],
        slower_than,
    )
