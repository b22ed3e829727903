"""A sweep and its points as they are shown: how far it is and when it will be done."""

from datetime import datetime
from typing import Self

from pydantic import Field
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store import points as stored_points
from service.store import sweeps as stored_sweeps
from service.store.pages import Page
from service.store.points import Point
from service.store.result_filter import EVERYTHING, ResultFilter
from service.store.states import PointState, SweepState, TrialState
from service.store.sweep import Sweep
from workers.contract.calibration import AnySweepSpec, CalibrationSpec
from workers.contract.frozen import Frozen
from workers.contract.probe import Measurable
from workers.contract.sharding import Rejection
from workers.contract.sweep import SweepSpec

OVER = frozenset(
    {SweepState.SUCCEEDED, SweepState.PARTIAL, SweepState.FAILED, SweepState.CANCELLED}
)
"""States in which nothing of the sweep is left to do."""


class ProgressReport(Frozen):
    """Trials done of all; what is left, from the mean of those that are done."""

    num_trials: int
    num_done: int = Field(description="Trials that are over, however they ended.")
    fraction: float = Field(description="From 0 to 1.")
    eta_s: float | None = Field(
        description="Left to do, one trial after another, starts of groups not counted; "
        "null before the first trial succeeded. 0 when the sweep is over."
    )


class NamedSweepReport(Frozen):
    """A sweep to choose from a list."""

    id: str
    name: str
    created_at: datetime
    state: SweepState
    is_calibration: bool = Field(description="Of probes: it has no grid.")


class SweepReport(Frozen):
    """A sweep with its progress."""

    id: str
    name: str
    state: SweepState
    num_points: int
    num_rejected: int
    counts: dict[PointState, int] = Field(description="Points by state.")
    trial_counts: dict[TrialState, int]
    progress: ProgressReport
    priority: int
    tags: dict[str, str]
    hardware_key: str | None = Field(description="What it is bound to, from its first trial on.")
    seed: int = Field(description="Of the random order of trials.")
    created_by: str
    created_at: datetime
    cancel_requested_at: datetime | None
    finished_at: datetime | None
    spec: AnySweepSpec

    @property
    def is_calibration(self) -> bool:
        """Whether it is of probes, and has no grid."""
        return isinstance(self.spec, CalibrationSpec)

    @property
    def grid(self) -> SweepSpec:
        """What it ranges over. NotFoundError for a calibration, which is shown elsewhere."""
        if not isinstance(self.spec, SweepSpec):
            raise NotFoundError(
                f"sweep {self.id} is a calibration; `tpsweep curves` and `tpsweep roofline`, or "
                "GET /v1/curves and GET /v1/roofline, show what it measured"
            )
        return self.spec

    @classmethod
    def of(cls, sweep: Sweep) -> Self:
        """Publish what the rows tell."""
        return cls(
            id=sweep.id,
            name=sweep.name,
            state=sweep.state,
            num_points=sweep.num_points,
            num_rejected=sweep.num_rejected,
            counts=sweep.point_counts,
            trial_counts=sweep.counts,
            progress=progress(sweep),
            priority=sweep.priority,
            tags=sweep.tags,
            hardware_key=sweep.hardware_key,
            seed=sweep.seed,
            created_by=sweep.created_by,
            created_at=sweep.created_at,
            cancel_requested_at=sweep.cancel_requested_at,
            finished_at=sweep.finished_at,
            spec=sweep.spec,
        )


class PointErrorReport(Frozen):
    """Why a point failed: the last failure among its trials."""

    trial_id: str
    attempt: int
    code: str
    message: str
    rank: int | None
    signal: int | None
    node: str
    log_tail: str


class PointReport(Frozen):
    """One combination of a sweep and what became of it."""

    id: str
    sweep_id: str
    position: int
    spec: Measurable
    spec_key: str
    state: PointState
    counts: dict[TrialState, int] = Field(description="Trials by state.")
    attempt: int = Field(description="Attempts at its trials so far, all together.")
    error: PointErrorReport | None
    rejection: Rejection | None
    paired_with: str | None = Field(
        description="Of the second point of a pair: the first, whose trials are its own."
    )

    @classmethod
    def of(cls, point: Point) -> Self:
        """Publish what the rows tell."""
        error = point.error
        return cls(
            id=point.id,
            sweep_id=point.sweep_id,
            position=point.position,
            spec=point.spec,
            spec_key=point.spec_key,
            state=point.state,
            counts=point.counts,
            attempt=point.num_attempts,
            error=None
            if error is None
            else PointErrorReport(
                trial_id=error.trial_id,
                attempt=error.attempt,
                code=error.code,
                message=error.message,
                rank=error.rank,
                signal=error.signal,
                node=error.node,
                log_tail=error.log_tail,
            ),
            rejection=point.rejection,
            paired_with=point.paired_with,
        )


def progress(sweep: Sweep) -> ProgressReport:
    """How far the sweep is. Pure."""
    left = sweep.num_trials - sweep.num_done
    eta_s = None if sweep.mean_trial_s is None else left * sweep.mean_trial_s
    return ProgressReport(
        num_trials=sweep.num_trials,
        num_done=sweep.num_done,
        fraction=sweep.num_done / sweep.num_trials if sweep.num_trials else 1.0,
        eta_s=0.0 if sweep.state in OVER else eta_s,
    )


def find(session: Session, sweep_id: str) -> SweepReport:
    """One sweep. NotFoundError if there is none."""
    return SweepReport.of(stored_sweeps.find(session, sweep_id))


def page(
    session: Session,
    *,
    state: SweepState | None = None,
    tag: tuple[str, str] | None = None,
    since: datetime | None = None,
    limit: int,
    cursor: str | None = None,
) -> Page[SweepReport]:
    """Sweeps, newest first."""
    found = stored_sweeps.page(
        session, state=state, tag=tag, since=since, limit=limit, cursor=cursor
    )
    return Page(tuple(SweepReport.of(sweep) for sweep in found.items), found.next_cursor)


def names(session: Session, *, limit: int) -> tuple[NamedSweepReport, ...]:
    """The newest sweeps, newest first."""
    return tuple(
        NamedSweepReport(
            id=one.id,
            name=one.name,
            created_at=one.created_at,
            state=one.state,
            is_calibration=isinstance(one.spec, CalibrationSpec),
        )
        for one in stored_sweeps.names(session, limit=limit)
    )


def points(
    session: Session,
    sweep_id: str,
    *,
    state: PointState | None = None,
    which: ResultFilter = EVERYTHING,
    limit: int,
    cursor: str | None = None,
) -> Page[PointReport]:
    """Points of a sweep in the order of its grid. NotFoundError if there is no such sweep."""
    found = stored_points.page(
        session, sweep_id, state=state, which=which, limit=limit, cursor=cursor
    )
    return Page(tuple(PointReport.of(point) for point in found.items), found.next_cursor)
