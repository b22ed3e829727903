"""Events of a sweep, numbered from 1 under the sweep row's lock: no number is missing or late."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from pydantic import JsonValue
from sqlalchemy import Insert, Integer, Select, bindparam, insert, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import ReturningUpdate

from service.errors import NotFoundError
from service.store.clock import db_now_parameter, db_now_value, has_own_clock
from service.store.models.event import EventRow
from service.store.models.sweep import SweepRow
from service.store.states import EventKind


@dataclass(frozen=True, slots=True)
class Happening:
    """What is to become an event."""

    kind: EventKind
    data: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a sweep."""

    sweep_id: str
    seq: int
    kind: EventKind
    data: Mapping[str, JsonValue]
    """Ids and, under "counts", the sweep's trials by state at that moment."""
    created_at: datetime


def append(session: Session, sweep_id: str, *happenings: Happening) -> int:
    """Add events, return the last one's number; the sweep stays locked until the commit."""
    connection = session.connection()  # the ORM has no object of these rows to keep in step
    numbering = {"numbered_sweep_id": sweep_id, "count": len(happenings)}
    last = connection.scalar(_take_numbers(), numbering)
    if last is None:
        raise NotFoundError(f"there is no sweep {sweep_id!r}")
    now = db_now_value(session)
    rows: list[dict[str, object]] = [
        {
            "sweep_id": sweep_id,
            "seq": seq,
            "kind": happening.kind,
            "data": dict(happening.data),
            "now": now,
        }
        for seq, happening in enumerate(happenings, start=last - len(happenings) + 1)
    ]
    connection.execute(_insert(own_clock=has_own_clock(session)), rows)
    return last


@cache
def _take_numbers() -> ReturningUpdate[int]:
    return (
        update(SweepRow)
        .where(SweepRow.id == bindparam("numbered_sweep_id"))
        .values(last_event_seq=SweepRow.last_event_seq + bindparam("count", type_=Integer()))
        .returning(SweepRow.last_event_seq)
    )


@cache
def _insert(*, own_clock: bool) -> Insert:
    return insert(EventRow).values(created_at=db_now_parameter("now", own_clock=own_clock))


@cache
def _after() -> Select[int, str, Mapping[str, JsonValue], datetime]:
    return (
        select(EventRow.seq, EventRow.kind, EventRow.data, EventRow.created_at)
        .where(
            EventRow.sweep_id == bindparam("listened_sweep_id"),
            EventRow.seq > bindparam("last_seq"),
        )
        .order_by(EventRow.seq)
        .limit(bindparam("most"))
    )


def after(session: Session, sweep_id: str, *, seq: int, limit: int) -> list[Event]:
    """Events with a higher number, in order."""
    asked = {"listened_sweep_id": sweep_id, "last_seq": seq, "most": limit}
    rows = session.connection().execute(_after(), asked)
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
