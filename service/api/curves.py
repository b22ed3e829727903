"""Curves of collective times: brought in from nccl-tests, listed, and written in its layout."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from service.analysis.nccl_tests.export import as_text
from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import NcclTestsError, Told
from service.api.auth import Reader, Submitter
from service.api.examples import NCCL_TESTS_JSON, NCCL_TESTS_TEXT
from service.api.paging import Page
from service.api.problems import MOST_ERRORS
from service.api.route import ApiRoute, Responses
from service.api.state import ServiceDep
from service.api.text_body import TextBody, described
from service.errors import FieldError, UnreadableFileError
from service.reports import curves as reports
from service.reports.curves import CurveReport, ImportReport
from service.reports.prediction import HardwareName
from service.store import curves
from workers.contract.frozen import Label

router = APIRouter(prefix="/v1", tags=["curves"], route_class=ApiRoute)


class Format(StrEnum):
    """How curves are written."""

    JSON = "json"
    NCCL_TESTS = "nccl-tests"


class ImportParameters(BaseModel):
    """What the file itself may not tell."""

    model_config = ConfigDict(extra="forbid")

    hardware: HardwareName = Field(description="Name under which predictions find it.")
    op: Operation | None = Field(default=None, description="Where the file does not name it.")
    num_ranks: int | None = Field(default=None, ge=1, le=1 << 20)
    num_nodes: int | None = Field(default=None, ge=1, le=1 << 16)
    source: Label = Field(default="", description="Where the file comes from.")


class CurveParameters(BaseModel):
    """Which curves, and how they are written."""

    model_config = ConfigDict(extra="forbid")

    hardware: HardwareName | None = None
    op: Operation | None = None
    format: Format = Format.JSON


@router.post(
    "/results/import",
    openapi_extra=described(text=NCCL_TESTS_TEXT, document=NCCL_TESTS_JSON),
)
def import_results(
    which: Annotated[ImportParameters, Query()],
    body: TextBody,
    service: ServiceDep,
    caller: Submitter,
) -> ImportReport:
    """Take what nccl-tests printed, text of any version or its JSON; again is no change.

    Every row's bandwidths are recomputed. One that is cut, contradicts itself or came out wrong is
    left out with the reason.
    """
    told = Told(operation=which.op, num_ranks=which.num_ranks, num_nodes=which.num_nodes)
    try:
        reading = read(body, told)
    except NcclTestsError as error:
        errors = [
            FieldError(pointer=f"line {one.line}", detail=one.reason) for one in error.skipped
        ]
        raise UnreadableFileError(str(error), errors=tuple(errors[:MOST_ERRORS])) from None
    with service.sessions.writing() as session:
        return reports.bring_in(
            session,
            reading,
            hardware=which.hardware,
            source=which.source,
            imported_by=caller.name,
        )


CURVES: Responses = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("/curves", response_model=Page[CurveReport], responses=CURVES)
def list_curves(
    which: Annotated[CurveParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[CurveReport] | Response:
    """Curves by hardware, operation and number of ranks; `format=nccl-tests` is its own layout."""
    del caller
    with service.sessions.reading() as session:
        if which.format is Format.NCCL_TESTS:
            found = curves.list_all(session, hardware=which.hardware, operation=which.op)
            return PlainTextResponse(as_text([curve.table for curve in found]))
        items = reports.found(session, hardware=which.hardware, operation=which.op)
    return Page(items=list(items), next_cursor=None)
