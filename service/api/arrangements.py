"""The arrangements of a block side by side."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from service.api.auth import Reader
from service.api.paging import Page
from service.api.parameters import SweepId
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import arrangements as reports
from service.reports.arrangements import ArrangementsReport
from service.store import sweeps
from service.store.result_filter import ResultFilter

router = APIRouter(prefix="/v1/arrangements", tags=["analysis"], route_class=ApiRoute)


class ArrangementsParameters(BaseModel):
    """Of which sweep."""

    model_config = ConfigDict(extra="forbid")

    sweep: SweepId


@router.get("")
def compare_arrangements(
    which: Annotated[ArrangementsParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[ArrangementsReport]:
    """What each arrangement costs by arithmetic and took, the cheapest first, and why."""
    del caller
    with service.sessions.reading() as session:
        sweeps.check_known(session, which.sweep)
        found = reports.of_results(session, ResultFilter(sweep_ids=(which.sweep,)))
    return Page(items=list(found), next_cursor=None)
