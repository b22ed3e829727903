"""Baselines: pinned, listed, changed, removed; and what a sweep may be held against."""

from typing import Annotated

from fastapi import APIRouter, Body, Response
from pydantic import Field

from service.analysis.schedules.spec import Name
from service.api.auth import Reader, Submitter
from service.api.examples.baselines import BASELINE_CHANGES, BASELINES
from service.api.paging import Page
from service.api.parameters import in_the_future
from service.api.route import ApiRoute, Responses
from service.api.state import ServiceDep
from service.reports import baselines as reports
from service.reports.baselines import BaselineReport, CandidatesReport
from service.store import baselines
from service.store.moments import Moment
from workers.contract.frozen import Frozen, Label

router = APIRouter(prefix="/v1", tags=["baselines"], route_class=ApiRoute)

TAKEN: Responses = {409: {"description": "The name is taken."}}
HELD: Responses = {409: {"description": "A schedule is held against it."}}

SweepRef = Annotated[Label, Field(min_length=1, description="Id of the sweep it stands for.")]
Expiry = Annotated[Moment, in_the_future(consequence="such a baseline would be of no use")]


class BaselineRequest(Frozen):
    """A name for a sweep."""

    name: Name
    sweep: SweepRef
    note: Label = ""
    expires_at: Expiry | None = Field(default=None, description="Without, it stands for good.")


class BaselineChange(Frozen):
    """What is to be different; what is not named stays."""

    name: Name | None = None
    sweep: SweepRef | None = None
    note: Label | None = None
    expires_at: Expiry | None = Field(default=None, description="null: it stands for good.")


@router.post("/baselines", status_code=201, responses=TAKEN)
def pin_baseline(
    request: Annotated[BaselineRequest, Body(openapi_examples=BASELINES)],
    response: Response,
    service: ServiceDep,
    caller: Submitter,
) -> BaselineReport:
    """Pin a sweep under a name that comparisons take in place of its id."""
    with service.sessions.writing() as session:
        baseline = baselines.pin(
            session,
            request.name,
            request.sweep,
            note=request.note,
            pinned_by=caller.name,
            expires_at=request.expires_at,
        )
    response.headers["Location"] = f"/v1/baselines/{baseline.name}"
    return BaselineReport.of(baseline)


@router.get("/baselines")
def list_baselines(service: ServiceDep, caller: Reader) -> Page[BaselineReport]:
    """Every baseline, by name, expired ones too."""
    del caller
    with service.sessions.reading() as session:
        found = reports.list_all(session)
    return Page(items=list(found), next_cursor=None)


@router.get("/baselines/{name}")
def get_baseline(name: str, service: ServiceDep, caller: Reader) -> BaselineReport:
    """One baseline."""
    del caller
    with service.sessions.reading() as session:
        return BaselineReport.of(baselines.find(session, name))


@router.patch("/baselines/{name}", responses=TAKEN)
def change_baseline(
    name: str,
    change: Annotated[BaselineChange, Body(openapi_examples=BASELINE_CHANGES)],
    service: ServiceDep,
    caller: Submitter,
) -> BaselineReport:
    """Rename a baseline, let it stand for another sweep, or let it expire."""
    with service.sessions.writing() as session:
        baseline = baselines.find(session, name)
        if change.sweep is not None:
            baseline = baselines.move(session, name, change.sweep, pinned_by=caller.name)
        if change.note is not None:
            baseline = baselines.annotate(session, name, change.note)
        if "expires_at" in change.model_fields_set:
            baseline = baselines.expire(session, name, change.expires_at)
        if change.name is not None and change.name != name:
            baseline = baselines.rename(session, name, change.name)
    return BaselineReport.of(baseline)


@router.delete("/baselines/{name}", status_code=204, responses=HELD)
def remove_baseline(name: str, service: ServiceDep, caller: Submitter) -> None:
    """Forget a name; the sweep it stood for stays."""
    del caller
    with service.sessions.writing() as session:
        baselines.remove(session, name)


@router.get("/sweeps/{sweep_id}/baselines")
def list_candidates(sweep_id: str, service: ServiceDep, caller: Reader) -> CandidatesReport:
    """What a sweep may be held against: its schedule's baseline, its parent, the last good one."""
    del caller
    with service.sessions.reading() as session:
        return reports.candidates(session, sweep_id)
