"""Which TP degree to run a model with: a form, the answer, and the times it rests on."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.analysis.recommendation.choice import DEFAULT_THRESHOLD, Objective
from service.errors import InvalidRequestError, ServiceError
from service.pages import figures
from service.pages.charts.lines import Line, Spot, line_chart
from service.pages.house import HouseDep
from service.pages.numbers import whole_numbers
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import nodes as node_reports
from service.reports.recommendation import report as reports
from service.reports.recommendation.report import Asked, RecommendationReport
from workers.contract.axes import Dtype, Phase
from workers.contract.catalogue import find_preset
from workers.contract.point import LARGEST_EXTENT
from workers.contract.presets import PRESETS

router = APIRouter(route_class=PageRoute)

MOST_BATCHES: Final = 20
MOST_HARDWARE: Final = 10


class Form(BaseModel):
    """What is asked; an empty model asks nothing yet."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(default="", max_length=200)
    hardware: str = Field(default="", max_length=1000)
    batch: str = Field(default="1", max_length=200)
    seq: int = Field(default=2048, ge=1, le=LARGEST_EXTENT)
    phase: Phase = Phase.DECODE
    dtype: Dtype = Dtype.BFLOAT16
    objective: Objective = Objective.LATENCY
    threshold: float = Field(default=DEFAULT_THRESHOLD, gt=0, lt=1)


@router.get("/recommend")
def recommend_page(
    request: Request, house: HouseDep, visitor: Reader, form: Annotated[Form, Query()]
) -> Response:
    """The form, and below it what it asks for."""
    del visitor
    found: tuple[RecommendationReport, ...] = ()
    error = None
    with house.sessions.reading() as session:
        try:
            found = _recommend(session, form) if form.model else ()
        except ServiceError as refused:
            error = refused
        nodes = node_reports.list_all(session)
    return page(
        request,
        "recommend.html",
        status=200 if error is None else error.status,
        form=form,
        found=[(one, chart(one)) for one in found],
        error=error,
        presets=list(PRESETS),
        phases=list(Phase),
        dtypes=list(Dtype),
        objectives=list(Objective),
        hardware=sorted({node.hardware.accelerator for node in nodes}),
    )


def chart(report: RecommendationReport) -> Markup | None:
    """Step time over the degrees that it is known of; None for fewer than two."""
    spots = tuple(
        Spot(float(one.tp_degree), one.step_time_us)
        for one in report.candidates
        if one.step_time_us is not None
    )
    if len(spots) < 2:  # noqa: PLR2004 - a line has two ends
        return None
    return line_chart(
        [Line("step time", spots)],
        x_title="tp_degree",
        y_title="time of a step",
        y_text=figures.time_us,
        label=report.sentence,
    )


def _recommend(session: Session, form: Form) -> tuple[RecommendationReport, ...]:
    try:
        model = find_preset(form.model).model
    except ValueError as error:
        raise InvalidRequestError(f"model: {error}") from None
    hardware = tuple(filter(None, (one.strip() for one in form.hardware.split(","))))
    batches = whole_numbers("batch", form.batch, most=MOST_BATCHES, largest=LARGEST_EXTENT)
    if len(hardware) > MOST_HARDWARE:
        raise InvalidRequestError(f"hardware: {MOST_HARDWARE} names at most")
    asked = Asked(
        model=model,
        hardware=hardware,
        batches=batches,
        seq=form.seq,
        phase=form.phase,
        dtype=form.dtype,
        objective=form.objective,
        threshold=form.threshold,
    )
    return reports.recommend(session, asked)
