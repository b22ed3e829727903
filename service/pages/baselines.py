"""Baselines: sweeps pinned under a name."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.analysis.schedules.spec import Name
from service.errors import ServiceError
from service.pages import forms
from service.pages.forms import Fields, FieldsDep
from service.pages.house import House, HouseDep
from service.pages.page import go_to, page
from service.pages.route import PageRoute
from service.pages.visitor import Reader, Submitter
from service.reports import baselines as reports
from service.reports import sweeps as sweep_reports
from service.store import baselines
from workers.contract.frozen import Frozen, Label

router = APIRouter(route_class=PageRoute)

MOST_SWEEPS = 50


class PinForm(Frozen):
    """A name for a sweep."""

    name: Name
    sweep: Label
    note: Label = ""


@router.get("/baselines")
def baselines_page(request: Request, house: HouseDep, visitor: Reader) -> Response:
    """Every baseline, and a form for one more."""
    del visitor
    return _shown(request, house, {})


@router.post("/baselines")
def pin(request: Request, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Give a sweep a name."""
    try:
        values = {name: fields.get(name, "") for name in PinForm.model_fields}
        asked = forms.parse(PinForm, values)
        with house.sessions.writing() as session:
            baselines.pin(
                session,
                asked.name,
                asked.sweep,
                note=asked.note,
                pinned_by=visitor.caller.name,
                expires_at=None,
            )
    except ServiceError as error:
        return _shown(request, house, fields, error=error)
    return go_to("/baselines")


@router.post("/baselines/{name}/remove")
def remove(name: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Forget the name; the sweep stays."""
    del visitor, fields
    with house.sessions.writing() as session:
        baselines.remove(session, name)
    return go_to("/baselines")


def _shown(
    request: Request, house: House, fields: Fields, *, error: ServiceError | None = None
) -> Response:
    with house.sessions.reading() as session:
        found = reports.list_all(session)
        newest = sweep_reports.names(session, limit=MOST_SWEEPS)
    return page(
        request,
        "baselines.html",
        status=200 if error is None else error.status,
        found=found,
        newest=[one for one in newest if not one.is_calibration],
        values={"name": "", "sweep": "", "note": ""} | dict(fields),
        error=error,
    )
