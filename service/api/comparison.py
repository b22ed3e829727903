"""Two sweeps side by side."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.analysis.comparison import DEFAULT_TOLERANCE
from service.api.auth import Reader
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import comparison as reports
from service.reports.compared import ComparisonReport
from service.store import baselines
from service.store.result_filter import ResultFilter

router = APIRouter(prefix="/v1/compare", tags=["analysis"], route_class=ApiRoute)


SIDE = "Id of a sweep, or name of a baseline."


class ComparisonParameters(BaseModel):
    """Which two sweeps, and what counts as a change."""

    model_config = ConfigDict(extra="forbid")

    baseline: str = Field(min_length=1, max_length=200, description=SIDE)
    candidate: str = Field(min_length=1, max_length=200, description=SIDE)
    tolerance: float = Field(
        default=DEFAULT_TOLERANCE, gt=0, lt=1, description="Relative change that does not matter."
    )


@router.get("")
def compare_sweeps(
    which: Annotated[ComparisonParameters, Query()], service: ServiceDep, caller: Reader
) -> ComparisonReport:
    """Points matched by spec and hardware: ratio of step times, interval and verdict."""
    del caller
    with service.sessions.reading() as session:
        before, after = (baselines.resolve(session, n) for n in (which.baseline, which.candidate))
        return reports.between(
            session,
            ResultFilter(sweep_ids=(before,)),
            ResultFilter(sweep_ids=(after,)),
            baseline_name=which.baseline,
            candidate_name=which.candidate,
            tolerance=which.tolerance,
        )
