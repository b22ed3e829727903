"""What re-forming the groups of warm processes does to an interval: how narrow, and how wrong."""

from collections.abc import Sequence
from math import log
from statistics import median

from pydantic import Field
from sqlalchemy.orm import Session

from service.analysis.interval import Estimate, estimate
from service.reports.estimates import EstimateReport, generator_of
from service.store.result_filter import ResultFilter
from service.store.results import MeasuredTrial, measured
from workers.contract.axes import GroupKind
from workers.contract.frozen import Frozen
from workers.contract.point import PointSpec

FEWEST_REPLICATES = 2
"""One has no interval."""


class GroupsPoint(Frozen):
    """The step time of one point, in µs, over replicates of either kind."""

    spec: PointSpec
    spec_key: str
    hardware_key: str
    fresh: EstimateReport
    regrouped: EstimateReport
    width_ratio: float = Field(
        description="Width of the regrouped interval over the fresh one's, both as logarithms."
    )
    holds_fresh_median: bool = Field(
        description="Whether the regrouped interval holds what fresh processes show."
    )


class GroupsReport(Frozen):
    """Points that were measured in fresh processes and in re-formed groups of warm ones."""

    points: tuple[GroupsPoint, ...]
    width_ratio: float | None = Field(description="Median over points; null without any.")
    num_holding: int = Field(description="Points whose regrouped interval holds the fresh median.")
    sentence: str


def between(session: Session, sweep_ids: Sequence[str]) -> GroupsReport:
    """Put the fresh replicates of these sweeps beside the regrouped ones."""
    return report(measured(session, ResultFilter(sweep_ids=tuple(sweep_ids))))


def report(trials: Sequence[MeasuredTrial]) -> GroupsReport:
    """Compare the two kinds point by point, where both have two replicates or more. Pure."""
    times: dict[tuple[str, str], dict[GroupKind, list[MeasuredTrial]]] = {}
    for trial in trials:
        of_point = times.setdefault((trial.spec_key, trial.hardware_key), {})
        of_point.setdefault(trial.group_kind, []).append(trial)
    points = tuple(
        _point(kinds[GroupKind.FRESH], kinds[GroupKind.REGROUPED])
        for kinds in times.values()
        if all(len(kinds.get(kind, ())) >= FEWEST_REPLICATES for kind in GroupKind)
    )
    ratio = median(point.width_ratio for point in points) if points else None
    num_holding = sum(point.holds_fresh_median for point in points)
    return GroupsReport(
        points=points,
        width_ratio=ratio,
        num_holding=num_holding,
        sentence=_sentence(ratio, num_holding, len(points)),
    )


def _point(fresh: Sequence[MeasuredTrial], regrouped: Sequence[MeasuredTrial]) -> GroupsPoint:
    first = fresh[0]
    known, claimed = _estimate(fresh), _estimate(regrouped)
    return GroupsPoint(
        spec=first.spec,
        spec_key=first.spec_key,
        hardware_key=first.hardware_key,
        fresh=EstimateReport.of(known),
        regrouped=EstimateReport.of(claimed),
        width_ratio=_width(claimed) / max(_width(known), 1e-9),
        holds_fresh_median=(claimed.low or 0) <= known.median <= (claimed.high or 0),
    )


def _estimate(trials: Sequence[MeasuredTrial]) -> Estimate:
    times = [trial.summary.step_time_us for trial in trials]
    return estimate(times, rng=generator_of(trials[0].spec_key))


def _width(found: Estimate) -> float:
    return log((found.high or 1) / (found.low or 1))


def _sentence(ratio: float | None, num_holding: int, num_points: int) -> str:
    if ratio is None:
        return "no point has two replicates in fresh processes and two in re-formed groups"
    return (
        f"over re-formed groups of warm processes the interval is {ratio:.2f} times as wide as "
        f"over fresh processes, and holds the fresh median at {num_holding} of {num_points} points"
    )
