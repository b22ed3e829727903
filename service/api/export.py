"""All results that match, streamed: as JSON lines for another instance, as CSV, as Parquet."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from service.api.auth import Reader
from service.api.filtering import FilterParameters
from service.api.parameters import Several
from service.api.results import Include
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.reports.exporting.formats import Format, written
from service.store import exporting
from service.store.pages import Page
from service.store.records import FailureRecord, ResultRecord

router = APIRouter(prefix="/v1/results", tags=["results"], route_class=ApiRoute)

Record = TypeVar("Record", ResultRecord, FailureRecord)

POINTS_AT_ONCE = 100
WITH_SAMPLES_AT_ONCE = 10
"""Points of which all is held at one time."""

FILES: Responses = {
    200: {
        "description": "One line, or row, for each trial of each point.",
        "content": {form.media_type: {"schema": {"type": "string"}} for form in Format},
    },
    501: {"description": "`parquet` without pyarrow on the server."},
}


class ExportParameters(FilterParameters):
    """Which results, and how they are written."""

    format: Format = Format.JSONL
    include: Annotated[tuple[Include, ...], Several] = Field(
        default=(), description="`samples`: every timed step."
    )


@router.get("/export", response_class=StreamingResponse, responses=FILES)
def export_results(
    which: Annotated[ExportParameters, Query()], service: ServiceDep, caller: Reader
) -> StreamingResponse:
    """Every result that matches, newest sweep first, however many there are.

    JSON lines hold all of each, then all of each trial that failed, so that
    `POST /v1/results/import` elsewhere takes them; CSV and Parquet have a row of figures for each
    result. In CSV a text that a spreadsheet would run as a formula has an apostrophe in front.
    """
    del caller
    chosen = which.as_filter()
    samples = Include.SAMPLES in which.include
    results = partial(
        exporting.page,
        which=chosen,
        limit=WITH_SAMPLES_AT_ONCE if samples else POINTS_AT_ONCE,
        include_samples=samples,
    )
    failures = partial(exporting.failures, which=chosen, limit=POINTS_AT_ONCE)
    return StreamingResponse(
        written(_batches(service, results), _batches(service, failures), which.format),
        media_type=which.format.media_type,
        headers={"Content-Disposition": f'attachment; filename="results.{which.format}"'},
    )


def _batches(service: Service, read: Callable[..., Page[Record]]) -> Iterator[Sequence[Record]]:
    """Each page read in a short transaction of its own."""
    cursor: str | None = None
    while True:
        with service.sessions.reading() as session:
            page = read(session, cursor=cursor)
        yield page.items
        cursor = page.next_cursor
        if cursor is None:
            return
