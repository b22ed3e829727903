"""A/A controls: what the instrument says where nothing differs."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.analysis.pairs import DEFAULT_PAIR_TOLERANCE
from service.api.auth import Reader
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import self_check as reports
from service.reports.self_check import SelfCheckReport
from service.store.moments import Moment

router = APIRouter(prefix="/v1/self-check", tags=["analysis"], route_class=ApiRoute)


class SelfCheckParameters(BaseModel):
    """Which controls, and what counts as a change."""

    model_config = ConfigDict(extra="forbid")

    schedule: str | None = Field(
        default=None, min_length=1, max_length=200, description="Name; without, all there are."
    )
    since: Moment | None = Field(default=None, description="Asked for then or later.")
    tolerance: float = Field(
        default=DEFAULT_PAIR_TOLERANCE,
        gt=0,
        lt=1,
        description="Relative change that does not matter.",
    )


@router.get("")
def get_self_check(
    which: Annotated[SelfCheckParameters, Query()], service: ServiceDep, caller: Reader
) -> SelfCheckReport:
    """Over the newest stored pairs of a point with itself: false alarms, and to which side."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(
            session, schedule=which.schedule, since=which.since, tolerance=which.tolerance
        )
