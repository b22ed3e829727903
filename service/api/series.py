"""The history of a case, night by night."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.api.auth import Reader
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import series as reports
from service.reports.series import ALL_NODES, Asked, SeriesReport
from workers.contract.frozen import LARGEST_LABEL

router = APIRouter(prefix="/v1/series", tags=["analysis"], route_class=ApiRoute)


class SeriesParameters(BaseModel):
    """Which case, where."""

    model_config = ConfigDict(extra="forbid")

    spec_key: str = Field(max_length=LARGEST_LABEL)
    hardware_key: str = Field(max_length=LARGEST_LABEL)
    schedule: str | None = Field(
        default=None,
        max_length=LARGEST_LABEL,
        description="Whose nights; without, every sweep that measured the case is one.",
    )
    node: str = Field(
        default=ALL_NODES, max_length=LARGEST_LABEL, description="Empty: all of them together."
    )


@router.get("")
def get_series(
    which: Annotated[SeriesParameters, Query()], service: ServiceDep, caller: Reader
) -> SeriesReport:
    """Figures of the newest 200 nights, confirmed changes of level, and where versions changed."""
    del caller
    asked = Asked(which.spec_key, which.hardware_key, which.schedule, which.node)
    with service.sessions.reading() as session:
        return reports.find(session, asked)
