"""What two articles claim about tensor parallelism, and what is true of it."""

from fastapi import APIRouter

from service.api.auth import Reader
from service.api.paging import Page
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import claims as reports
from service.reports.claims import ClaimReport

router = APIRouter(prefix="/v1/claims", tags=["analysis"], route_class=ApiRoute)


@router.get("")
def list_claims(service: ServiceDep, caller: Reader) -> Page[ClaimReport]:
    """Every claim: the article's figure, ours, what stored results say, verdict and command."""
    del caller
    with service.sessions.reading() as session:
        found = reports.report(session)
    return Page(items=list(found), next_cursor=None)
