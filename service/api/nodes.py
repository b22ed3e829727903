"""Nodes that dispatchers have seen."""

from datetime import datetime

from fastapi import APIRouter

from service.api.auth import Reader
from service.api.paging import Page
from service.api.route import ApiRoute
from service.api.state import ServiceDep
from service.store import fleet
from workers.contract.frozen import Frozen
from workers.contract.hardware import Environment, Hardware

router = APIRouter(prefix="/v1/nodes", tags=["fleet"], route_class=ApiRoute)


class NodeReport(Frozen):
    """One machine as its dispatcher last saw it."""

    name: str
    address: str
    pool: str
    hardware: Hardware
    hardware_key: str
    num_slots: int
    slot_memory_bytes: int
    environment: Environment
    topology: str
    first_seen_at: datetime
    last_seen_at: datetime


@router.get("")
def list_nodes(service: ServiceDep, caller: Reader) -> Page[NodeReport]:
    """Every node that was ever seen, by name; `last_seen_at` says which are still there."""
    del caller
    with service.sessions.reading() as session:
        found = fleet.nodes(session)
    return Page(items=[_report(node) for node in found], next_cursor=None)


def _report(node: fleet.Node) -> NodeReport:
    facts = node.facts
    return NodeReport(
        name=facts.name,
        address=facts.address,
        pool=node.pool,
        hardware=facts.hardware,
        hardware_key=facts.hardware.hardware_key,
        num_slots=facts.num_slots,
        slot_memory_bytes=facts.slot_memory_bytes,
        environment=facts.environment,
        topology=facts.topology,
        first_seen_at=node.first_seen_at,
        last_seen_at=node.last_seen_at,
    )
