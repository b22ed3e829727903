"""Results: what points showed, over their trials."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.api.auth import Reader
from service.api.filtering import FilterParameters
from service.api.paging import Page, PageParameters
from service.api.parameters import Several
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import results as reports
from service.reports.result import ResultReport

router = APIRouter(prefix="/v1/results", tags=["results"], route_class=ApiRoute)


class ResultParameters(FilterParameters, PageParameters):
    """Which results, and which part of their list."""


class Include(StrEnum):
    """What is left out unless asked for."""

    SAMPLES = "samples"


class ResultDetail(BaseModel):
    """How much of a result."""

    model_config = ConfigDict(extra="forbid")

    include: Annotated[tuple[Include, ...], Several] = Field(
        default=(), description="`samples`: every timed step."
    )


@router.get("")
def list_results(
    which: Annotated[ResultParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[ResultReport]:
    """Results, newest sweep first, each in the order of its grid."""
    del caller
    with service.sessions.reading() as session:
        found = reports.page(session, which.as_filter(), limit=which.limit, cursor=which.cursor)
    return Page.of(found)


@router.get("/{result_id}")
def get_result(
    result_id: str, detail: Annotated[ResultDetail, Query()], service: ServiceDep, caller: Reader
) -> ResultReport:
    """One result with its trials."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, result_id, include_samples=Include.SAMPLES in detail.include)
