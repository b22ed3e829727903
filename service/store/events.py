"""Events of a sweep, numbered from 1 under the sweep row's lock: no number is missing or late."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from service.errors import NotFoundError
from service.store.clock import db_now
from service.store.models.event import EventRow
from service.store.models.sweep import SweepRow
from service.store.states import EventKind


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a sweep."""

    sweep_id: str
    seq: int
    kind: EventKind
    data: Mapping[str, JsonValue]
    """Ids and, under "counts", the sweep's trials by state at that moment."""
    created_at: datetime


def append(session: Session, sweep_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> int:
    """Add the next event; the sweep stays locked until the transaction ends."""
    seq = session.scalar(
        update(SweepRow)
        .where(SweepRow.id == sweep_id)
        .values(last_event_seq=SweepRow.last_event_seq + 1)
        .returning(SweepRow.last_event_seq)
        .execution_options(synchronize_session=False)
    )
    if seq is None:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    session.execute(
        insert(EventRow).values(
            sweep_id=sweep_id, seq=seq, kind=kind, data=dict(data), created_at=db_now(session)
        )
    )
    return seq


def after(session: Session, sweep_id: str, *, seq: int, limit: int) -> list[Event]:
    """Events with a higher number, in order."""
    rows = session.execute(
        select(EventRow.seq, EventRow.kind, EventRow.data, EventRow.created_at)
        .where(EventRow.sweep_id == sweep_id, EventRow.seq > seq)
        .order_by(EventRow.seq)
        .limit(limit)
    )
    return [
        Event(
            sweep_id=sweep_id,
            seq=row.seq,
            kind=EventKind(row.kind),
            data=row.data,
            created_at=row.created_at,
        )
        for row in rows
    ]
