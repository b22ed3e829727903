"""Which TP degree to run a model with."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.analysis.recommendation.choice import DEFAULT_THRESHOLD, Objective
from service.api.auth import Reader
from service.api.paging import Page
from service.api.parameters import Several
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.errors import FieldError, InvalidRequestError
from service.reports.recommendation import ranges as range_reports
from service.reports.recommendation import report as reports
from service.reports.recommendation.ranges import RangeReport
from service.reports.recommendation.report import Asked, RecommendationReport
from workers.contract.axes import Dtype, Phase
from workers.contract.catalogue import find_preset
from workers.contract.point import LARGEST_EXTENT
from workers.contract.whole_model import WholeModel

router = APIRouter(prefix="/v1/recommendation", tags=["analysis"], route_class=ApiRoute)

Name = Annotated[str, Field(min_length=1, max_length=200)]
Extent = Annotated[int, Field(ge=1, le=LARGEST_EXTENT)]


class RecommendationParameters(BaseModel):
    """For which model, where, and what."""

    model_config = ConfigDict(extra="forbid")

    model: Name = Field(description="Name of a preset.")
    hardware: Annotated[tuple[Name, ...], Several] = Field(
        default=(),
        max_length=10,
        description="hardware_key, part of a seen accelerator's name, or a published one as "
        "`H100 SXM`; several with commas. All that was seen where not given.",
    )
    batch: Annotated[tuple[Extent, ...], Several] = Field(
        default=(1,), max_length=20, description="One, or several with commas."
    )
    seq: Extent = 2048
    phase: Phase = Phase.DECODE
    dtype: Dtype = Dtype.BFLOAT16
    objective: Objective = Objective.LATENCY
    threshold: float = Field(
        default=DEFAULT_THRESHOLD, gt=0, lt=1, description="Largest share of communication."
    )


class RangeParameters(BaseModel):
    """What counts as too much communication."""

    model_config = ConfigDict(extra="forbid")

    threshold: float = Field(default=DEFAULT_THRESHOLD, gt=0, lt=1)


@router.get("")
def recommend_degree(
    which: Annotated[RecommendationParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[RecommendationReport]:
    """The TP degree for each hardware and batch: from results of this service, else predicted."""
    del caller
    asked = Asked(
        model=_model(which.model),
        hardware=which.hardware,
        batches=which.batch,
        seq=which.seq,
        phase=which.phase,
        dtype=which.dtype,
        objective=which.objective,
        threshold=which.threshold,
    )
    with service.sessions.reading() as session:
        found = reports.recommend(session, asked)
    return Page(items=list(found), next_cursor=None)


@router.get("/ranges")
def list_ranges(which: Annotated[RangeParameters, Query()], caller: Reader) -> Page[RangeReport]:
    """TP degrees that make sense for each preset on each published accelerator; no measurement."""
    del caller
    return Page(items=list(range_reports.ranges(threshold=which.threshold)), next_cursor=None)


def _model(name: str) -> WholeModel:
    try:
        return find_preset(name).model
    except ValueError as error:
        problem = FieldError(pointer="?model", detail=str(error))
        raise InvalidRequestError(str(error), errors=(problem,)) from error
