"""Nodes and hardware the dispatchers see, and who works on which pool."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from sqlalchemy import Row, Select, and_, bindparam, delete, insert, not_, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.store.clock import db_now
from service.store.models.declarative import Rows
from service.store.models.fleet import HardwareRow, NodeRow, PoolRow
from service.store.models.lengths import NAME
from workers.contract.hardware import Hardware, NodeFacts

LONGEST_NAME: Final = NAME
"""Characters that are kept of the name of a node."""
SHOWN_FOR: Final = timedelta(seconds=90)
"""A node that its dispatcher has not shown for so long counts as gone."""


@dataclass(frozen=True, slots=True)
class Node:
    """One machine as its dispatcher last saw it."""

    facts: NodeFacts
    pool: str
    first_seen_at: datetime
    last_seen_at: datetime


def register(session: Session, facts: NodeFacts, *, pool: str) -> str | None:
    """Note a node and its hardware, or that it is still there.

    Where another pool has a node of this name, the name is left to that one, this one is listed as
    NAME@POOL, and the other pool is returned. If they took each other's place, trials that only
    one of them can run would be failed.
    """
    note_hardware(session, facts.hardware)
    now = db_now(session)
    seen: dict[str, object] = {
        "pool": pool,
        "address": facts.address,
        "hardware_key": facts.hardware.hardware_key,
        "num_slots": facts.num_slots,
        "slot_memory_bytes": facts.slot_memory_bytes,
        "environment": facts.environment,
        "topology": facts.topology,
        "last_seen_at": now,
    }
    rival = _rival(session, facts, pool=pool)
    other_name = f"{facts.name[: LONGEST_NAME - len(pool) - 1]}@{pool}"
    name = facts.name if rival is None else other_name
    if not _update_node(session, name, seen):
        is_new = _insert_once(session, NodeRow, name=name, first_seen_at=now, **seen)
        if not is_new:  # another pool was faster: by now it has the name
            return register(session, facts, pool=pool)
    if rival is None:
        _forget_node(session, other_name, pool=pool)
    return rival


def note_hardware(session: Session, facts: Hardware) -> None:
    """Remember what a hardware_key stands for."""
    key = facts.hardware_key
    known = session.scalar(select(HardwareRow.hardware_key).where(HardwareRow.hardware_key == key))
    if known is None:
        _insert_once(
            session,
            HardwareRow,
            hardware_key=key,
            facts=facts,
            accelerator=facts.accelerator,
            first_seen_at=db_now(session),
        )


def nodes(session: Session, *, pool: str | None = None) -> list[Node]:
    """By name."""
    statement = _nodes(of_pool=pool is not None)
    return [_node(row) for row in session.connection().execute(statement, {"of_pool": pool})]


def node_facts(session: Session) -> list[NodeFacts]:
    """What is known of the nodes themselves, by name."""
    return [node.facts for node in nodes(session)]


def hardware(session: Session) -> dict[str, Hardware]:
    """Everything that was ever seen, by hardware_key."""
    rows = session.execute(
        select(HardwareRow.hardware_key, HardwareRow.facts).order_by(HardwareRow.hardware_key)
    )
    return {key: facts for key, facts in rows}  # noqa: C416 - rows are not pairs to the type checker


def lease_pool(session: Session, pool: str, *, owner: str, ttl: timedelta) -> bool:
    """Take or renew the pool; False while another owner has it."""
    taken = session.scalar(
        update(PoolRow)
        .where(
            PoolRow.name == pool,
            or_(PoolRow.owner == owner, PoolRow.lease_expires_at <= db_now(session)),
        )
        .values(owner=owner, lease_expires_at=db_now(session, plus=ttl))
        .returning(PoolRow.name),
        execution_options={"synchronize_session": False},
    )
    if taken is not None:
        return True
    expires_at = db_now(session, plus=ttl)
    return _insert_once(session, PoolRow, name=pool, owner=owner, lease_expires_at=expires_at)


def release_pool(session: Session, pool: str, *, owner: str) -> None:
    """Let another dispatcher take over at once."""
    session.execute(
        delete(PoolRow).where(PoolRow.name == pool, PoolRow.owner == owner),
        execution_options={"synchronize_session": False},
    )


def _rival(session: Session, facts: NodeFacts, *, pool: str) -> str | None:
    """The other pool that has the node's name.

    One that has not shown its node for a while gives the name up, unless the node is of other
    hardware: a dispatcher that comes back may have trials that only that node can run.
    """
    is_gone = NodeRow.last_seen_at <= db_now(session, plus=-SHOWN_FOR)
    is_alike = NodeRow.hardware_key == facts.hardware.hardware_key
    others = select(NodeRow.pool).where(NodeRow.name == facts.name, NodeRow.pool != pool)
    return session.scalar(others.where(not_(and_(is_gone, is_alike))))


def _forget_node(session: Session, name: str, *, pool: str) -> None:
    session.execute(
        delete(NodeRow).where(NodeRow.name == name, NodeRow.pool == pool),
        execution_options={"synchronize_session": False},
    )


def _update_node(session: Session, name: str, values: dict[str, object]) -> bool:
    updated = session.scalar(
        update(NodeRow).where(NodeRow.name == name).values(values).returning(NodeRow.name),
        execution_options={"synchronize_session": False},
    )
    return updated is not None


def _insert_once(session: Session, table: type[Rows], **values: object) -> bool:
    """False where the row is there: another process may have been faster."""
    try:
        with session.begin_nested():
            session.execute(insert(table).values(values))
    except IntegrityError:
        return False
    return True


@cache
def _nodes(*, of_pool: bool) -> Select[*tuple[object, ...]]:
    chosen = (
        select(*NodeRow.__table__.c, HardwareRow.facts)
        .join(HardwareRow, HardwareRow.hardware_key == NodeRow.hardware_key)
        .order_by(NodeRow.name)
    )
    return chosen.where(NodeRow.pool == bindparam("of_pool")) if of_pool else chosen


def _node(row: Row[*tuple[object, ...]]) -> Node:
    return Node(
        facts=NodeFacts(
            name=row.name,
            address=row.address,
            hardware=row.facts,
            num_slots=row.num_slots,
            slot_memory_bytes=row.slot_memory_bytes,
            environment=row.environment,
            topology=row.topology,
        ),
        pool=row.pool,
        first_seen_at=row.first_seen_at,
        last_seen_at=row.last_seen_at,
    )
