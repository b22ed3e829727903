"""The pairs of a sweep."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.analysis.pairs import DEFAULT_PAIR_TOLERANCE
from service.api.auth import Reader
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import pairs as reports
from service.reports.pairs import PairsReport

router = APIRouter(prefix="/v1/sweeps", tags=["analysis"], route_class=ApiRoute)


class PairParameters(BaseModel):
    """What counts as a change."""

    model_config = ConfigDict(extra="forbid")

    tolerance: float = Field(
        default=DEFAULT_PAIR_TOLERANCE,
        gt=0,
        lt=1,
        description="Relative change that does not matter.",
    )


@router.get("/{sweep_id}/pairs")
def list_pairs(
    sweep_id: str,
    which: Annotated[PairParameters, Query()],
    service: ServiceDep,
    caller: Reader,
) -> PairsReport:
    """Both points of each pair over the groups in which they took turns: ratios and verdicts."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, sweep_id, tolerance=which.tolerance)
