"""Calibrations: what hardware takes for the parts that steps consist of."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Response
from pydantic import BaseModel, ConfigDict

from service.analysis import calibration_plan
from service.analysis.schedules.tags import refuse_own_tags
from service.api.auth import Reader, Submitter
from service.api.creation import KeyHeader, create
from service.api.examples.sweeps import CALIBRATIONS
from service.api.paging import Page
from service.api.route import ApiRoute
from service.api.state import Service, ServiceDep
from service.reports import roofline as reports
from service.reports.creation import Planned
from service.reports.prediction import HardwareName
from service.reports.roofline import RooflineReport
from service.reports.sweeps import SweepReport
from service.store import fleet
from workers.contract.calibration import CalibrationSpec

router = APIRouter(prefix="/v1", tags=["curves"], route_class=ApiRoute)


class RooflineParameters(BaseModel):
    """Of which hardware."""

    model_config = ConfigDict(extra="forbid")

    hardware: HardwareName | None = None


@router.post("/calibrations", status_code=202)
def calibrate(
    spec: Annotated[CalibrationSpec, Body(openapi_examples=CALIBRATIONS)],
    response: Response,
    service: ServiceDep,
    caller: Submitter,
    idempotency_key: KeyHeader = None,
) -> SweepReport:
    """Queue collectives over sizes, products over shapes and a copy of memory, as one sweep.

    What is left open follows from the devices that are known; `time_s` is divided among the probes.
    """
    return create(
        service,
        spec,
        caller=caller,
        idempotency_key=idempotency_key,
        plan=lambda: _planned(service, spec),
        response=response,
    )


@router.get("/roofline")
def get_roofline(
    which: Annotated[RooflineParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[RooflineReport]:
    """What calibrations measured of products and memory, beside what was published of it."""
    del caller
    with service.sessions.reading() as session:
        items = reports.found(session, hardware=which.hardware)
    return Page(items=list(items), next_cursor=None)


def _planned(service: Service, spec: CalibrationSpec) -> Planned:
    refuse_own_tags(spec)
    with service.sessions.reading() as session:
        nodes = fleet.node_facts(session)
    return calibration_plan.complete(spec, nodes=nodes, max_points=service.settings.max_points)
