"""Nodes that dispatchers have seen."""

from fastapi import APIRouter

from service.api.auth import Reader
from service.api.paging import Page
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.reports import nodes as reports
from service.reports.nodes import NodeReport

router = APIRouter(prefix="/v1/nodes", tags=["fleet"], route_class=ApiRoute)


@router.get("")
def list_nodes(service: ServiceDep, caller: Reader) -> Page[NodeReport]:
    """Every node that was ever seen, by name; `last_seen_at` says which are still there."""
    del caller
    with service.sessions.reading() as session:
        found = reports.list_all(session)
    return Page(items=list(found), next_cursor=None)
