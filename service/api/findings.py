"""Findings: listed, looked at, acknowledged, said to be fixed, dismissed, taken up again."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import Field, StringConstraints

from service.access.callers import Caller
from service.analysis.findings.classify import Cause
from service.analysis.findings.evidence import FindingKind
from service.analysis.findings.states import Dismissal, FindingState
from service.api.auth import Reader, Submitter
from service.api.examples.findings import DISMISSALS, FINDING_NOTES
from service.api.paging import Page, PageParameters
from service.api.parameters import Several
from service.api.route import ApiRoute, Responses
from service.api.state import Service, ServiceDep
from service.reports import findings as reports
from service.reports import policies
from service.reports.finding import FindingDetail, FindingReport
from service.reports.policies import PolicyReport
from service.store import findings
from service.store.findings import FindingFilter
from workers.contract.frozen import LARGEST_LABEL, Frozen

router = APIRouter(prefix="/v1", tags=["findings"], route_class=ApiRoute)

CANNOT: Responses = {409: {"description": "Its state does not lead there."}}

Why = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=10 * LARGEST_LABEL, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]+$"
    ),
    Field(description="Kept beside the change; a link to a ticket, what was found."),
]


class DismissalReason(StrEnum):
    """Why a finding is none."""

    FALSE_POSITIVE = "false_positive"
    HARDWARE = "hardware"
    METHOD = "method"


class FindingNote(Frozen):
    """Why its state is changed."""

    reason: Why


class DismissRequest(FindingNote):
    """Why it is none; what the precision of the policy is reckoned from."""

    dismissal: DismissalReason


class FindingParameters(PageParameters):
    """Which findings; several values, repeated or with commas, mean any of them."""

    state: Annotated[tuple[FindingState, ...], Several] = ()
    kind: Annotated[tuple[FindingKind, ...], Several] = ()
    cause: Annotated[tuple[Cause, ...], Several] = ()
    policy: str | None = Field(
        default=None, max_length=LARGEST_LABEL, description="Name of the schedule."
    )
    hardware_key: str | None = Field(default=None, max_length=LARGEST_LABEL)


@router.get("/findings")
def list_findings(
    which: Annotated[FindingParameters, Query()], service: ServiceDep, caller: Reader
) -> Page[FindingReport]:
    """What the nights of schedules show, newest first: changes grouped by what explains them."""
    del caller
    chosen = FindingFilter(
        states=which.state,
        kinds=which.kind,
        causes=which.cause,
        policy=which.policy,
        hardware_key=which.hardware_key,
    )
    with service.sessions.reading() as session:
        found = reports.page(session, chosen, limit=which.limit, cursor=which.cursor)
    return Page.of(found)


@router.get("/findings/{finding_id}")
def get_finding(finding_id: str, service: ServiceDep, caller: Reader) -> FindingDetail:
    """One finding with every series that shows it, and what was different on its first night."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, finding_id)


@router.post("/findings/{finding_id}/acknowledge", responses=CANNOT)
def acknowledge_finding(
    finding_id: str,
    note: Annotated[FindingNote, Body(openapi_examples=FINDING_NOTES)],
    service: ServiceDep,
    caller: Submitter,
) -> FindingDetail:
    """Say that it is true and known."""
    return _move(service, finding_id, FindingState.ACKNOWLEDGED, note, caller)


@router.post("/findings/{finding_id}/fix", responses=CANNOT)
def fix_finding(
    finding_id: str,
    note: Annotated[FindingNote, Body(openapi_examples=FINDING_NOTES)],
    service: ServiceDep,
    caller: Submitter,
) -> FindingDetail:
    """Say that it is mended; the detector says `recovered` once it sees so."""
    return _move(service, finding_id, FindingState.FIXED, note, caller)


@router.post("/findings/{finding_id}/dismiss", responses=CANNOT)
def dismiss_finding(
    finding_id: str,
    request: Annotated[DismissRequest, Body(openapi_examples=DISMISSALS)],
    service: ServiceDep,
    caller: Submitter,
) -> FindingDetail:
    """Say that it is none, and why."""
    dismissal = Dismissal(request.dismissal.value)
    return _move(service, finding_id, FindingState.DISMISSED, request, caller, dismissal)


@router.post("/findings/{finding_id}/reopen", responses=CANNOT)
def reopen_finding(
    finding_id: str,
    note: Annotated[FindingNote, Body(openapi_examples=FINDING_NOTES)],
    service: ServiceDep,
    caller: Submitter,
) -> FindingDetail:
    """Take back what was decided: it counts as confirmed."""
    return _move(service, finding_id, FindingState.CONFIRMED, note, caller)


@router.get("/policies")
def list_policies(service: ServiceDep, caller: Reader) -> Page[PolicyReport]:
    """What the judgements of each schedule are worth, as its findings turned out."""
    del caller
    with service.sessions.reading() as session:
        return Page(items=list(policies.list_all(session)), next_cursor=None)


def _move(
    service: Service,
    finding_id: str,
    state: FindingState,
    note: FindingNote,
    caller: Caller,
    dismissal: Dismissal | None = None,
) -> FindingDetail:
    with service.sessions.writing() as session:
        findings.move(
            session,
            finding_id,
            state,
            reason=note.reason,
            changed_by=caller.name,
            dismissal=dismissal,
        )
        return reports.find(session, finding_id)
