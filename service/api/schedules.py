"""Schedules: created, looked at, changed, paused, started by hand, deleted; and their decisions."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Response
from pydantic import Field, StringConstraints
from sqlalchemy.orm import Session

from service.analysis.schedules.spec import ScheduleSpec
from service.api.auth import Reader, Submitter
from service.api.examples.schedules import PAUSES, SCHEDULES
from service.api.paging import Page, PageParameters
from service.api.parameters import in_the_future
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.errors import FieldError, InvalidRequestError, NotFoundError
from service.reports import bridges
from service.reports import preview as previews
from service.reports import schedules as reports
from service.reports.bridges import BridgeReport
from service.reports.schedules import DecisionReport, ScheduleReport
from service.store import baselines, firing, schedules
from service.store.moments import Moment
from workers.contract.frozen import LARGEST_LABEL, Frozen

router = APIRouter(prefix="/v1/schedules", tags=["schedules"], route_class=ApiRoute)

ScheduleBody = Annotated[ScheduleSpec, Body(openapi_examples=SCHEDULES)]
TAKEN: Responses = {409: {"description": "There is another schedule of this name."}}

PauseEnd = Annotated[Moment, in_the_future(consequence="a pause until then would be over")]


class PauseRequest(Frozen):
    """Why nothing is to be started, and until when."""

    reason: Annotated[
        str,
        StringConstraints(
            min_length=1, max_length=LARGEST_LABEL, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$"
        ),
    ]
    until: PauseEnd | None = Field(default=None, description="Without, until it is resumed.")


@router.post("", status_code=201, responses=TAKEN)
def create_schedule(
    spec: ScheduleBody, response: Response, service: ServiceDep, caller: Submitter
) -> ScheduleReport:
    """Measure a sweep at every time that a cron expression names in a zone, from now on."""
    _refuse_what_cannot_run(service, spec)
    with service.sessions.writing() as session:
        report = reports.report(session, schedules.create(session, spec, created_by=caller.name))
    response.headers["Location"] = f"/v1/schedules/{report.id}"
    return report


@router.get("")
def list_schedules(service: ServiceDep, caller: Reader) -> Page[ScheduleReport]:
    """Every schedule, by name."""
    del caller
    with service.sessions.reading() as session:
        return Page(items=list(reports.list_all(session)), next_cursor=None)


@router.get("/{schedule}")
def get_schedule(schedule: str, service: ServiceDep, caller: Reader) -> ScheduleReport:
    """One schedule, by id or name, and when it starts next."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, schedule)


@router.put("/{schedule}", responses=TAKEN)
def replace_schedule(
    schedule: str, spec: ScheduleBody, service: ServiceDep, caller: Submitter
) -> ScheduleReport:
    """Change a schedule as a whole; what it named before is decided as it was, first.

    That starts now also what `jitter_s` has put off to later.
    """
    del caller
    _refuse_what_cannot_run(service, spec)
    with service.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        firing.fire_due(session, known, max_points=service.settings.max_points, is_early=True)
        return reports.report(session, schedules.replace(session, known.id, spec))


@router.delete("/{schedule}", status_code=204)
def delete_schedule(schedule: str, service: ServiceDep, caller: Submitter) -> None:
    """Forget a schedule and its decisions; the sweeps it started stay."""
    del caller
    with service.sessions.writing() as session:
        schedules.remove(session, schedule)


@router.post("/{schedule}/run", status_code=202)
def run_schedule(schedule: str, service: ServiceDep, caller: Submitter) -> DecisionReport:
    """Start its sweep now, also while it is paused or another of its sweeps is not over."""
    with service.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        decided = firing.run_now(
            session, known, asked_by=caller.name, max_points=service.settings.max_points
        )
    return DecisionReport.of(decided)


@router.post("/{schedule}/pause")
def pause_schedule(
    schedule: str,
    request: Annotated[PauseRequest, Body(openapi_examples=PAUSES)],
    service: ServiceDep,
    caller: Submitter,
) -> ScheduleReport:
    """Start nothing; each time that is left out is kept with the reason."""
    del caller
    with service.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        paused = schedules.pause(session, known.id, reason=request.reason, until=request.until)
        return reports.report(session, paused)


@router.post("/{schedule}/resume")
def resume_schedule(schedule: str, service: ServiceDep, caller: Submitter) -> ScheduleReport:
    """End a pause; what it left out is not made up for."""
    del caller
    with service.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        firing.fire_due(session, known, max_points=service.settings.max_points)
        return reports.report(session, schedules.resume(session, known.id))


@router.get("/{schedule}/decisions")
def list_decisions(
    schedule: str,
    which: Annotated[PageParameters, Query()],
    service: ServiceDep,
    caller: Reader,
) -> Page[DecisionReport]:
    """What became of every time it named, and why; newest first."""
    del caller
    with service.sessions.reading() as session:
        found = reports.decisions(session, schedule, limit=which.limit, cursor=which.cursor)
    return Page.of(found)


@router.get("/{schedule}/bridges")
def list_bridges(schedule: str, service: ServiceDep, caller: Reader) -> Page[BridgeReport]:
    """Where its nights went over to other hardware, and by what ratio; oldest first."""
    del caller
    with service.sessions.reading() as session:
        return Page(items=list(bridges.list_all(session, schedule)), next_cursor=None)


def _refuse_what_cannot_run(service: Service, spec: ScheduleSpec) -> None:
    """A schedule that the known machines could never measure is told so at once, not at night."""
    with service.sessions.reading() as session:
        if spec.baseline is not None:
            _refuse_unknown_baseline(session, spec.baseline)
        previews.planned(session, spec.sweep, max_points=service.settings.max_points)


def _refuse_unknown_baseline(session: Session, name: str) -> None:
    try:
        baselines.find(session, name)
    except NotFoundError as error:
        errors = (FieldError(pointer="/baseline", detail=error.detail),)
        raise InvalidRequestError(f"/baseline: {error.detail}", errors=errors) from None
