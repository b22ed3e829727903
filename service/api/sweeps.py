"""Sweeps: preview, create, list, show, cancel, retry, and their points."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Response
from pydantic import Field

from service.api.auth import Reader, Submitter
from service.api.creation import KeyHeader, create
from service.api.examples.sweeps import SWEEPS
from service.api.paging import Page, PageParameters
from service.api.parameters import Tag
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.reports import preview as previews
from service.reports import sweeps as reports
from service.reports.creation import Planned
from service.reports.preview import PreviewReport
from service.reports.sweeps import PointReport, SweepReport
from service.store import sweeps
from service.store.moments import Moment
from service.store.states import PointState, SweepState
from workers.contract.sweep import SweepSpec

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], route_class=ApiRoute)

SweepBody = Annotated[SweepSpec, Body(openapi_examples=SWEEPS)]
RETRY_RESPONSES: Responses = {409: {"description": "Nothing of the sweep has failed."}}


class SweepFilter(PageParameters):
    """Which sweeps."""

    state: SweepState | None = None
    tag: Tag | None = None
    since: Moment | None = Field(default=None, description="Created then or later.")


class PointFilter(PageParameters):
    """Which points of a sweep."""

    state: PointState | None = None


@router.post("/preview")
def preview_sweep(spec: SweepBody, service: ServiceDep, caller: Reader) -> PreviewReport:
    """Judge every combination of a sweep; nothing is queued."""
    del caller
    with service.sessions.reading() as session:
        expansion = previews.expand(session, spec, max_points=service.settings.max_points)
    return PreviewReport.of(spec, expansion)


@router.post("", status_code=202)
def create_sweep(
    spec: SweepBody,
    response: Response,
    service: ServiceDep,
    caller: Submitter,
    idempotency_key: KeyHeader = None,
) -> SweepReport:
    """Queue every combination that can be measured; keep the others with the reason."""
    return create(
        service,
        spec,
        caller=caller,
        idempotency_key=idempotency_key,
        plan=lambda: _planned(service, spec),
        response=response,
    )


@router.get("")
def list_sweeps(
    which: Annotated[SweepFilter, Query()], service: ServiceDep, caller: Reader
) -> Page[SweepReport]:
    """Sweeps, newest first."""
    del caller
    with service.sessions.reading() as session:
        found = reports.page(
            session,
            state=which.state,
            tag=which.tag,
            since=which.since,
            limit=which.limit,
            cursor=which.cursor,
        )
    return Page.of(found)


@router.get("/{sweep_id}")
def get_sweep(sweep_id: str, service: ServiceDep, caller: Reader) -> SweepReport:
    """One sweep with its progress."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, sweep_id)


@router.get("/{sweep_id}/points")
def list_points(
    sweep_id: str, which: Annotated[PointFilter, Query()], service: ServiceDep, caller: Reader
) -> Page[PointReport]:
    """Points of a sweep in the order of its grid, the rejected ones last."""
    del caller
    with service.sessions.reading() as session:
        found = reports.points(
            session, sweep_id, state=which.state, limit=which.limit, cursor=which.cursor
        )
    return Page.of(found)


@router.post("/{sweep_id}/cancel", status_code=202)
def cancel_sweep(sweep_id: str, service: ServiceDep, caller: Submitter) -> SweepReport:
    """Stop what has not been measured; a running group ends within seconds."""
    del caller
    with service.sessions.writing() as session:
        sweep = sweeps.cancel(session, sweep_id)
    return SweepReport.of(sweep)


@router.post("/{sweep_id}/retry", status_code=202, responses=RETRY_RESPONSES)
def retry_sweep(sweep_id: str, service: ServiceDep, caller: Submitter) -> SweepReport:
    """Put the failed trials of a sweep back into the queue."""
    del caller
    with service.sessions.writing() as session:
        sweep = sweeps.retry(session, sweep_id)
    return SweepReport.of(sweep)


def _planned(service: Service, spec: SweepSpec) -> Planned:
    with service.sessions.reading() as session:
        return previews.planned(session, spec, max_points=service.settings.max_points)
