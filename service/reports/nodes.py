"""Nodes that dispatchers have seen, as they are shown."""

from datetime import datetime
from typing import Self

from sqlalchemy.orm import Session

from service.store import fleet
from workers.contract.frozen import Frozen
from workers.contract.hardware import Environment, Hardware


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

    @classmethod
    def of(cls, node: fleet.Node) -> Self:
        """Publish what the row tells."""
        facts = node.facts
        return cls(
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


def list_all(session: Session) -> tuple[NodeReport, ...]:
    """Every node that was ever seen, by name; `last_seen_at` says which are still there."""
    return tuple(NodeReport.of(node) for node in fleet.nodes(session))
