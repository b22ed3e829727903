"""One point: its samples, ranks, collectives, environment, and how far it can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.pages import figures
from service.pages.charts.samples import histogram, order
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import results
from service.reports.result import ResultReport, TrialReport
from workers.contract.axes import Pass

router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True, slots=True)
class RankRow:
    """The clean steps of one rank of one trial."""

    replicate: int
    rank: int
    num_steps: int
    median_us: float
    fastest_us: float
    slowest_us: float


@router.get("/points/{point_id}")
def point_page(request: Request, point_id: str, house: HouseDep, visitor: Reader) -> Response:
    """Everything that is kept of a point."""
    del visitor
    with house.sessions.reading() as session:
        result = results.find(session, point_id, include_samples=True)
    trials = result.trials or ()
    return page(
        request,
        "point.html",
        result=result,
        trials=trials,
        ranks=rank_rows(trials),
        spread=histogram(result.samples_us or (), figures.time_us, label=_said(result)),
        steps=order(
            _steps(result, trials),
            figures.time_us,
            label=f"Steps of {len(trials)} trials in the order they ran. {_said(result)}",
        ),
    )


def rank_rows(trials: Sequence[TrialReport]) -> list[RankRow]:
    """A row for each rank that clean steps were kept of."""
    return [
        RankRow(
            trial.replicate,
            one.rank,
            len(one.step_us),
            median(one.step_us),
            min(one.step_us),
            max(one.step_us),
        )
        for trial in trials
        for one in trial.samples or ()
        if one.pass_name is Pass.CLEAN and one.step_us
    ]


def _steps(result: ResultReport, trials: Sequence[TrialReport]) -> list[list[float]]:
    """The slowest rank's steps, cut at the ends of trials: as many as each trial timed."""
    left, cut = list(result.samples_us or ()), []
    for trial in trials:
        number = trial.summary.num_steps
        cut.append(left[:number])
        left = left[number:]
    return cut


def _said(result: ResultReport) -> str:
    step = result.step_time_us
    return (
        f"{step.num_steps} steps, median {figures.time_us(step.median)}, "
        f"p10 {figures.time_us(step.p10)}, p90 {figures.time_us(step.p90)}"
    )
