"""Single trials: what is too large to stand in a result."""

from fastapi import APIRouter, Response

from service.api.auth import Reader
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.store import profiles

router = APIRouter(prefix="/v1/trials", tags=["results"], route_class=ApiRoute)


@router.get(
    "/{trial_id}/profile",
    response_class=Response,
    responses={200: {"content": {"application/gzip": {}}, "description": "A Chrome trace."}},
)
def get_profile(trial_id: str, service: ServiceDep, caller: Reader) -> Response:
    """The Chrome trace of a profiled trial, for chrome://tracing or Perfetto."""
    del caller
    with service.sessions.reading() as session:
        trace = profiles.find_trace(session, trial_id)
    name = f"{trial_id}.trace.json.gz"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(trace, media_type="application/gzip", headers=headers)
