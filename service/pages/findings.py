"""Findings of the nightly judge: what changed, how surely, where, and what was decided about it."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from service.analysis.findings.states import FOLLOWING, OPEN, Dismissal, FindingState
from service.errors import InvalidRequestError
from service.pages import forms
from service.pages.forms import FieldsDep
from service.pages.house import HouseDep
from service.pages.page import go_to, page
from service.pages.route import PageRoute
from service.pages.visitor import Reader, Submitter
from service.reports import findings as reports
from service.reports import policies
from service.store import findings
from service.store.findings import FindingFilter
from workers.contract.frozen import LARGEST_LABEL, Frozen

router = APIRouter(route_class=PageRoute)

PAGE_SIZE: Final = 25
MOST_MEMBERS: Final = 200


class Chosen(BaseModel):
    """Which findings: the open ones, unless a state is named."""

    model_config = ConfigDict(extra="forbid")

    state: str = Field(default="", max_length=20)
    cursor: str | None = Field(default=None, max_length=500)

    @property
    def states(self) -> tuple[FindingState, ...]:
        """InvalidRequestError for a word that is no state."""
        if not self.state:
            return OPEN
        if self.state == "any":
            return ()
        try:
            return (FindingState(self.state),)
        except ValueError:
            known = ", ".join(FindingState)
            raise InvalidRequestError(f"state: there are: {known}; got {self.state!r}") from None


class DecisionForm(Frozen):
    """What somebody decided, and why."""

    state: FindingState
    reason: Annotated[
        str,
        StringConstraints(
            min_length=1,
            max_length=10 * LARGEST_LABEL,
            pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]+$",
        ),
    ]
    dismissal: Dismissal | None = None


@router.get("/findings")
def findings_page(
    request: Request, house: HouseDep, visitor: Reader, chosen: Annotated[Chosen, Query()]
) -> Response:
    """Newest first, and what the judgements of each schedule are worth."""
    del visitor
    which = FindingFilter(states=chosen.states)
    with house.sessions.reading() as session:
        found = reports.page(session, which, limit=PAGE_SIZE, cursor=chosen.cursor)
        judges = policies.list_all(session)
    return page(
        request,
        "findings.html",
        found=found,
        chosen=chosen,
        states=list(FindingState),
        judges=judges,
    )


@router.get("/findings/{finding_id}")
def finding_page(request: Request, finding_id: str, house: HouseDep, visitor: Reader) -> Response:
    """One finding with every series that shows it."""
    del visitor
    with house.sessions.reading() as session:
        found = reports.find(session, finding_id)
    return page(
        request,
        "finding.html",
        one=found,
        members=found.members[:MOST_MEMBERS],
        labels={one.spec_key: one.label for one in found.cases if one.label != one.spec_key},
        following=sorted(FOLLOWING.get(found.state, ())),
        dismissals=[Dismissal.FALSE_POSITIVE, Dismissal.HARDWARE, Dismissal.METHOD],
    )


@router.post("/findings/{finding_id}")
def decide(finding_id: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Move it to another state. ConflictError where its own does not lead there."""
    asked = forms.parse(
        DecisionForm,
        {
            "state": fields.get("state", ""),
            "reason": fields.get("reason", ""),
            "dismissal": fields.get("dismissal") or None,
        },
    )
    is_dismissed = asked.state is FindingState.DISMISSED
    with house.sessions.writing() as session:
        findings.move(
            session,
            finding_id,
            asked.state,
            reason=asked.reason,
            changed_by=visitor.caller.name,
            dismissal=(asked.dismissal or Dismissal.FALSE_POSITIVE) if is_dismissed else None,
        )
    return go_to(f"/findings/{finding_id}")
