"""What two articles claim about tensor parallelism, and what is true of it here."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.pages.house import HouseDep
from service.pages.page import page
from service.pages.route import PageRoute
from service.pages.visitor import Reader
from service.reports import claims as reports

router = APIRouter(route_class=PageRoute)


@router.get("/claims")
def claims_page(request: Request, house: HouseDep, visitor: Reader) -> Response:
    """Every claim with its verdict."""
    del visitor
    with house.sessions.reading() as session:
        found = reports.report(session)
    return page(request, "claims.html", claims=found)
