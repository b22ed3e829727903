"""The fleet as the nights of schedules show it."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.api.auth import Reader
from service.api.paging import Page
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import fleet as reports
from service.reports.fleet import FleetReport
from service.store.history import MOST_NIGHTS
from workers.contract.frozen import LARGEST_LABEL

router = APIRouter(prefix="/v1/fleet", tags=["fleet"], route_class=ApiRoute)


class FleetParameters(BaseModel):
    """Which nights."""

    model_config = ConfigDict(extra="forbid")

    policy: str | None = Field(
        default=None, max_length=LARGEST_LABEL, description="Name of a schedule; without, all."
    )
    nights: int = Field(default=30, ge=5, le=MOST_NIGHTS, description="The newest so many.")


@router.get("")
def get_fleet(
    which: Annotated[FleetParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[FleetReport]:
    """Each node's score, link score and noise night by night, and which are missing or flaky."""
    del caller
    with service.sessions.reading() as session:
        found = reports.list_all(session, policy=which.policy, num_nights=which.nights)
    return Page(items=list(found), next_cursor=None)
