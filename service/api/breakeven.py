"""From which batch on tensor parallelism is worth it."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.api.auth import Reader
from service.api.paging import Page
from service.api.parameters import SweepId
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import breakeven as reports
from service.reports.breakeven import BreakEvenReport
from service.store import sweeps
from service.store.result_filter import ResultFilter

router = APIRouter(prefix="/v1/breakeven", tags=["analysis"], route_class=ApiRoute)


class BreakEvenParameters(BaseModel):
    """Of which sweep."""

    model_config = ConfigDict(extra="forbid")

    sweep: SweepId
    hardware: str | None = Field(
        default=None, max_length=200, description="hardware_key, or the accelerator's name."
    )


@router.get("")
def get_breakeven(
    which: Annotated[BreakEvenParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[BreakEvenReport]:
    """Where compute overtakes communication and where the larger tp_degree starts to pay."""
    del caller
    hardware = () if which.hardware is None else (which.hardware,)
    with service.sessions.reading() as session:
        sweeps.check_known(session, which.sweep)
        chosen = replace(ResultFilter.on(*hardware), sweep_ids=(which.sweep,))
        found = reports.of_results(session, chosen)
    return Page(items=list(found), next_cursor=None)
