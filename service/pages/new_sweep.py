"""A new sweep: a form that shows what it would measure while it is filled in."""

import secrets
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from service.errors import InvalidRequestError, ServiceError
from service.pages import forms, sweep_form
from service.pages.forms import Fields, FieldsDep
from service.pages.house import House, HouseDep
from service.pages.page import go_to, page
from service.pages.route import PageRoute
from service.pages.sweep_form import BOXES, STARTING_POINTS
from service.pages.visitor import Submitter
from service.reports import creation
from service.reports import preview as previews
from service.reports import sweeps as reports
from service.reports.creation import Asker, Planned
from service.reports.preview import PreviewReport
from workers.contract.canonical import sha256_of
from workers.contract.presets import PRESETS
from workers.contract.sweep import SweepSpec

router = APIRouter(route_class=PageRoute)

MOST_LISTED: Final = 60


class Start(BaseModel):
    """What the form is filled with."""

    model_config = ConfigDict(extra="forbid")

    preset: str = Field(default="", max_length=100)
    sweep: str = Field(default="", max_length=200)


@router.get("/sweeps/new")
def form_page(
    request: Request, house: HouseDep, visitor: Submitter, start: Annotated[Start, Query()]
) -> Response:
    """The form, filled from a starting point or an earlier sweep."""
    del visitor
    if start.sweep:
        with house.sessions.reading() as session:
            spec = reports.find(session, start.sweep).grid
    else:
        name = start.preset or next(iter(STARTING_POINTS))
        if name not in STARTING_POINTS:
            raise InvalidRequestError(f"preset: there is no {name!r}")
        spec = forms.parse(SweepSpec, STARTING_POINTS[name])
    return _form(request, sweep_form.filled(spec))


@router.post("/sweeps/new/preview")
def preview_fragment(
    request: Request, house: HouseDep, visitor: Submitter, fields: FieldsDep
) -> Response:
    """What the form would measure now; what is wrong with it is an answer like any other."""
    del visitor
    try:
        spec = sweep_form.parse(fields)
        with house.sessions.reading() as session:
            expansion = previews.expand(session, spec, max_points=house.settings.max_points)
    except ServiceError as error:
        return page(request, "preview.html", error=error, preview=None, most=MOST_LISTED)
    shown = PreviewReport.of(spec, expansion)
    return page(request, "preview.html", error=None, preview=shown, most=MOST_LISTED)


@router.post("/sweeps/new")
def submit(request: Request, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Queue the sweep; sent twice as it is, it is queued once."""
    try:
        spec = sweep_form.parse(fields)
        asker = Asker(visitor.caller.id, visitor.caller.name, _key(spec, fields))
        report = creation.create(house.sessions, spec, asker, plan=lambda: _planned(house, spec))
    except ServiceError as error:
        return _form(request, fields, error=error)
    return go_to(f"/sweeps/{report.id}")


def _key(spec: SweepSpec, fields: Fields) -> str:
    """Of one form with one content: what was changed since is another sweep."""
    digest = sha256_of(spec.model_dump(mode="json"))
    return f"form {fields.get('key', '')[:64]} {digest}"


def _planned(house: House, spec: SweepSpec) -> Planned:
    with house.sessions.reading() as session:
        return previews.planned(session, spec, max_points=house.settings.max_points)


def _form(
    request: Request, values: sweep_form.Values, *, error: ServiceError | None = None
) -> Response:
    return page(
        request,
        "new_sweep.html",
        status=200 if error is None else error.status,
        values=dict.fromkeys(sweep_form.FIELDS, "") | dict(values),
        error=error,
        boxes=BOXES,
        presets=list(PRESETS),
        starting_points=list(STARTING_POINTS),
        key=secrets.token_hex(8),
        most=MOST_LISTED,
        preview=None,
    )
