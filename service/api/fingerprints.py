"""What the keys of points and hardware are made of."""

from fastapi import APIRouter

from service.api.auth import Reader
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import fingerprints as reports
from service.reports.fingerprints import FingerprintReport

router = APIRouter(prefix="/v1/fingerprints", tags=["analysis"], route_class=ApiRoute)


@router.get("/{key}")
def get_fingerprint(key: str, service: ServiceDep, caller: Reader) -> FingerprintReport:
    """What a spec_key or hardware_key stands for, field by field."""
    del caller
    with service.sessions.reading() as session:
        return reports.find(session, key)
