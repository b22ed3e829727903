"""Curves of collective times: measured or brought in, listed, and in nccl-tests' layout."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict

from service.analysis.nccl_tests.export import as_text
from service.analysis.nccl_tests.operation import Operation
from service.api.auth import Reader
from service.api.paging import Page
from service.api.route import ApiRoute, Responses
from service.api.state import ServiceDep
from service.reports import curves as reports
from service.reports.curves import CurveReport
from service.reports.prediction import HardwareName

router = APIRouter(prefix="/v1", tags=["curves"], route_class=ApiRoute)


class Format(StrEnum):
    """How curves are written."""

    JSON = "json"
    NCCL_TESTS = "nccl-tests"


class CurveParameters(BaseModel):
    """Which curves, and how they are written."""

    model_config = ConfigDict(extra="forbid")

    hardware: HardwareName | None = None
    op: Operation | None = None
    format: Format = Format.JSON


CURVES: Responses = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("/curves", response_model=Page[CurveReport], responses=CURVES)
def list_curves(
    which: Annotated[CurveParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[CurveReport] | Response:
    """Curves by hardware, operation and number of ranks; `format=nccl-tests` is its own layout."""
    del caller
    with service.sessions.reading() as session:
        found = reports.found(session, hardware=which.hardware, operation=which.op)
    if which.format is Format.NCCL_TESTS:
        shown = [(curve.table, f"collective_impl {curve.collective_impl}") for curve in found]
        return PlainTextResponse(as_text(shown))
    return Page(items=[CurveReport.of(curve) for curve in found], next_cursor=None)
