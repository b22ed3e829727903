"""What can be done to a sweep: stop the rest, put what failed back."""

from fastapi import APIRouter
from starlette.responses import Response

from service.pages.forms import FieldsDep
from service.pages.house import HouseDep
from service.pages.page import go_to
from service.pages.route import PageRoute
from service.pages.visitor import Submitter
from service.store import sweeps

router = APIRouter(route_class=PageRoute)


@router.post("/sweeps/{sweep_id}/cancel")
def cancel(sweep_id: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Stop what has not been measured."""
    del visitor, fields
    with house.sessions.writing() as session:
        sweep = sweeps.cancel(session, sweep_id)
    return go_to(f"/sweeps/{sweep.id}")


@router.post("/sweeps/{sweep_id}/retry")
def retry(sweep_id: str, house: HouseDep, visitor: Submitter, fields: FieldsDep) -> Response:
    """Put failed trials back into the queue."""
    del visitor, fields
    with house.sessions.writing() as session:
        sweep = sweeps.retry(session, sweep_id)
    return go_to(f"/sweeps/{sweep.id}")
