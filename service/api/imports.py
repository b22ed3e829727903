"""Results from elsewhere: what nccl-tests printed, and what another instance exported."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from service.analysis.nccl_tests.operation import Operation
from service.analysis.nccl_tests.reading import read
from service.analysis.nccl_tests.table import NcclTestsError, Told
from service.api.auth import Submitter
from service.api.examples.foreign_files import NCCL_TESTS_JSON, NCCL_TESTS_TEXT
from service.api.problems import MOST_ERRORS
from service.api.route import ApiRoute
from service.api.state import Service, ServiceDep
from service.api.text_body import described
from service.api.upload import JSON_LINES, Upload
from service.errors import FieldError, InvalidRequestError, UnreadableFileError
from service.reports import curves as curve_reports
from service.reports import merging
from service.reports.curves import ImportReport
from service.reports.merging import MergeReport
from service.reports.prediction import HardwareName
from workers.contract.frozen import Label

router = APIRouter(prefix="/v1/results", tags=["results"], route_class=ApiRoute)


class ImportParameters(BaseModel):
    """What the file itself may not tell."""

    model_config = ConfigDict(extra="forbid")

    hardware: HardwareName | None = Field(
        default=None,
        description="Name under which predictions find it; needed but for JSON lines, which say "
        "theirs.",
    )
    op: Operation | None = Field(default=None, description="Where the file does not name it.")
    num_ranks: int | None = Field(default=None, ge=1, le=1 << 20)
    num_nodes: int | None = Field(default=None, ge=1, le=1 << 16)
    source: Label = Field(default="", description="Where the file comes from.")


BODIES = described(text=NCCL_TESTS_TEXT, document=NCCL_TESTS_JSON)
BODIES["requestBody"]["content"][JSON_LINES] = {"schema": {"type": "string"}}


@router.post("/import", openapi_extra=BODIES)
def import_results(
    which: Annotated[ImportParameters, Query()],
    body: Upload,
    service: ServiceDep,
    caller: Submitter,
) -> ImportReport | MergeReport:
    """Take what nccl-tests printed, text of any version or its JSON, or exported JSON lines.

    Again is no change. Of nccl-tests every row's bandwidths are recomputed; one that is cut,
    contradicts itself or came out wrong is left out with the reason. JSON lines are merged by id:
    a line that cannot be read refuses them all, one that contradicts what is here is left out.
    """
    if not isinstance(body, bytes):
        _refuse_parameters(which)
        return merging.merge(service.sessions, body)
    return _of_nccl_tests(service, which, body, imported_by=caller.name)


def _of_nccl_tests(
    service: Service, which: ImportParameters, body: bytes, *, imported_by: str
) -> ImportReport:
    if which.hardware is None:
        raise _wrong("?hardware", "is needed: the name under which predictions find it")
    told = Told(operation=which.op, num_ranks=which.num_ranks, num_nodes=which.num_nodes)
    try:
        reading = read(body, told)
    except NcclTestsError as error:
        errors = [
            FieldError(pointer=f"line {one.line}", detail=one.reason) for one in error.skipped
        ]
        raise UnreadableFileError(str(error), errors=tuple(errors[:MOST_ERRORS])) from None
    with service.sessions.writing() as session:
        return curve_reports.bring_in(
            session,
            reading,
            hardware=which.hardware,
            source=which.source,
            imported_by=imported_by,
        )


def _refuse_parameters(which: ImportParameters) -> None:
    for name in which.model_fields_set - {"source"}:
        raise _wrong(f"?{name}", "is of nccl-tests' files; JSON lines say themselves what they are")


def _wrong(pointer: str, detail: str) -> InvalidRequestError:
    return InvalidRequestError(f"{pointer}: {detail}", errors=(FieldError(pointer, detail),))
