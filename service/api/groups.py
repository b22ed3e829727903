"""Fresh processes beside re-formed groups of warm ones."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.api.auth import Reader
from service.api.parameters import SweepId
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import groups as reports
from service.reports.groups import GroupsReport
from service.store import sweeps

router = APIRouter(prefix="/v1/groups", tags=["analysis"], route_class=ApiRoute)


class GroupsParameters(BaseModel):
    """Which two sweeps of one spec."""

    model_config = ConfigDict(extra="forbid")

    fresh: SweepId
    regrouped: str = Field(
        min_length=1, max_length=200, description="Id of the same with group_kind regrouped."
    )


@router.get("")
def compare_groups(
    which: Annotated[GroupsParameters, Query()], service: ServiceDep, caller: Reader
) -> GroupsReport:
    """How much narrower intervals over re-formed groups are, and whether they hold the truth."""
    del caller
    with service.sessions.reading() as session:
        sweeps.check_known(session, which.fresh, which.regrouped)
        return reports.between(session, (which.fresh, which.regrouped))
