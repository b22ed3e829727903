"""Schedules: what is measured again and again, and what became of it."""

from typing import Final

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.analysis.schedules.spec import CatchUp, Overlap, ScheduleSpec
from service.analysis.schedules.tags import without_own_tags
from service.errors import ServiceError
from service.pages import forms
from service.pages.forms import Fields, FieldsDep
from service.pages.house import House, HouseDep
from service.pages.page import go_to, page
from service.pages.route import PageRoute
from service.pages.visitor import Reader, Submitter
from service.reports import baselines as baseline_reports
from service.reports import preview as previews
from service.reports import schedules as reports
from service.reports import sweeps as sweep_reports
from service.store import baselines, firing, schedules
from workers.contract.frozen import Frozen, Label

router = APIRouter(route_class=PageRoute)

NUM_DECISIONS: Final = 14
MOST_SWEEPS: Final = 50


class PauseForm(Frozen):
    """Why nothing is to be started."""

    reason: Label


@router.get("/schedules")
def schedules_page(request: Request, house: HouseDep, visitor: Reader) -> Response:
    """Every schedule, and a form for one more."""
    del visitor
    return _shown(request, house, {})


@router.post("/schedules")
def create(request: Request, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Measure what a sweep measured, again and again."""
    try:
        with house.sessions.reading() as session:
            spec = _spec(session, fields)
            previews.planned(session, spec.sweep, max_points=house.settings.max_points)
        with house.sessions.writing() as session:
            schedules.create(session, spec, created_by=visitor.caller.name)
    except ServiceError as error:
        return _shown(request, house, fields, error=error)
    return go_to("/schedules")


@router.post("/schedules/{schedule}/run")
def run(schedule: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Start its sweep now."""
    del fields
    with house.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        decided = firing.run_now(
            session, known, asked_by=visitor.caller.name, max_points=house.settings.max_points
        )
    return go_to(f"/sweeps/{decided.sweep_id}" if decided.sweep_id else "/schedules")


@router.post("/schedules/{schedule}/pause")
def pause(schedule: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Start nothing until it is resumed."""
    del visitor
    reason = forms.parse(PauseForm, {"reason": fields.get("reason") or "paused on its page"}).reason
    with house.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        schedules.pause(session, known.id, reason=reason, until=None)
    return go_to("/schedules")


@router.post("/schedules/{schedule}/resume")
def resume(schedule: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """End a pause."""
    del visitor, fields
    with house.sessions.writing() as session:
        known = schedules.find(session, schedule, lock=True)
        firing.fire_due(session, known, max_points=house.settings.max_points)
        schedules.resume(session, known.id)
    return go_to("/schedules")


@router.post("/schedules/{schedule}/delete")
def delete(schedule: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Forget it; its sweeps stay."""
    del visitor, fields
    with house.sessions.writing() as session:
        schedules.remove(session, schedule)
    return go_to("/schedules")


def _spec(session: Session, fields: Fields) -> ScheduleSpec:
    """NotFoundError where the sweep or the baseline is not there."""
    sweep = sweep_reports.find(session, fields.get("sweep", "")).grid
    if fields.get("baseline"):
        baselines.find(session, fields["baseline"])
    return forms.parse(
        ScheduleSpec,
        {
            "name": fields.get("name", ""),
            "cron": fields.get("cron", ""),
            "zone": fields.get("zone", ""),
            "sweep": without_own_tags(sweep),
            "baseline": fields.get("baseline") or None,
            "catch_up": fields.get("catch_up", CatchUp.LATEST),
            "overlap": fields.get("overlap", Overlap.SKIP),
        },
    )


def _shown(
    request: Request, house: House, fields: Fields, *, error: ServiceError | None = None
) -> Response:
    with house.sessions.reading() as session:
        found = [
            (one, reports.decisions(session, one.id, limit=NUM_DECISIONS).items)
            for one in reports.list_all(session)
        ]
        newest = sweep_reports.names(session, limit=MOST_SWEEPS)
        pinned = baseline_reports.list_all(session)
    empty = {"name": "", "cron": "0 2 * * *", "zone": "UTC", "sweep": "", "baseline": ""}
    empty |= {"catch_up": CatchUp.LATEST, "overlap": Overlap.SKIP}
    return page(
        request,
        "schedules.html",
        status=200 if error is None else error.status,
        found=found,
        newest=[one for one in newest if not one.is_calibration],
        pinned=pinned,
        values=empty | dict(fields),
        error=error,
        catch_ups=list(CatchUp),
        overlaps=list(Overlap),
    )
