"""What runs now, what is there to run it, and the newest sweeps."""

from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.analysis.findings.states import OPEN
from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import findings as finding_reports
from service.reports import nodes as node_reports
from service.reports import sweeps
from service.store.findings import FindingFilter
from service.store.states import SweepState

router = APIRouter(route_class=PageRoute)

MOST_SWEEPS: Final = 12
MOST_FINDINGS: Final = 8


@router.get("/")
def overview_page(request: Request, house: HouseDep, visitor: Reader) -> Response:
    """The landing page."""
    del visitor
    with house.sessions.reading() as session:
        running = sweeps.page(session, state=SweepState.RUNNING, limit=MOST_SWEEPS).items
        queued = sweeps.page(session, state=SweepState.QUEUED, limit=MOST_SWEEPS).items
        newest = sweeps.page(session, limit=MOST_SWEEPS).items
        findings = finding_reports.page(
            session, FindingFilter(states=OPEN), limit=MOST_FINDINGS
        ).items
        nodes = node_reports.list_all(session)
    return page(
        request,
        "overview.html",
        active=(*running, *queued),
        newest=newest,
        nodes=nodes,
        findings=findings,
    )
