"""Two sides held against one another, point by point."""

import math
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.analysis.comparison import DEFAULT_TOLERANCE, Verdict
from service.errors import ServiceError
from service.pages import forms
from service.pages.charts.ratios import Effect, ratio_plot
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.point_name import point_name
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import baselines as baseline_reports
from service.reports import comparison, sweeps
from service.reports.compared import ComparedPoint, ComparisonReport
from service.reports.selection import Selection
from service.reports.sides import Side
from workers.contract.frozen import Frozen

router = APIRouter(route_class=PageRoute)

MOST_DRAWN: Final = 24
MOST_LISTED: Final = 300
MOST_SUGGESTED: Final = 50


class Asked(BaseModel):
    """Which two sides; an empty field of the form chooses nothing."""

    model_config = ConfigDict(extra="forbid")

    baseline: str = Field(default="", max_length=2000)
    candidate: str = Field(default="", max_length=2000)
    tolerance: float = Field(default=DEFAULT_TOLERANCE, gt=0, lt=1)
    allow_different: str = Field(default="", max_length=500)
    only: Verdict | None = None


class _Sides(Frozen):
    """Both as they are written."""

    baseline: Selection
    candidate: Selection


@router.get("/compare")
def compare_page(
    request: Request, house: HouseDep, visitor: Reader, asked: Annotated[Asked, Query()]
) -> Response:
    """The form, and below it what was asked for."""
    del visitor
    found, error = None, None
    with house.sessions.reading() as session:
        if asked.baseline and asked.candidate:
            try:
                found = _compare(session, asked)
            except ServiceError as refused:
                error = refused
        newest = sweeps.names(session, limit=MOST_SUGGESTED)
        baselines = baseline_reports.list_all(session)
    points = _by_effect(found)
    shown = [point for point in points if asked.only in (None, point.verdict)]
    return page(
        request,
        "compare.html",
        status=200 if error is None else error.status,
        asked=asked,
        found=found,
        error=error,
        points=shown[:MOST_LISTED],
        num_points=len(shown),
        plot=_plot(found, shown[:MOST_DRAWN]) if found and shown else None,
        most_drawn=MOST_DRAWN,
        newest=newest,
        baselines=baselines,
        query={name: value for name, value in asked.model_dump(mode="json").items() if value},
        most_listed=MOST_LISTED,
    )


def _compare(session: Session, asked: Asked) -> ComparisonReport:
    sides = forms.parse(_Sides, {"baseline": asked.baseline, "candidate": asked.candidate})
    return comparison.between(
        session,
        Side(sides.baseline, "baseline"),
        Side(sides.candidate, "candidate"),
        tolerance=asked.tolerance,
        allow_different=tuple(asked.allow_different.replace(",", " ").split()),
    )


def _by_effect(found: ComparisonReport | None) -> list[ComparedPoint]:
    """The largest change first, in either direction."""
    points = () if found is None else found.points
    return sorted(points, key=lambda point: -abs(math.log(point.ratio)))


def _effect(point: ComparedPoint) -> Effect:
    name = point_name(point.spec)
    return Effect(name, point.ratio, point.ci_low, point.ci_high, point.verdict)


def _plot(found: ComparisonReport, points: list[ComparedPoint]) -> Markup:
    return ratio_plot(
        [_effect(point) for point in points],
        tolerance=found.tolerance,
        label=f"Ratio of step times, candidate over baseline. {found.sentence}",
    )
