"""Nodes and hardware the dispatchers see, and who works on which pool."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from workers.contract.hardware import Hardware, NodeFacts


@dataclass(frozen=True, slots=True)
class Node:
    """One machine as its dispatcher last saw it."""

    facts: NodeFacts
    pool: str
    first_seen_at: datetime
    last_seen_at: datetime


def register(session: Session, facts: NodeFacts, *, pool: str) -> None:
    """Note a node and its hardware, or that it is still there."""
    raise NotImplementedError


def nodes(session: Session, *, pool: str | None = None) -> list[Node]:
    """By name."""
    raise NotImplementedError


def hardware(session: Session) -> dict[str, Hardware]:
    """Everything that was ever seen, by hardware_key."""
    raise NotImplementedError


def largest_num_slots(session: Session) -> int | None:
    """Ranks that the largest known node can hold; None where no node is known."""
    raise NotImplementedError


def lease_pool(session: Session, pool: str, *, owner: str, ttl: timedelta) -> bool:
    """Take or renew the pool; False while another owner has it."""
    raise NotImplementedError


def release_pool(session: Session, pool: str, *, owner: str) -> None:
    """Let another dispatcher take over at once."""
    raise NotImplementedError
